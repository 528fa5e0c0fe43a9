//! `drivebench run share` in a machine of the lab, whose drives are modelled: the part that limits is named, and nothing is left of it.

use std::time::{Duration, Instant};

use drivebench::findings::{Findings, Metric, Scope};
use drivebench_lab::{Machine, pools::SHARE_MODULES, soak::CRASHED};

use super::{LIMIT, findings, out, scenario, start_unhurried};

const SMALL: &str = "--size 2MiB --files 4";

/// Two sticks that write 2.1 MB/s.
pub(super) fn machine() -> Machine {
    let machine = start_unhurried(&scenario("two-sticks").faster(0.4));
    out(&machine, SHARE_MODULES);
    note_own(&machine);
    machine
}

/// What a kind of namespaces all processes have. One file at a time: busybox knows no other way, and some processes end meanwhile.
const OF_ALL: &str = "for process in /proc/[0-9]*; do readlink $process/ns/$kind; done | sort -u";

/// What [`left`] does not count.
fn note_own(machine: &Machine) {
    let note = format!(
        "for kind in net mnt pid; do {OF_ALL} >/work/own-$kind; [ -s /work/own-$kind ] || exit 1; done"
    );
    out(machine, &note);
}

fn verdict<'a>(found: &'a Findings, errand: &str) -> &'a str {
    found.verdicts.iter().find(|v| v.starts_with(errand)).unwrap_or_else(|| panic!("{found:#?}"))
}

fn known_speed(found: &Findings, errand: &str, scope: Scope) -> Option<f64> {
    let is = |m: &&Metric| m.scope == scope && m.load.as_ref().is_some_and(|l| l.name.starts_with(errand));
    found.estimates.iter().find(is).map(|metric| metric.estimate.value)
}

fn speed(found: &Findings, errand: &str, scope: Scope) -> f64 {
    known_speed(found, errand, scope).unwrap_or_else(|| panic!("no {errand:?}, {scope:?} in {found:#?}"))
}

/// Directories and processes of a share, networks, mounts and process numbers besides those of the machine, and what a kernel says that has crashed.
pub(super) fn left(machine: &Machine) -> String {
    let left = format!(
        "find /mnt -name '.drivebench*'; pidof smbd smbclient sshd sftp iperf3 rpc.mountd setpriv nsenter; grep -lx nfsd /proc/[0-9]*/comm; grep drivebench /proc/mounts; \
         {CRASHED}; \
         for kind in net mnt pid; do {OF_ALL} | grep -vxF -f /work/own-$kind; done; true"
    );
    out(machine, &left)
}

/// Nothing is left after a while.
fn soon(what: &str, left: impl Fn() -> String) {
    let since = Instant::now();
    while !left().is_empty() {
        assert!(since.elapsed() < LIMIT, "{what}: {}", left());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn the_slower_of_drive_and_link_limits_a_client() {
    let machine = machine();
    let free = findings(&machine, "share --size 2MiB --files 1 --clients 1 --runs 3 /mnt/a");
    let slow = findings(&machine, "share --rate 4Mb --size 1MiB --files 1 --clients 1 --runs 3 /mnt/a");
    eprintln!("{:#?}\n{:#?}", free.verdicts, slow.verdicts);
    assert!(verdict(&free, "put 2.10 MB").contains("The drive limits"));
    for errand in ["put 1.05 MB", "get 1.05 MB"] {
        assert!(verdict(&slow, errand).contains("The link limits"));
        let client = speed(&slow, errand, Scope::Client);
        assert!((0.3e6..0.5e6).contains(&client), "4 Mb/s are 0.5 MB/s: {client}");
    }
    assert_eq!(left(&machine), "");
}

/// Kills a run with files in /mnt/a once a client has put something there.
pub(super) fn killed_while_it_serves(machine: &Machine, run: &str) {
    killed_once(machine, FILES_ARE_PUT, run);
}

/// Waits until a client has put something into /mnt/a.
const FILES_ARE_PUT: &str =
    "until find /mnt/a/.drivebench* -name 0 -size +0 2>/dev/null | grep -q 0; do usleep 200000; done";

/// Kills a run once a command of a shell has ended.
fn killed_once(machine: &Machine, command: &str, run: &str) {
    let run = format!("exec drivebench run {run} 2>/work/said");
    let run = machine.begin(&["sh", "-c", &run]).expect("starts");
    out(machine, command);
    run.signal(9).expect("is there");
    assert_ne!(run.wait(LIMIT).expect("ends").code, 0);
}

/// A client on a network of its own, with a server of ssh: as far as `run share` can tell, another machine.
const FAR: &str = "/bin/ip netns add far && /bin/ip link add near type veth peer name far netns far && \
    /bin/ip address add 10.77.0.1/24 dev near && /bin/ip link set near up && /bin/ip -n far address add 10.77.0.2/24 dev far && /bin/ip -n far link set far up && \
    /bin/ip -n far link set lo up && /bin/ip link set lo up && mkdir -p /root/.ssh /work/client && chmod 700 /root /root/.ssh && \
    ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 && cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys && \
    dropbearkey -t ed25519 -f /work/hostkey >/dev/null 2>&1 && /bin/ip netns exec far dropbear -r /work/hostkey -p 22 </dev/null >/work/dropbear 2>&1 && \
    /bin/ip netns exec far /sbin/tc qdisc add dev far root tbf rate 4mbit burst 32k latency 50ms && \
    /sbin/tc qdisc add dev near root tbf rate 4mbit burst 32k latency 50ms";

#[test]
fn a_client_on_another_machine_is_used_by_ssh_and_nothing_is_left_there() {
    let machine = machine();
    out(&machine, FAR);
    note_own(&machine);
    let refused = |what: &str| {
        let run = format!("drivebench run share {SMALL} --runs 1 --client {what} /mnt/a 2>&1; true");
        out(&machine, &run).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unknown = refused("ssh://10.77.0.2/work/client");
    assert!(unknown.contains("Host key verification failed"), "{unknown}");
    out(&machine, "ssh -o StrictHostKeyChecking=accept-new 10.77.0.2 true");
    let missing = refused("ssh://10.77.0.2/work/missing");
    assert!(missing.contains("No such file or directory"), "{missing}");
    let found = findings(
        &machine,
        "share --client ssh://10.77.0.2/work/client --size 1MiB --files 1 --clients 1 --runs 4 /mnt/a",
    );
    eprintln!("{:#?}", found.verdicts);
    for errand in ["put 1.05 MB", "get 1.05 MB"] {
        assert!(
            verdict(&found, errand).contains("The network or the client's machine limits"),
            "{:#?}",
            found.verdicts
        );
        let client = speed(&found, errand, Scope::Client);
        assert!((0.3e6..0.5e6).contains(&client), "4 Mb/s are 0.5 MB/s: {client}");
        assert!(speed(&found, errand, Scope::WithoutNetwork) > 2.0 * client);
        let network = speed(&found, errand, Scope::Network);
        assert!((0.4e6..0.51e6).contains(&network), "4 Mb/s are 0.5 MB/s: {network}");
    }
    let left_there = || out(&machine, "ls -A /work/client") + &left(&machine);
    assert_eq!(left_there(), "");

    // What can't be measured does not end the rest.
    out(&machine, "mount --bind /bin/false /usr/bin/iperf3");
    let found = findings(
        &machine,
        "share --protocol sftp --client ssh://10.77.0.2/work/client --size 1MiB --files 1 --clients 1 --runs 1 /mnt/a",
    );
    let client = speed(&found, "put 1.05 MB", Scope::Client);
    assert!((0.3e6..0.5e6).contains(&client), "4 Mb/s are 0.5 MB/s: {client}");
    let context = found.context.join(" ");
    assert!(context.contains("OpenSSH"), "{context}");
    assert!(context.contains("the network alone was not measured: iperf3 does not serve here"), "{context}");
    assert_eq!(left_there(), "");

    // Killed while iperf3 serves: the other machine notices that the connection ends.
    out(&machine, "umount /usr/bin/iperf3");
    let run = "share --client ssh://10.77.0.2/work/client --size 1MiB --files 1 --clients 1 --runs 3 /mnt/a";
    killed_once(&machine, "until pidof iperf3 >/dev/null; do usleep 200000; done", run);
    out(&machine, "drivebench cleanup");
    soon("another machine", left_there);
}

#[test]
fn nfs_and_sftp_are_measured_and_end_with_the_run() {
    let machine = machine();
    for (protocol, server) in [("--protocol nfs", "nfsd"), ("--protocol sftp", "OpenSSH")] {
        let is_nfs = protocol.contains("nfs");
        // Several at once of one protocol: of all, that takes long.
        let clients = if is_nfs { 2 } else { 1 };
        let run = format!("share {protocol} --rate 40Mb --clients {clients} {SMALL}");
        let found = findings(&machine, &format!("{run} --runs 1 /mnt/a"));
        eprintln!("{}\n{:#?}", found.context.join("\n"), found.tables);
        assert!(found.context.join(" ").contains(server), "{:#?}", found.context);
        let sync = is_nfs.then_some(Scope::WithoutSync);
        let all = [Scope::Client, Scope::WithoutDrive, Scope::WithoutLink];
        for scope in all.into_iter().chain(sync) {
            for errand in ["put 2.10", "put 4 files", "put by 2 clients"] {
                assert!(!is_nfs && errand.contains("clients") || speed(&found, errand, scope) > 0.0);
            }
        }
        // A link of 40 Mb/s carries 5 MB/s.
        for errand in ["put 2.10", "get 2.10"] {
            assert!(speed(&found, errand, Scope::Client) < 5.1e6);
        }
        // What SFTP costs an emulated processor hides what the drive does.
        let [drive, memory] = [Scope::Client, Scope::WithoutDrive].map(|s| speed(&found, "put 2.10", s));
        assert!(!is_nfs || memory > 1.2 * drive, "{drive} and {memory}");
        // What is got waits for nothing to be stored.
        let without_sync = found.estimates.iter().filter(|m| m.scope == Scope::WithoutSync);
        let loads: Vec<&str> = without_sync.filter_map(|m| Some(m.load.as_ref()?.name.as_str())).collect();
        assert!(loads.iter().all(|load| load.starts_with("put")), "{loads:?}");
        assert_eq!(loads.len(), if is_nfs { 3 } else { 0 }, "{loads:?}");
        assert_eq!(left(&machine), "", "{protocol}");

        killed_while_it_serves(&machine, &format!("{run} --runs 3 /mnt/a"));
        assert!(left(&machine).contains(".drivebench"), "the kill came too late");
        out(&machine, "drivebench cleanup");
        soon(protocol, || left(&machine));
        // Nobody uses the filesystem any more.
        out(&machine, "umount /mnt/a && mount LABEL=a /mnt/a");
    }
}

/// A name that would be a command, or a setting, if it got into one.
const ODD: &str = "/mnt/a/a b;c%S \"[drive]";

#[test]
fn clients_get_what_they_insist_on_and_nothing_is_left_of_a_run_that_ends_early() {
    let machine = machine();
    out(&machine, &format!("mkdir '{ODD}'"));
    let found = findings(
        &machine,
        &format!("share {SMALL} --clients 2 --runs 1 --rate 40Mb --protection encrypt '{ODD}'"),
    );
    // A host that stops the machine during the only transfer leaves none, and that is said.
    let stopped = found.flags.iter().any(|flag| flag.contains("did not run for"));
    for scope in [Scope::Client, Scope::WithoutProtection, Scope::WithoutAll] {
        for errand in ["put 2.10", "get 2.10", "put by 2 clients", "get by 2 clients", "get 4 files"] {
            let is_known = known_speed(&found, errand, scope).map(|speed| speed > 0.0);
            assert!(is_known.unwrap_or(stopped), "{errand}, {scope:?}: {found:#?}");
        }
    }
    // One run has no interval.
    assert!(found.verdicts.iter().all(|v| v.contains("is not clear")), "{:#?}", found.verdicts);
    assert_eq!(left(&machine), "");

    let run = format!("exec drivebench run share --rate 2Mb {SMALL} --runs 3 /mnt/a 2>/work/said");
    let run = machine.begin(&["sh", "-c", &run]).expect("starts");
    out(&machine, FILES_ARE_PUT);
    run.signal(2).expect("is there");
    assert_ne!(run.wait(LIMIT).expect("ends").code, 0);
    assert_eq!(left(&machine), "");
}

/// Two clients of a server of NFS, on networks of their own. The speed of the slow one's link is what a network card would report.
const MANY: &str = "touch /etc/exports && mkdir -p /mnt/nas /mnt/b/x /root/.ssh /run/sshd && chmod 700 /root /root/.ssh && mount -t nfsd nfsd /proc/fs/nfsd && \
    exportfs -o rw,no_root_squash,async,insecure,no_subtree_check,fsid=0 '*:/mnt/b' && rpc.mountd --no-nfs-version 3 && rpc.nfsd --no-nfs-version 3 4 && \
    ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 && cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys && \
    ssh-keygen -q -t ed25519 -N '' -f /work/host && /bin/ip link set lo up && for n in 1 2; do \
    /bin/ip netns add c$n && /bin/ip link add s$n type veth peer name eth0 netns c$n && /bin/ip address add 10.77.$n.1/24 dev s$n && /bin/ip link set s$n up && \
    /bin/ip -n c$n address add 10.77.$n.2/24 dev eth0 && /bin/ip -n c$n link set eth0 up && if [ $n = 1 ]; then \
    /bin/ip netns exec c$n /sbin/tc qdisc add dev eth0 root tbf rate 4mbit burst 32k latency 50ms && /sbin/tc qdisc add dev s$n root tbf rate 4mbit burst 32k latency 50ms; fi && \
    /bin/ip netns exec c$n sh -c 'mount --make-rprivate / && echo 4 >/work/speed && if [ '$n' = 1 ]; then mount --bind /work/speed /sys/class/net/eth0/speed; fi && \
    mount -t nfs4 -o vers=4.2 10.77.'$n'.1:/ /mnt/nas && exec /usr/sbin/sshd -f /dev/null -h /work/host -o AuthorizedKeysFile=/root/.ssh/authorized_keys' && \
    ssh -o StrictHostKeyChecking=accept-new 10.77.$n.2 true || exit 1; done";

#[test]
fn of_many_clients_the_slow_one_and_its_link_are_named() {
    let machine = machine();
    out(&machine, MANY);
    let there = |n: u8| format!("--client ssh://10.77.{n}.2/mnt/nas/x");
    let run = format!("share {} {} --size 1MiB --runs 3", there(1), there(2));
    let found = findings(&machine, &run);
    eprintln!("{:#?}", found.verdicts);
    for errand in ["write 1.05 MB", "read 1.05 MB"] {
        let said = verdict(&found, errand);
        assert!(said.contains("the link eth0 of 10.77.1.2 ("), "{said}");
        let slow = speed(&found, errand, Scope::Together);
        assert!((0.2e6..0.5e6).contains(&slow), "4 Mb/s are at most 0.5 MB/s: {slow}");
        let sum = speed(&found, errand, Scope::Sum);
        assert!(sum > 1.5 * slow && sum < 2.1 * slow, "all wait for the slowest: {sum}");
    }
    assert_eq!(
        out(
            &machine,
            "ls -A /mnt/b/x; find /tmp -name '*drivebench-*' ! -name drivebench-0; pidof fio; true"
        ),
        ""
    );
}
