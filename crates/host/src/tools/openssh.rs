//! sshd, sftp and ssh-keygen: a server of its own for files, and its client.

use std::{ffi::OsStr, net::IpAddr, path::Path, time::Duration};

use super::{Output, Query, SH, Tool, namespace::HIDE, script, until_input_ends};

pub const SSHD: Tool = Tool { name: "sshd", package: "openssh-server" };
pub const SFTP: Tool = Tool { name: "sftp", package: "openssh-client" };
const SSH: Tool = Tool { name: "ssh", ..SFTP };
const KEYGEN: Tool = Tool { name: "ssh-keygen", ..SFTP };

/// The programs that a client needs.
pub const CLIENT: [Tool; 2] = [SFTP, SSH];
/// All programs that are needed.
pub const TOOLS: [Tool; 5] = [SSHD, SFTP, SSH, KEYGEN, SH];

/// The key of a server is known by this name, whatever its address.
pub const SERVER: &str = "drivebench";
const HERE: &str = "127.0.0.1";

/// In a mount namespace: the directory that sshd needs and few systems have while it does not run; an account that is not
/// locked, because sshd would refuse it; and none of the system's rules and scripts for logins.
const FURNISH: &str = r#"hide /etc/ssh/sshrc /etc/hosts.allow /etc/hosts.deny
own_run && mkdir /run/sshd && { [ ! -e /etc/shadow ] || mount --bind "$1" /etc/shadow; }"#;

/// Content of `/etc/shadow` for the server: root has no valid password, and is not locked.
pub const SHADOW: &str = "root:*:1:0:99999:7:::\n";

/// Prepares mounts for a server.
pub fn furnish(shadow: &str) -> Query {
    script(&format!("{HIDE}{FURNISH}"), [shadow])
}

/// Makes a pair of keys, the public one with `.pub`.
pub fn make_key(path: &str) -> Query {
    Query::new(KEYGEN, ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path])
        .within(Duration::from_secs(60))
}

/// Serves in the foreground, until its standard input ends.
pub fn serve(sshd: &Path, config: &Path) -> Query {
    until_input_ends("TERM", sshd, [OsStr::new("-D"), "-e".as_ref(), "-f".as_ref(), config.as_ref()])
}

/// The configuration of a server that listens on an address and on loopback, and serves only the files of a directory. If other
/// machines reach it, only one may use it.
pub fn config(room: &Path, address: &str, port: u16, client: Option<IpAddr>) -> String {
    let room = room.display();
    let users = client.map_or_else(|| "root".to_owned(), |client| format!("root@{client} root@{HERE}"));
    let [listen, here] = [address, HERE].map(|at| format!("ListenAddress {}:{port}\n", in_brackets(at)));
    format!(
        "{listen}{here}\
         HostKey {room}/hostkey\n\
         AuthorizedKeysFile {room}/authorized\n\
         PidFile none\n\
         StrictModes no\n\
         UsePAM no\n\
         PermitRootLogin prohibit-password\n\
         AllowUsers {users}\n\
         AuthenticationMethods publickey\n\
         DisableForwarding yes\n\
         PermitUserEnvironment no\n\
         PermitUserRC no\n\
         ChrootDirectory {room}\n\
         ForceCommand internal-sftp\n\
         Subsystem sftp internal-sftp\n"
    )
}

/// An IPv6 address, as it stands before a port.
fn in_brackets(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_owned() }
}

/// A client that begins in a directory of the server, and reads commands line by line from its standard input until that ends.
pub fn client((room, address): (&Path, &str), port: u16, dir: &str) -> Query {
    let known_hosts = format!("UserKnownHostsFile={}", room.join("known").display());
    let key = format!("IdentityFile={}", room.join("key").display());
    let alias = format!("HostKeyAlias={SERVER}");
    let options = [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "GlobalKnownHostsFile=none",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "ConnectTimeout=10",
        &known_hosts,
        &key,
        &alias,
        "LogLevel=ERROR",
    ];
    let (port, destination) = (port.to_string(), format!("root@{}:/{dir}", in_brackets(address)));
    let options = options.iter().flat_map(|option| ["-o", option]);
    let args = ["-F", "none", "-b", "-"].into_iter().chain(options).chain(["-P", &port, &destination]);
    Query::new(SFTP, args)
}

/// Whether a line is the answer to `pwd`.
pub fn is_mark(line: &str) -> bool {
    line.starts_with("Remote working directory: ")
}

pub fn version() -> Query {
    Query::new(SSH, ["-V"])
}

/// `OpenSSH 9.2p1` from the output of [`version`].
pub fn name(output: &Output) -> String {
    let name = output.stderr.split([' ', ',']).next().unwrap_or_default();
    name.trim().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::{super::UNTIL_INPUT_ENDS, *};

    #[test]
    fn command_lines() {
        let room = Path::new("/mnt");
        assert_eq!(
            serve(Path::new("/usr/sbin/sshd"), &room.join("conf")).to_string(),
            format!("sh -c '{UNTIL_INPUT_ENDS}' drivebench TERM /usr/sbin/sshd -D -e -f /mnt/conf")
        );
        let sftp = client((room, "192.0.2.1"), 4450, "own").to_string();
        assert!(
            sftp.starts_with("sftp -F none -b - -o BatchMode=yes -o StrictHostKeyChecking=yes"),
            "{sftp}"
        );
        assert!(
            sftp.ends_with("-o HostKeyAlias=drivebench -o LogLevel=ERROR -P 4450 root@192.0.2.1:/own"),
            "{sftp}"
        );
        let sixth = client((Path::new(""), "2001:db8::1"), 4450, "own").to_string();
        assert!(sixth.contains(" -o UserKnownHostsFile=known -o IdentityFile=key "), "{sixth}");
        assert!(sixth.ends_with("-P 4450 'root@[2001:db8::1]:/own'"), "{sixth}");
        assert!(is_mark("Remote working directory: /own") && !is_mark("sftp> pwd"));
    }

    #[test]
    fn only_the_client_may_use_it_and_nothing_but_the_shared_files() {
        let text = |address, to: &str| config(Path::new("/mnt"), address, 4450, to.parse().ok());
        let alone = text("192.0.2.1", "");
        assert!(
            alone.starts_with(
                "ListenAddress 192.0.2.1:4450\nListenAddress 127.0.0.1:4450\nHostKey /mnt/hostkey\n"
            ),
            "{alone}"
        );
        assert!(alone.contains("\nAllowUsers root\n"), "{alone}");
        let open = text("2001:db8::1", "2001:db8::2");
        assert!(open.starts_with("ListenAddress [2001:db8::1]:4450\n"), "{open}");
        assert!(open.contains("\nAllowUsers root@2001:db8::2 root@127.0.0.1\n"), "{open}");
        for config in [alone, open] {
            assert!(config.contains("\nChrootDirectory /mnt\nForceCommand internal-sftp\n"), "{config}");
        }
    }

    #[test]
    fn the_server_has_a_name() {
        let version = "OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.19 27 Jan 2026\n".to_owned();
        assert_eq!(name(&Output { stderr: version, ..Output::default() }), "OpenSSH 9.2p1");
    }
}
