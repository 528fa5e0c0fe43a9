//! ssh: a client of a share on another machine. It needs a POSIX shell with the usual small programs, and for a share
//! the client of its protocol.

use std::{path::Path, time::Duration};

use super::{Output, Query, Tool, fio::FIO, script};
use crate::units::RemoteDir;

pub const SSH: Tool = Tool { name: "ssh", package: "openssh-client" };
const SETSID: Tool = Tool { name: "setsid", package: "util-linux" };
const FINDMNT: Tool = Tool { name: "findmnt", package: "util-linux" };

/// The line that a script prints when it is ready. Lines before the first one come from the login there; further ones answer empty lines.
pub const READY: &str = "drivebench: ready";
/// Exit code of [`compare`]: lengths differ, or files are missing.
pub const OTHER_LENGTHS: i32 = 45;
/// Exit code of [`compare`]: bytes differ.
pub const OTHER_BYTES: i32 = 46;
/// Exit code of ssh itself, when it can't connect.
const LINK: i32 = 255;

/// The scripts have no line ends, single quotes, backslashes before quotes, nor `!`: the shell of the login, which may be of another
/// kind, passes them on as they are.
///
/// Makes the directory of a client and removes it at the end, with retries, because a client may still write. With a fifth argument,
/// fio serves in it, on a socket in a directory of that name. Lines are answered by the sixth one, [`COUNTERS`].
const CLIENT: &str = r#"umask 077; D=$1/$2; U=$5; t=; readonly D U; mkdir "$D" || exit 1; r() { if [ -n "$t" ] && read -r q <"$t/p"; then [ "$q" -gt 1 ] && kill -9 -"$q"; fi 2>/dev/null; for i in 1 2 3 4 5 6 7 8 9; do rm -rf "$D" $t && break; sleep 1; done; }; trap r EXIT; trap "exit 1" HUP INT TERM PIPE; for s in $3; do mkdir "$D/$s" || exit 1; done; for p in $4; do command -v "${p%:*}" >/dev/null || { echo "${p%:*} is not installed there: apt install ${p#*:}" >&2; exit 1; }; done; if [ -n "$U" ]; then mkdir "$U" && t=$U && v=$(fio --version) || exit 1; (cd "$D" && exec setsid sh -c "echo \$\$ >$t/p; exec fio --server=sock:$t/s") </dev/null >/dev/null 2>&1 & for i in 1 2 3 4 5 6 7 8 9; do [ -S $t/s ] && break; sleep 1; done; [ -S $t/s ] || { echo "fio does not serve there" >&2; exit 1; }; fi; echo "drivebench: ready"; echo "$SSH_CONNECTION"; echo "$v"; findmnt -rno FSTYPE,SOURCE,OPTIONS -T "$D" || echo; while read -r l; do (eval "$6") 2>/dev/null; echo "drivebench: ready"; done"#;
/// What each processor, link and drive of a machine has done, at least and at most, how much that is in a second when it is full, and
/// its name. Caches of drives may be flushed while they do something else. Wi-Fi is left out, because it has no fixed speed.
const COUNTERS: &str = r#"while read -r n a b c d e f g h i; do case $n in cpu[0-9]*) echo "$((a+b+c+f+g+h)) $((a+b+c+f+g+h)) 100 a processor";; esac; done </proc/stat; for l in /sys/class/net/*; do s=$(cat "$l/speed"); if [ "${s:-0}" -gt 0 ]; then for w in rx tx; do b=$(cat "$l/statistics/${w}_bytes"); echo "$b $b $((s*125000)) the link ${l##*/}"; done; fi; done; for k in /sys/block/*; do read -r a b c d e f g h i t m n o p q v w <"$k/stat"; echo "$t $((t+${w:-0})) 1000 the drive ${k##*/}"; done"#;
const GIVE: &str = r#"umask 077; cat >"$1/$2/$3""#;
const IN_DIR: &str = r#"cd "$1/$2" || exit 1; shift 2; exec "$@""#;
const CLEAR: &str = r#"rm -rf "$1/$2/$3" && mkdir "$1/$2/$3""#;
const COMPARE: &str = r#"cd "$1/$2" && a=$(cd "$3" && wc -c *) && b=$(cd "$4" && wc -c *); [ -n "$a" ] || exit 1; [ "$a" = "$b" ] || exit 45; [ -n "$5" ] || exit 0; a=$(cd "$3" && cksum *) && b=$(cd "$4" && cksum *) || exit 1; [ "$a" = "$b" ] || exit 46"#;

/// Makes a directory for a client of a share, with subdirectories, if these programs are installed. Answers [`READY`], then sshd's
/// description of the connection, fio's version, and type, source and options of the directory's filesystem. An empty line is answered
/// by its counters, and [`READY`]. The directory is removed when the connection ends.
pub fn client(at: &RemoteDir, name: &str, dirs: &[&str], needs: &[Tool]) -> Query {
    run(at, CLIENT, &[name, &dirs.join(" "), &listed(needs), "", COUNTERS])
}

/// The same with a server of fio, which has no authentication: it listens on a socket that only its user may open, and so does this
/// machine, at `socket`.
pub fn fio_client(at: &RemoteDir, name: &str, socket: &Path) -> Query {
    let there = format!("/tmp/{name}");
    let forward = format!("{}:{there}/s", socket.display());
    forwarding(at, Some(&forward), CLIENT, &[name, "", &listed(&[FIO, SETSID, FINDMNT]), &there, COUNTERS])
}

/// The counters of this machine.
pub fn counters_here() -> Query {
    script(COUNTERS, [""; 0])
}

fn listed(tools: &[Tool]) -> String {
    tools.iter().map(|tool| format!("{}:{}", tool.name, tool.package)).collect::<Vec<_>>().join(" ")
}

/// Writes its standard input to a file in the directory of [`client`].
pub fn give(at: &RemoteDir, name: &str, file: &str) -> Query {
    run(at, GIVE, &[name, file])
}

/// The query that runs a program in the directory of [`client`]. Its arguments have no quotes.
pub fn in_dir(at: &RemoteDir, name: &str, program: &Query) -> Query {
    let args: Vec<_> = program.args.iter().map(|arg| arg.to_string_lossy()).collect();
    let words: Vec<&str> =
        [name, program.tool.name].into_iter().chain(args.iter().map(AsRef::as_ref)).collect();
    Query { limit: program.limit, ..run(at, IN_DIR, &words) }
}

/// Removes all files of one of the directories of [`client`].
pub fn clear(at: &RemoteDir, name: &str, dir: &str) -> Query {
    run(at, CLEAR, &[name, dir])
}

/// Compares the files of two directories of [`client`], all their bytes only if they are `read`.
pub fn compare(at: &RemoteDir, name: &str, [one, other]: [&str; 2], read: bool) -> Query {
    run(at, COMPARE, &[name, one, other, if read { "read" } else { "" }])
}

/// Asks for nothing, and notices within 15 s that the other machine is gone. The key of an unknown machine is not accepted,
/// whatever the user's configuration says.
fn run(at: &RemoteDir, script: &str, args: &[&str]) -> Query {
    forwarding(at, None, script, args)
}

/// The same with a local socket that leads to one there, as `HERE:THERE`.
fn forwarding(at: &RemoteDir, sockets: Option<&str>, script: &str, args: &[&str]) -> Query {
    let forward = sockets.map_or(["-o", "ClearAllForwardings=yes"], |sockets| ["-L", sockets]);
    let options = [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        // A connection of its own: what another ssh shares with it could end with that.
        "ControlPath=none",
        "ForwardAgent=no",
        "ForwardX11=no",
        "RemoteCommand=none",
        "PermitLocalCommand=no",
    ];
    let quoted: Vec<String> = [at.dir()].iter().chain(args).map(|arg| format!("'{arg}'")).collect();
    let there = format!("sh -c '{script}' drivebench {}", quoted.join(" "));
    let options = options.iter().flat_map(|option| ["-o", option]).chain(forward).map(str::to_owned);
    let args = ["-T".to_owned()].into_iter().chain(options).chain(destination(at));
    Query::new(SSH, args.chain([there])).within(Duration::from_secs(60))
}

fn destination(at: &RemoteDir) -> Vec<String> {
    let port = at.port().map(|port| ["-p".to_owned(), port.to_string()]);
    let user = at.user().map(|user| ["-l".to_owned(), user.to_owned()]);
    let host = ["--".to_owned(), at.host().to_owned()];
    port.into_iter().chain(user).flatten().chain(host).collect()
}

fn by_hand(at: &RemoteDir) -> String {
    let port = at.port().map(|port| format!(" -p {port}")).unwrap_or_default();
    let user = at.user().map(|user| format!("{user}@")).unwrap_or_default();
    format!("ssh{port} {user}{}", at.host())
}

/// What went wrong, and what to do. With sudo, root's keys are used, not those of the user who called it.
pub fn failure(at: &RemoteDir, output: &Output, by_sudo: bool) -> String {
    let (sudo, user) = if by_sudo { ("sudo ", "root of this machine") } else { ("", "this user") };
    let by_hand = by_hand(at);
    let complaint = output.complaint();
    match output.code {
        Some(0) => "the connection ended".to_owned(),
        Some(LINK) => format!(
            "{complaint}; check that `{sudo}{by_hand}` asks for nothing: `{sudo}{}` lets {user} in",
            by_hand.replacen("ssh", "ssh-copy-id", 1)
        ),
        _ => complaint,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Runner, System, samba},
        *,
    };

    fn at(text: &str) -> RemoteDir {
        text.parse().expect("a directory")
    }

    #[test]
    fn a_client_tells_what_its_parts_have_done() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path().to_str().expect("UTF-8");
        let client = format!("echo | {{ {CLIENT}; }}");
        let said = |query| System::default().ask(&query).expect("runs").stdout;
        let parts = |text: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.splitn(4, ' ').nth(3));
            lines
                .filter(|part| part.starts_with("a ") || part.starts_with("the "))
                .map(str::to_owned)
                .collect()
        };
        let here = parts(&said(counters_here()));
        assert!(
            here.iter().any(|part| part == "a processor")
                && here.iter().any(|part| part.starts_with("the drive"))
        );
        assert_eq!(parts(&said(script(&client, [dir, "name", "", "", "", COUNTERS]))), here);
    }

    #[test]
    fn command_lines() {
        let at = at("ssh://pi@[::1]:2222/srv/a b");
        let put = Query::new(
            samba::STDBUF,
            ["--output=L", "smbclient", "//192.0.2.1/drive", "--configfile", "conf"],
        );
        insta::assert_snapshot!(
            [
                client(&at, "drivebench-1", &["large", "got"], &samba::CLIENT),
                fio_client(&at, "drivebench-1", Path::new("/tmp/x/0")),
                give(&at, "drivebench-1", "login"),
                in_dir(&at, "drivebench-1", &put),
                clear(&at, "drivebench-1", "got"),
                compare(&at, "drivebench-1", ["large", "got"], true)
            ]
            .map(|query| query.to_string())
            .join("\n")
        );
    }

    #[test]
    fn any_shell_passes_the_scripts_on() {
        for script in [CLIENT, COUNTERS, GIVE, IN_DIR, CLEAR, COMPARE] {
            assert!(!script.contains(['\'', '!', '\n']) && !script.contains("\\\\"), "{script}");
        }
        for (code, script) in [(OTHER_LENGTHS, COMPARE), (OTHER_BYTES, COMPARE)] {
            assert!(script.contains(&format!("exit {code}")), "{script}");
        }
        assert!(CLIENT.contains(&format!("echo \"{READY}\"")));
    }

    #[test]
    fn failures_name_what_to_do() {
        let at = at("ssh://pi@nas:2222/srv");
        let said = |code, stderr: &str| {
            let output = Output { code: Some(code), stderr: stderr.to_owned(), ..Output::default() };
            failure(&at, &output, false)
        };
        // OpenSSH 9.2.
        let texts = [
            said(
                255,
                "No ED25519 host key is known for [nas]:2222 and you have requested strict checking.\r\nHost key verification failed.\r",
            ),
            said(255, "pi@nas: Permission denied (publickey,password).\r"),
            said(255, "ssh: connect to host nas port 2222: Connection refused\r"),
            said(255, "ssh: Could not resolve hostname nas: Name or service not known\r"),
            said(255, "Timeout, server nas not responding.\r"),
            said(1, "mkdir: cannot create directory '/srv': Permission denied"),
            said(1, "cat: write error: No space left on device"),
            said(0, ""),
            said(127, "sh: 1: dd: not found"),
        ];
        insta::assert_snapshot!(texts.join("\n"));
        let denied = Output {
            code: Some(255),
            stderr: "pi@nas: Permission denied (publickey,password).\r".to_owned(),
            ..Output::default()
        };
        let by_sudo = failure(&at, &denied, true);
        assert!(
            by_sudo.contains("`sudo ssh-copy-id -p 2222 pi@nas` lets root of this machine in"),
            "{by_sudo}"
        );
    }
}
