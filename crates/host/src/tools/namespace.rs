//! unshare, nsenter and setpriv: programs in namespaces of their own, which end with them; ip and tc for their link.

use std::{ffi::OsStr, path::Path, time::Duration};

use super::{Query, System, Tool, ToolError};

/// Shell functions for a mount namespace: `hide` hides files and directories, `own_run` the content of `/run`.
pub(super) const HIDE: &str = r#"PATH=/usr/sbin:/usr/bin:/sbin:/bin
hide() { for f; do
if [ -d "$f" ]; then mount -t tmpfs -o mode=755,size=4k drivebench "$f" || exit; elif [ -e "$f" ]; then mount --bind /dev/null "$f" || exit; fi
done; }
own_run() { mount -t tmpfs -o mode=755,size=1M drivebench /run; }
"#;

/// The programs that are always needed.
pub const TOOLS: [Tool; 3] = [SETPRIV, NSENTER, IP];
pub const SETPRIV: Tool = Tool { name: "setpriv", package: "util-linux" };
const NSENTER: Tool = Tool { name: "nsenter", package: "util-linux" };
/// Unmounts what clients have mounted.
pub(super) const UMOUNT: Tool = Tool { name: "umount", package: "mount" };
const IP: Tool = Tool { name: "ip", package: "iproute2" };
pub const TC: Tool = Tool { name: "tc", package: "iproute2" };

/// A shell in its own mount and PID namespaces, and with `alone` in its own network namespace. It ends with this program, and the
/// kernel ends all processes of its PID namespace with it. What is unmounted elsewhere is unmounted there, too.
pub fn sandbox(alone: bool, script: &str, args: &[&OsStr]) -> Query {
    let network: &[&str] = if alone { &["--net"] } else { &[] };
    let others = "--mount --propagation slave --pid --fork --kill-child -- sh -c".split(' ');
    let unshare = ["--pdeathsig", "KILL", "unshare"].iter().chain(network).copied().chain(others);
    let unshare = unshare.chain([script, "drivebench"]).map(OsStr::new);
    Query::new(SETPRIV, unshare.chain(args.iter().copied()))
}

/// Runs a program in the network namespace of one process and the other namespaces of another, with which it ends.
pub fn within(network: u32, mounts: u32, program: &Query, tools: &System) -> Result<Query, ToolError> {
    entered((network, mounts), Some(mounts), program, tools)
}

/// Runs a program in the network and mount namespaces of a process, but does not end it with that process.
pub fn beside(process: u32, program: &Query, tools: &System) -> Result<Query, ToolError> {
    entered((process, process), None, program, tools)
}

fn entered(
    (network, mounts): (u32, u32),
    processes: Option<u32>,
    program: &Query,
    tools: &System,
) -> Result<Query, ToolError> {
    let enter = [format!("--net=/proc/{network}/ns/net"), format!("--mount=/proc/{mounts}/ns/mnt")];
    let processes = processes.map(|process| format!("--pid=/proc/{process}/ns/pid"));
    let enter = enter.into_iter().chain(processes).chain(["--".to_owned()]);
    let path = tools.find(program.tool)?.into_os_string();
    let args = enter.map(Into::into).chain([path]).chain(program.args.iter().cloned());
    Ok(Query { tool: NSENTER, args: args.collect(), ..program.clone() })
}

/// Unmounts a directory. Writing what is still in memory may take long.
pub fn unmount(dir: &Path) -> Query {
    Query::new(UMOUNT, [dir]).within(Duration::from_secs(600))
}

/// Joins the networks of two processes by a pair of devices.
pub fn join(a: (&str, u32), b: (&str, u32)) -> Query {
    let [first, second] = [a, b].map(|(name, process)| format!("name {name} netns {process}"));
    Query::new(IP, format!("link add {first} type veth peer {second}").split(' '))
}

/// Gives a device an address.
pub fn address(device: &str, address: &str) -> Query {
    Query::new(IP, ["address", "add", address, "dev", device])
}

/// Activates a device.
pub fn up(device: &str) -> Query {
    Query::new(IP, ["link", "set", device, "up"])
}

/// Limits what a device sends, bits per second.
pub fn limit(device: &str, rate: u64) -> Query {
    // Bytes sent at once: two packets or half a millisecond, which the timers of slow machines allow.
    let burst = (rate / 8 / 2000).max(3_200);
    // The overhead is that of an Ethernet frame, besides the packet and its header, bytes.
    let limit =
        format!("qdisc add dev {device} root tbf rate {rate}bit burst {burst}b latency 50ms overhead 24");
    Query::new(TC, limit.split(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let inside = within(7, 8, &up("lo"), &System::default()).expect("ip is there").to_string();
        let (before, after) = inside.split_once(" -- ").expect("a program");
        assert_eq!(before, "nsenter --net=/proc/7/ns/net --mount=/proc/8/ns/mnt --pid=/proc/8/ns/pid");
        assert!(after.starts_with('/') && after.ends_with("/ip link set lo up"), "{after}");
        let outlasts = beside(7, &up("lo"), &System::default()).expect("ip is there").to_string();
        assert!(
            outlasts.starts_with("nsenter --net=/proc/7/ns/net --mount=/proc/7/ns/mnt -- /"),
            "{outlasts}"
        );
        assert_eq!(
            join(("server", 7), ("client", 8)).to_string(),
            "ip link add name server netns 7 type veth peer name client netns 8"
        );
        assert_eq!(unmount(Path::new("/mnt/mounted")).to_string(), "umount /mnt/mounted");
        assert_eq!(address("server", "192.0.2.1/30").to_string(), "ip address add 192.0.2.1/30 dev server");
        assert_eq!(
            limit("server", 100_000_000).to_string(),
            "tc qdisc add dev server root tbf rate 100000000bit burst 6250b latency 50ms overhead 24"
        );
        assert!(
            sandbox(true, "echo \"$1\"", &[OsStr::new("a b")])
                .to_string()
                .ends_with(r#"-- sh -c 'echo "$1"' drivebench 'a b'"#)
        );
    }
}
