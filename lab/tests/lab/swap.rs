//! `drivebench run swap` in a machine of the lab: which medium is best, and that nothing is left of it.

use std::time::{Duration, Instant};

use drivebench::findings::{Findings, Quantity};
use drivebench_lab::{Machine, ledger::Kind, soak::CONTROL_GROUPS};

use super::{LIMIT, findings, out, scenario, start};

const QUICK: &str = "--memory 16MiB --runs 1 --runtime 1s";

fn nothing_is_left(machine: &Machine) {
    let left = out(
        machine,
        "tail -n +2 /proc/swaps; ls -d /sys/fs/cgroup/drivebench* /sys/block/zram* 2>/dev/null; ls -A /mnt/a /mnt/b | grep drivebench; true",
    );
    assert_eq!(left, "", "an area, a group, a device or a file");
}

fn of(found: &Findings, target: &str, quantity: &Quantity) -> f64 {
    let metric = found.estimates.iter().find(|m| m.target == target && m.quantity == *quantity);
    metric.unwrap_or_else(|| panic!("no {quantity:?} of {target} in {found:#?}")).estimate.value
}

#[test]
fn compressed_memory_is_no_worse_than_a_stick_and_a_killed_run_leaves_nothing() {
    let machine = start(&scenario("pi-zero"));
    out(&machine, CONTROL_GROUPS);
    let found = findings(&machine, &format!("swap /mnt/a zram {QUICK}"));
    let used = |target| of(&found, target, &Quantity::MemoryUsed);
    eprintln!("memory used: stick {:.2} times, zram {:.2} times", used("/mnt/a"), used("zram"));
    // On a busy host requests take so long in memory that neither reaches ten times that: then both have the same least value.
    assert!(used("zram") >= used("/mnt/a"), "{found:#?}");
    assert!(of(&found, "/mnt/a", &Quantity::SwappedInAnHour) > 0.0);
    let ledger = machine.ledger(0).expect("a ledger");
    let writes: u64 = ledger.iter().filter(|e| e.kind == Kind::Write).map(|e| e.length).sum();
    let ratio = found.spent.expect("bytes were counted").written as f64 / writes as f64;
    eprintln!("bytes written: {ratio:.4} of the ledger's");
    assert!((0.97..=1.0).contains(&ratio), "{ratio}");
    nothing_is_left(&machine);

    let run = machine
        .begin(&["sh", "-c", &format!("exec drivebench run swap /mnt/b {QUICK} 2>/work/said")])
        .expect("starts");
    let since = Instant::now();
    while !out(&machine, "cat /proc/swaps").contains("/mnt/b/") {
        assert!(since.elapsed() < LIMIT, "no swap area");
        std::thread::sleep(Duration::from_millis(200));
    }
    run.signal(9).expect("is there");
    run.wait(LIMIT).expect("ends");
    out(&machine, "drivebench cleanup");
    nothing_is_left(&machine);
}
