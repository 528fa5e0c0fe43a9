//! A Samba server, and its clients.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    file_server::{Access, BEGINS, FileServer, MEMORY, Serves, write},
    sandbox::{OWN, ROOM, Sandbox, failed},
};
use crate::{
    run::RunError,
    share::Protection,
    tools::{Output, Query, System, namespace::within, samba},
};

pub(super) struct Smb {
    smbclient: PathBuf,
    conf: PathBuf,
}

impl Smb {
    /// Makes configuration and a user with this password.
    pub fn prepare(
        (server, client): (&Sandbox, &Sandbox),
        serves: &Serves,
        password: &str,
        tools: &System,
    ) -> Result<Self, RunError> {
        for dir in ["private", "lock", "state", "cache", "pid", "ncalrpc", "winbindd"] {
            server.make_dir(dir)?;
        }
        write(&server.file("conf"), &smb_conf(serves))?;
        write(&client.file("conf"), "[global]\n")?;
        write(&client.file("login"), &format!("username=root\npassword={password}\n"))?;
        let conf = Sandbox::inside("conf");
        let add = samba::add_user(&conf.to_string_lossy(), "root");
        let mut asks = tools.talk(&within(server.pid, server.pid, &add, tools)?)?;
        // If the program has ended, its output says why.
        let _ = asks.say(&format!("{password}\n{password}\n"));
        let said = asks.end(BEGINS);
        if said.code != Some(0) {
            return Err(failed(&format!("pdbedit made no user: {}", said.complaint())));
        }
        Ok(Self { smbclient: tools.find(samba::SMBCLIENT)?, conf })
    }
}

/// Address, directory and options of a client.
fn share(access: &Access<'_>) -> samba::Share {
    let protection = match access.protection {
        Some(Protection::Signing) => "sign",
        Some(Protection::Encryption) => "encrypt",
        None => "off",
    };
    let name = if access.dir == OWN { "drive" } else { access.dir };
    let (name, login) = (format!("//{}/{name}", access.address), access.file("login"));
    samba::Share { name, port: access.port, login, protection }
}

impl FileServer for Smb {
    fn serve(&self) -> Query {
        samba::serve(&self.conf.to_string_lossy())
    }

    fn client(&self, access: &Access<'_>) -> Query {
        // On another machine the program is found by its name.
        let program = if access.room.is_empty() { Path::new(samba::SMBCLIENT.name) } else { &self.smbclient };
        share(access).client((program, &access.file("conf")), access.patience)
    }

    fn client_files(&self) -> &[&str] {
        &["conf", "login"]
    }

    fn is_mark(&self, line: &str) -> bool {
        samba::is_mark(line)
    }

    fn all(&self, puts: bool, dir: &str) -> String {
        let verb = if puts { "mput" } else { "mget" };
        format!("lcd {dir}\nprompt\n{verb} *\n")
    }

    fn end_reason(&self, server: &Sandbox, said: &Output) -> String {
        let log = fs::read_to_string(server.file("log")).unwrap_or_default();
        let last = log.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map_or_else(|| said.complaint(), str::to_owned)
    }
}

/// Configuration with a share on the drive and one on tmpfs. It uses nothing of another Samba and announces nothing.
fn smb_conf(serves: &Serves) -> String {
    let Serves { at, to, port } = serves;
    let length = if to.is_none() { "/30" } else { "" };
    let room = ROOM;
    let to = to.map_or_else(String::new, |to| format!("hosts allow = {to} 127.0.0.1\n"));
    let global = format!(
        "[global]\n\
         server role = standalone server\n\
         bind interfaces only = yes\n\
         interfaces = {at}{length} 127.0.0.1/8\n\
         smb ports = {port}\n\
         {to}\
         private dir = {room}/private\n\
         lock directory = {room}/lock\n\
         state directory = {room}/state\n\
         cache directory = {room}/cache\n\
         pid directory = {room}/pid\n\
         ncalrpc dir = {room}/ncalrpc\n\
         winbindd socket directory = {room}/winbindd\n\
         log file = {room}/log\n\
         passdb backend = tdbsam:{room}/private/passdb.tdb\n\
         disable netbios = yes\n\
         multicast dns register = no\n\
         disable spoolss = yes\n\
         load printers = no\n\
         printing = bsd\n\
         printcap name = /dev/null\n\
         map to guest = never\n\
         usershare max shares = 0\n"
    );
    let share = |name: &str, dir: &str| {
        format!("[{name}]\npath = {room}/{dir}\nread only = no\nvalid users = root\n")
    };
    global + &share("drive", OWN) + &share(MEMORY, MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_client_may_use_it() {
        let alone = smb_conf(&Serves { at: "192.0.2.1".to_owned(), to: None, port: 4450 });
        assert!(
            alone.contains("\ninterfaces = 192.0.2.1/30 127.0.0.1/8\nsmb ports = 4450\nprivate dir = "),
            "{alone}"
        );
        assert!(
            alone.ends_with(
                "[drive]\npath = /mnt/own\nread only = no\nvalid users = root\n[memory]\npath = /mnt/memory\nread only = no\nvalid users = root\n"
            ),
            "{alone}"
        );
        let to = "192.0.2.7".parse().ok();
        let open = smb_conf(&Serves { at: "192.0.2.9".to_owned(), to, port: 40000 });
        assert!(
            open.contains("\nsmb ports = 40000\nhosts allow = 192.0.2.7 127.0.0.1\nprivate dir = "),
            "{open}"
        );
        assert!(open.contains("bind interfaces only = yes"), "{open}");
    }
}
