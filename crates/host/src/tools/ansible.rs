//! ansible-playbook: runs tasks on other machines by ssh.

use std::{path::Path, time::Duration};

use super::{Query, Tool};

pub const PLAYBOOK: Tool = Tool { name: "ansible-playbook", package: "ansible-core" };

/// Files of a directory that [`play`] needs beside a collection: the settings, and the inventory.
pub const SETTINGS: &str = "ansible.cfg";
pub const INVENTORY: &str = "hosts.json";

/// Plays a playbook of the collection in a directory, which also takes Ansible's own temporary files. The collection's plugin
/// `callback` writes the output. The environment counts more than the settings of the user.
pub fn play(dir: &Path, playbook: &str, callback: &str, forks: usize) -> Query {
    let (inventory, forks) = (dir.join(INVENTORY), forks.to_string());
    let args = ["-i".as_ref(), inventory.as_os_str(), "--forks".as_ref(), forks.as_ref(), playbook.as_ref()];
    let env = vec![
        ("ANSIBLE_CONFIG", dir.join(SETTINGS).into()),
        ("ANSIBLE_HOME", dir.into()),
        ("ANSIBLE_COLLECTIONS_PATH", dir.into()),
        ("ANSIBLE_STDOUT_CALLBACK", callback.into()),
        // Ansible refuses the C locale.
        ("LC_ALL", "C.UTF-8".into()),
    ];
    Query { env, ..Query::new(PLAYBOOK, args).within(Duration::from_secs(30 * 86400)) }
}
