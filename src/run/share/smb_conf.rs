//! The configuration of a Samba server of our own.

use std::{net::IpAddr, path::Path};

/// Where the server listens, besides on the address of its own machine alone.
pub struct Serves {
    /// An address, with the length of the network's if it is one of its own.
    pub at: String,
    /// All that may use it; none if nothing else is on its network.
    pub to: Option<IpAddr>,
    pub port: u16,
}

/// Its share on a drive and that in memory are in the directories of these names. Nothing of a server that may run beside it is used, and nothing is told to other networks.
pub fn smb_conf(room: &Path, (own, memory): (&str, &str), serves: &Serves) -> String {
    let Serves { at, to, port } = serves;
    let room = room.display();
    let to = to.map_or_else(String::new, |to| format!("hosts allow = {to} 127.0.0.1\n"));
    format!(
        "[global]\n\
         server role = standalone server\n\
         bind interfaces only = yes\n\
         interfaces = {at} 127.0.0.1/8\n\
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
         usershare max shares = 0\n\
         [drive]\n\
         path = {room}/{own}\n\
         read only = no\n\
         valid users = root\n\
         [{memory}]\n\
         path = {room}/{memory}\n\
         read only = no\n\
         valid users = root\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_client_may_use_it() {
        let text = |serves: &Serves| smb_conf(Path::new("/mnt"), ("own", "memory"), serves);
        let alone = text(&Serves { at: "192.0.2.1/30".to_owned(), to: None, port: 4450 });
        assert!(
            alone.contains("\ninterfaces = 192.0.2.1/30 127.0.0.1/8\nsmb ports = 4450\nprivate dir = "),
            "{alone}"
        );
        let to = "192.0.2.7".parse().ok();
        let open = text(&Serves { at: "192.0.2.9".to_owned(), to, port: 40000 });
        assert!(
            open.contains("\nsmb ports = 40000\nhosts allow = 192.0.2.7 127.0.0.1\nprivate dir = "),
            "{open}"
        );
        assert!(open.contains("bind interfaces only = yes"), "{open}");
    }
}
