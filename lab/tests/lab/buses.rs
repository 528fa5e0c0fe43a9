//! `drivebench run together` in machines of the lab, compared with their drives' ledgers.

use drivebench::findings::Findings;
use drivebench_lab::{
    Machine,
    ledger::{Entry, Kind},
};
use drivebench_modelled::sim::Cause;

use super::{LIMIT, ok, out, scenario, start};

/// The limits of a load: name, bytes per second, confidence.
fn limits(findings: &Findings, load: &str) -> Vec<(String, f64, String)> {
    let name = format!("{load} limit");
    let named = findings.estimates.iter().filter(|n| n.label() == name);
    let confidence = |how: &str| how.rsplit(' ').next().unwrap_or_default().to_owned();
    named.map(|n| (n.target.clone(), n.estimate.value, confidence(&n.estimate.how))).collect()
}

/// Half a second, ns.
const SLICE: u64 = 500_000_000;

/// The total speed of these drives while all were busy: the median over half seconds, bytes per second.
fn passed(ledgers: &[Vec<Entry>], kind: Kind) -> f64 {
    let of =
        |entries: &Vec<Entry>| entries.iter().filter(move |e| e.kind == kind).copied().collect::<Vec<_>>();
    let ledgers: Vec<Vec<Entry>> = ledgers.iter().map(of).collect();
    let ends = ledgers.iter().flatten().map(|e| e.end_ns);
    let (from, to) = (ends.clone().min().expect("work"), ends.max().expect("work"));
    // For each half second: bytes, and busy time of the drive.
    let slice = |entries: &[Entry], at: u64| {
        entries.iter().fold((0.0, 0.0), |(bytes, busy), e| {
            let inside = e.end_ns.min(at + SLICE).saturating_sub(e.start_ns.max(at)) as f64;
            let share = inside / (e.end_ns - e.start_ns).max(1) as f64;
            (bytes + e.length as f64 * share, busy + inside / SLICE as f64)
        })
    };
    let slices = (from..to - SLICE).step_by(SLICE as usize);
    let all = slices.map(|at| ledgers.iter().map(|l| slice(l, at)).collect::<Vec<_>>());
    let at_work = all.filter(|slice| slice.iter().all(|(_, busy)| *busy > 0.9));
    let mut sums: Vec<f64> =
        at_work.map(|s| s.iter().map(|(bytes, _)| bytes).sum::<f64>() * 1e9 / SLICE as f64).collect();
    assert!(sums.len() > 4, "they were at work together for {} half seconds", sums.len());
    sums.sort_by(f64::total_cmp);
    sums[sums.len() / 2]
}

#[test]
fn hubs_that_limit_are_named_with_their_ceilings() {
    let machine = start(&scenario("hub-limited"));
    let found = decided(&machine, 2, "drivebench run together --rw read /mnt/a /mnt/b /mnt/c /mnt/d", 17);
    let named = limits(&found, "read");
    println!("{named:?}\n{:#?}", found.verdicts);
    let ledger = |i: usize| machine.ledger(i).unwrap();
    for (at, (hub, drives)) in [("hub 1", [0, 1]), ("hub 2", [2, 3])].iter().enumerate() {
        let truth = passed(&drives.map(ledger), Kind::Read);
        println!("{hub}: the ledger has {truth:.0} B/s");
        let (name, rate, _) = &named[at];
        assert_eq!(name, hub, "{named:?}");
        assert!((rate / truth - 1.0).abs() < 0.05, "{hub}: {rate} is not {truth}");
    }
    assert_eq!(named.len(), 2, "{named:?}");
}

/// What is said after four runs, or after eight where four name fewer limits of all loads than there are: the
/// intervals of a busy machine are wide. They have `seconds` each, and twice that the second time. `command` lacks these options.
fn decided(machine: &Machine, there_are: usize, command: &str, seconds: u32) -> Findings {
    let found = |runs: u32, time: u32| {
        let command = format!("{command} --runs {runs} --max-time {time}s --format json");
        let output = ok(machine.run(&["sh", "-c", &command], LIMIT));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // The time of the first one may be up before there is a result.
        assert!(
            output.code == 0 || (runs, output.code) == (4, 1),
            "{command}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    };
    let first: Findings = found(4, 4 * seconds);
    let named: usize = ["read", "write"].iter().map(|load| limits(&first, load).len()).sum();
    if named < there_are { found(8, 16 * seconds) } else { first }
}

#[test]
fn limits_of_drives_bus_and_processor_are_distinguished() {
    // Half as fast, so that what a busy host adds is small beside the difference that is to be found, 13 %.
    let machine = start(&scenario("two-sticks").faster(0.5));
    let found = decided(&machine, 2, "drivebench run together /mnt/a /mnt/b", 20);
    println!("{:#?}", found.verdicts);
    let writes = limits(&found, "write");
    assert_eq!((writes.len(), writes[0].0.as_str()), (1, "drives"), "{writes:?}");
    // The post's sticks read slightly faster alone than together; the ledger has the reason.
    let ledgers = [0, 1].map(|i| machine.ledger(i).unwrap());
    let reads = limits(&found, "read");
    let truth = passed(&ledgers, Kind::Read);
    println!("{reads:?}, the ledger has {truth:.0} B/s");
    assert!(ledgers.iter().flatten().any(|e| e.kind == Kind::Read && e.cause == Cause::Bus));
    assert_eq!(reads.len(), 1, "{reads:?}");
    assert!(reads[0].0.starts_with("hub 1") || reads[0].0.contains("bus"), "{reads:?}");
    assert!((reads[0].1 / truth - 1.0).abs() < 0.05, "{reads:?} is not {truth}");

    const OPERATIONS: u64 = 1000;
    out(&machine, &format!("dd if=/dev/zero of=/mnt/a/file bs=8k count={OPERATIONS} conv=fsync 2>/dev/null"));
    // Half of the time that one drive alone takes of this host's emulated processor. With small blocks this is more than a tick
    // of the kernel, which is how exactly it keeps quotas.
    let used = out(
        &machine,
        "mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && \
        echo +cpu >/sys/fs/cgroup/cgroup.subtree_control && mkdir /sys/fs/cgroup/small && \
        (echo 0 >/sys/fs/cgroup/small/cgroup.procs && dd if=/mnt/a/file of=/dev/null bs=8k iflag=direct 2>/dev/null) && \
        sed -n 's/usage_usec //p' /sys/fs/cgroup/small/cpu.stat",
    );
    let operation = used.trim().parse::<f64>().expect("microseconds") / OPERATIONS as f64;
    let busy = operation / 1e6 * machine.scenario().board().drives[0].read[0].rate / 8192.0;
    let quota = ((busy / 2.0).min(0.4) * 100_000.0).max(1000.0);
    println!("{operation:.0} us of the processor for an operation, a quota of {quota:.0} us in 100 ms");
    out(&machine, &format!("echo {quota:.0} 100000 >/sys/fs/cgroup/small/cpu.max"));
    let limited = "echo 0 >/sys/fs/cgroup/small/cgroup.procs && drivebench run together --rw read --bs 8k /mnt/a /mnt/b";
    let found = decided(&machine, 1, limited, 18);
    println!("{:#?}", found.verdicts);
    let reads = limits(&found, "read");
    assert_eq!((reads.len(), reads[0].0.as_str()), (1, "processor"), "{reads:?}");
}
