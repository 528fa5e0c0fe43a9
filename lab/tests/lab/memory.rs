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

#[test]
fn a_partition_is_erased_by_consent_only_and_zswap_is_put_back() {
    let scenario = scenario("pi-zero");
    let serial = &scenario.drives[3].serial;
    let machine = start(&scenario);
    out(&machine, CONTROL_GROUPS);
    out(&machine, "umount /mnt/d");
    let device = out(&machine, &format!("lab-device {serial}"));
    let device = device.trim();
    out(&machine, &format!("wipefs -q --all {device}; sgdisk --new 1:0:+400M {device}; udevadm settle"));
    out(
        &machine,
        &format!("/sbin/mke2fs -q -t ext4 -L precious {device}1; udevadm settle; mount {device}1 /mnt/d"),
    );
    let small = "--memory 16MiB --runs 1 --runtime 1s";
    let refused = |target: &str, options: &str| {
        let run = format!("drivebench run swap {small} {options} {target} 2>&1");
        let output = machine.run(&["sh", "-c", &run], LIMIT).expect("runs");
        assert_eq!(output.code, 2, "{}", output.text());
        output.text().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let erase = format!("--erase {serial}");
    let part = format!("{device}1");
    for (target, options, why) in [
        (device, erase.as_str(), "it has partitions: name one of them"),
        (&part, erase.as_str(), "it is mounted: umount /mnt/d"),
    ] {
        let said = refused(target, options);
        assert!(said.contains(why), "{said}");
    }
    out(&machine, "echo kept >/mnt/d/file; umount /mnt/d");
    let said = refused(&part, "");
    assert!(said.contains("ext4 'precious'") && said.contains(&erase), "{said}");
    let said = refused(&part, "--erase 4C53000113081511514");
    assert!(said.contains("no drive of this command has that serial"), "{said}");
    assert_eq!(out(&machine, &format!("mount {part} /mnt/d; cat /mnt/d/file; umount /mnt/d")), "kept\n");

    let zswap = "cat /sys/module/zswap/parameters/enabled";
    let before = out(&machine, zswap);
    let found = findings(&machine, &format!("swap {part} {erase} {small} 2>/work/said"));
    assert!(of(&found, &part, &Quantity::MemoryUsed) > 1.0);
    // What zswap holds counts as the program's memory, which may not be enough for twice of it: then the run says so, and fails.
    let run = format!("drivebench run swap zswap+/mnt/a {small} --format json 2>/work/said || test $? = 1");
    let found: Findings = serde_json::from_str(&out(&machine, &run)).expect("findings");
    assert!(of(&found, "zswap+/mnt/a", &Quantity::MemoryUsed) > 1.0);
    assert_eq!(out(&machine, zswap), before);
    assert_eq!(out(&machine, &format!("wipefs {part}")), "", "nothing is left of the area");
    nothing_is_left(&machine);

    let run = format!("exec drivebench run swap {part} {erase} {small} 2>/work/said");
    let run = machine.begin(&["sh", "-c", &run]).expect("starts");
    let since = Instant::now();
    while !out(&machine, "cat /proc/swaps").contains(&part) {
        assert!(since.elapsed() < LIMIT, "no swap area");
        std::thread::sleep(Duration::from_millis(200));
    }
    run.signal(9).expect("is there");
    run.wait(LIMIT).expect("ends");
    let said = out(&machine, "drivebench cleanup").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("The kernel no longer swaps to {part}")), "{said}");
    nothing_is_left(&machine);
}
