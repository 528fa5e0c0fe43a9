//! The Ansible collection of this repository, which is part of the program.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::tools::ansible::{INVENTORY, SETTINGS};

/// The directory of the collection below that of all collections, its playbook, and its callback plugin.
const DIR: &str = "ansible_collections/drivebench/drivebench";
pub(super) const MEASURE: &str = "drivebench.drivebench.measure";
pub(super) const EVENTS: &str = "drivebench.drivebench.events";

macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/ansible/", $path)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "galaxy.yml" "meta/runtime.yml" "playbooks/check.yml" "playbooks/clean.yml" "playbooks/measure.yml"
    "plugins/action/fetch_record.py" "plugins/callback/events.py" "plugins/modules/fetch_record.py"
    "roles/clean/meta/main.yml" "roles/clean/tasks/home.yml" "roles/clean/tasks/main.yml"
    "roles/common/defaults/main.yml" "roles/common/meta/main.yml" "roles/common/tasks/main.yml"
    "roles/common/vars/main.json" "roles/fetch/meta/main.yml" "roles/fetch/tasks/main.yml"
    "roles/install/meta/main.yml" "roles/install/tasks/main.yml" "roles/run/meta/main.yml" "roles/run/tasks/main.yml"
];

/// Instead of those of this user.
const OWN_SETTINGS: &str = "[defaults]\nhost_key_checking = True\n";

/// Whether the roles run it; they read the same list.
pub(super) fn allows(experiment: &str) -> bool {
    let lists: Value = serde_json::from_str(include_str!("../../../ansible/roles/common/vars/main.json"))
        .unwrap_or_default();
    lists["drivebench_experiments"].as_array().is_some_and(|all| all.iter().any(|name| *name == experiment))
}

/// A private directory of collections with this one, links to the programs for each architecture, and the inventory, which
/// is given the directory of those links. It is removed when dropped.
pub(super) fn write(programs: &[(&str, PathBuf)], inventory: impl Fn(&Path) -> Value) -> io::Result<TempDir> {
    let private = fs::Permissions::from_mode(0o700);
    let dir = tempfile::Builder::new().prefix("drivebench-fleet.").permissions(private).tempdir()?;
    let links = dir.path().join("programs");
    for (architecture, program) in programs {
        fs::create_dir_all(links.join(architecture))?;
        symlink(program, links.join(architecture).join("drivebench"))?;
    }
    for (path, text) in FILES {
        let path = dir.path().join(DIR).join(path);
        fs::create_dir_all(path.parent().unwrap_or(dir.path()))?;
        fs::write(path, text)?;
    }
    fs::write(dir.path().join(SETTINGS), OWN_SETTINGS)?;
    fs::write(dir.path().join(INVENTORY), inventory(&links).to_string())?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use super::*;
    use crate::experiments::REGISTER;

    #[test]
    fn all_of_the_collection_is_there() {
        fn below(dir: &Path, found: &mut BTreeSet<PathBuf>) {
            for entry in fs::read_dir(dir).expect("lists").map(|entry| entry.expect("lists").path()) {
                if entry.is_dir() {
                    below(&entry, found);
                } else {
                    found.insert(entry);
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ansible");
        let mut there = BTreeSet::new();
        below(&root, &mut there);
        let others = ["README.md", "CHANGELOG.md", ".ansible-lint", "test"].map(|name| root.join(name));
        there.retain(|path| !others.contains(path) && path.extension().is_none_or(|end| end != "pyc"));
        assert_eq!(FILES.iter().map(|(path, _)| root.join(path)).collect::<BTreeSet<_>>(), there);
    }

    #[test]
    fn nothing_that_erases_restarts_or_cuts_off_runs_on_many_hosts() {
        let refused = REGISTER.iter().map(|experiment| experiment.name).filter(|name| !allows(name));
        let expected = ["bays", "capacity", "accept", "layouts", "pull", "power", "swap", "boot"];
        assert_eq!(refused.collect::<Vec<_>>(), expected);
    }
}
