use std::path::PathBuf;

use super::*;
use crate::inventory::{Mount, fixtures};

/// A target on another machine, as `resolve` would return it.
fn target(inventory: &Inventory, path: &str) -> Target {
    let mount = inventory.mount_of(path).expect("a mount");
    let stack = inventory.stack_of(inventory.blocks_of(mount));
    Target {
        given: path.to_owned(),
        path: PathBuf::from(path),
        drives: stack.drives.into_iter().cloned().collect(),
        layers: stack.layers.iter().map(|layer| layer.name.clone()).collect(),
        mount: Some(mount.clone()),
        free: Some(41_000_000_000),
        capacity: Some(62_000_000_000),
        direct_alignment: 512,
        ..Target::default()
    }
}

fn before(inventory: &Inventory, path: &str, now: &Snapshot) -> Vec<Check> {
    check_before(inventory, &target(inventory, path), &Snapshot::default(), now)
}

fn flag<'a>(preflight: &'a [Check], name: &str) -> &'a str {
    let check = preflight.iter().find(|check| check.name == name).expect("the check");
    check.flag.as_deref().unwrap_or("")
}

fn value<'a>(preflight: &'a [Check], name: &str) -> &'a str {
    &preflight.iter().find(|check| check.name == name).expect("the check").value
}

fn at(uptime: f64, read: u64, written: u64, busy: f64) -> Snapshot {
    let drive = "sda".to_owned();
    let drives = vec![Activity { drive, read, written, busy, ..Activity::default() }];
    Snapshot { uptime: Some(uptime), drives, ..Snapshot::default() }
}

#[test]
fn on_a_quiet_virtual_machine_only_its_drive_is_flagged() {
    let inventory = fixtures::virtual_machine().inventory();
    let now = Snapshot {
        temperature: Some(41.2),
        throttled: Some(0),
        memory_available: Some(1 << 33),
        ..Snapshot::default()
    };
    let preflight = before(&inventory, "/home", &now);
    let flagged = preflight.iter().filter(|check| check.flag.is_some()).map(|check| check.name.as_str());
    assert_eq!(flagged.collect::<Vec<_>>(), ["drive"]);
    assert!(flag(&preflight, "drive").starts_with("vda is a virtual drive"));
    let names: Vec<&str> = preflight.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "drive",
            "filesystem",
            "layers",
            "other I/O",
            "swap",
            "arrays",
            "free space",
            "memory",
            "processors",
            "governor",
            "temperature",
            "throttling",
            "control group",
        ]
    );
    assert!(preflight.iter().all(|check| !check.value.is_empty()));
}

#[test]
fn a_pi_at_its_limits_is_flagged() {
    let inventory = fixtures::pi_zero().inventory();
    let now = Snapshot {
        temperature: Some(81.3),
        throttled: Some(0x50005),
        memory_available: Some(60 << 20),
        ..Snapshot::default()
    };
    let preflight = before(&inventory, "/home", &now);
    assert_eq!(
        Some(flag(&preflight, "governor")),
        Some("The CPU governor is ondemand: small blocks may be slower than with performance.")
    );
    assert_eq!(flag(&preflight, "temperature"), "The processor is at 81 °C and may be throttled.");
    assert_eq!(
        flag(&preflight, "throttling"),
        "The firmware reports undervoltage, throttled: the board runs slower than normal."
    );
    assert_eq!(value(&preflight, "throttling"), "now: undervoltage, throttled");
    assert_eq!(
        flag(&preflight, "swap"),
        "SC32G 0x1f3a5b22 in the SD slot holds swap: swapping during the run affects the result."
    );
    assert!(flag(&preflight, "memory").starts_with("Only 60 MiB"));
    assert_eq!(flag(&before(&inventory, "/mnt/a", &now), "swap"), "", "swap is on another drive");
    let earlier = Snapshot { throttled: Some(0x80000), ..Snapshot::default() };
    assert_eq!(
        value(&before(&inventory, "/mnt/a", &earlier), "throttling"),
        "since boot: soft temperature limit"
    );
}

#[test]
fn network_memory_array_and_encryption_are_flagged() {
    let pi = fixtures::pi_4().inventory();
    let now = Snapshot::default();
    let compressed = before(&pi, "/srv/data", &now);
    assert!(flag(&compressed, "filesystem").contains("is compressed (compress=zstd:3)"));
    assert!(flag(&before(&pi, "/mnt/nas", &now), "drive").contains("the network"));
    let vm = fixtures::virtual_machine().inventory();
    assert_eq!(
        flag(&before(&vm, "/dev/shm", &now), "drive"),
        "/dev/shm is tmpfs: this measures memory, not a drive."
    );
    assert_eq!(flag(&before(&pi, "/srv/data", &now), "drive"), "");
    let tree = fixtures::pc();
    let pc = tree.inventory();
    let now = Snapshot::take(&tree.sysroot(), &pc.drives);
    assert_eq!(value(&before(&pc, "/", &now), "layers"), "dm-0 (crypt), dm-1 (lvm)");
    assert!(flag(&before(&pc, "/", &now), "layers").contains("encryption may be the limit"));
    assert_eq!(flag(&before(&pc, "/", &now), "arrays"), "", "the resync is on other drives");
    let srv = before(&pc, "/srv", &now);
    assert!(flag(&srv, "arrays").starts_with("md0 runs a resync"));
    assert!(flag(&srv, "layers").starts_with("The target is on md0 (raid1)"));
}

#[test]
fn compression_that_is_off_is_not_flagged() {
    let inventory = fixtures::pi_4().inventory();
    let mut target = target(&inventory, "/srv/data");
    for option in ["compress=no", "nocompress", "compress_cache"] {
        target.mount = target.mount.map(|mount| Mount { options: vec![option.to_owned()], ..mount });
        assert_eq!(filesystem(&target).flag, None, "{option}");
    }
}

#[test]
fn what_bounds_a_drive_before_a_run_is_flagged() {
    let inventory = fixtures::pi_zero().inventory();
    let target = target(&inventory, "/mnt/a");
    let idle = check_before(&inventory, &target, &at(10.0, 0, 0, 0.0), &at(12.0, 40_000, 0, 0.02));
    assert_eq!(value(&idle, "other I/O"), "sda: 0.0200 MB/s read, 0.00 MB/s written, busy 1.0 %");
    assert_eq!(flag(&idle, "other I/O"), "");
    let busy = check_before(&inventory, &target, &at(10.0, 0, 0, 0.0), &at(12.0, 0, 4_000_000, 1.9));
    assert_eq!(
        flag(&busy, "other I/O"),
        "Other I/O just before the run on sda: 0.00 MB/s read, 2.00 MB/s written, busy 95 %."
    );
    let mut limited = at(12.0, 0, 0, 0.0);
    limited.drives[0].limits = vec!["reads of sda to 10.5 MB/s".to_owned()];
    let limited = check_before(&inventory, &target, &at(10.0, 0, 0, 0.0), &limited);
    assert_eq!(
        flag(&limited, "control group"),
        "The control group limits reads of sda to 10.5 MB/s: run it outside of that group."
    );
    let idle_for = |seconds: f64, uptime| Snapshot { idle: Some(seconds), ..at(uptime, 0, 0, 0.0) };
    let cpus = inventory.machine.cpus.map(f64::from).expect("known");
    let used = |share: f64| {
        let later = idle_for(100.0 + 2.0 * cpus * (1.0 - share), 12.0);
        check_before(&inventory, &target, &idle_for(100.0, 10.0), &later)
    };
    assert_eq!(flag(&used(0.4), "processors"), "");
    assert!(flag(&used(0.8), "processors").starts_with("Other programs used 80 % of "));
    let same = check_before(&inventory, &target, &at(10.0, 0, 0, 0.0), &at(10.0, 0, 0, 0.0));
    assert_eq!(value(&same, "other I/O"), "sda: unknown", "no time between");
}

#[test]
fn a_nearly_full_filesystem_is_flagged() {
    let inventory = fixtures::pi_zero().inventory();
    let full = Target { free: Some(1_000_000_000), ..target(&inventory, "/mnt/a") };
    assert!(free_space(&full).flag.expect("a flag").starts_with("Only 1.00 GB free"));
    let none = Target { free: Some(0), capacity: Some(0), ..full };
    assert_eq!(free_space(&none).value, "unknown");
}

#[test]
fn other_io_during_a_run_is_flagged() {
    let inventory = fixtures::pi_zero().inventory();
    let target = target(&inventory, "/mnt/a");
    let (start, end) = (at(0.0, 0, 0, 0.0), at(90.0, 30_000_000, 1_100_000_000, 80.0));
    let after =
        |read, written| check_after(&inventory, &target, &start, &end, Some(BytesMoved { read, written }));
    assert_eq!(flag(&after(30_000_000, 1_095_000_000), "other I/O"), "", "a journal");
    assert_eq!(
        flag(&after(0, 1_000_000_000), "other I/O"),
        "Other I/O on sda during the run: 30.0 MB read, 100 MB written."
    );
    assert_eq!(flag(&after(40_000_000, 2_000_000_000), "other I/O"), "", "from the cache");
    let unknown = check_after(&inventory, &target, &start, &end, None);
    assert_eq!(flag(&unknown, "other I/O"), "", "a file server");
}

#[test]
fn other_io_on_an_array_is_not_computed() {
    let inventory = fixtures::pc().inventory();
    let target = target(&inventory, "/srv");
    let after = check_after(
        &inventory,
        &target,
        &at(0.0, 0, 0, 0.0),
        &at(9.0, 0, 1 << 30, 8.0),
        Some(BytesMoved::default()),
    );
    assert_eq!(flag(&after, "other I/O"), "", "a mirror writes twice");
}

#[test]
fn heat_and_throttling_during_a_run_are_flagged() {
    let inventory = fixtures::pi_zero().inventory();
    let target = target(&inventory, "/mnt/a");
    let moment =
        |degrees, bits| Snapshot { temperature: Some(degrees), throttled: Some(bits), ..Snapshot::default() };
    let after = |from, to| check_after(&inventory, &target, &from, &to, Some(BytesMoved::default()));
    let calm = after(moment(48.0, 0x50000), moment(52.0, 0x50000));
    assert_eq!(
        calm.iter().find_map(|check| check.flag.as_deref()),
        None,
        "bits set before the run don't count"
    );
    assert_eq!(value(&calm, "temperature"), "48 to 52 °C");
    let warm = after(moment(48.0, 0), moment(63.0, 0x40000));
    assert_eq!(flag(&warm, "temperature"), "");
    assert_eq!(flag(&warm, "throttling"), "During the run the firmware reported throttled.");
    let hot = after(moment(79.0, 0), moment(82.0, 0x80008));
    assert_eq!(flag(&hot, "throttling"), "During the run the firmware reported soft temperature limit.");
    assert!(flag(&hot, "temperature").contains("at 82 °C"));
}

#[test]
fn a_pool_that_lacks_drives_or_fills_one_is_another_one() {
    use fixtures::pools::mounted_array;
    let of = |section: &str, sticks: &str| {
        let inventory = mounted_array(section, "raid5", 3, sticks).inventory();
        let checks = before(&inventory, "/srv/data", &Snapshot::default());
        (value(&checks, "pool").to_owned(), flag(&checks, "pool").to_owned())
    };
    assert_eq!(of("idle", "abc"), ("raid5 of 3 drives, active".to_owned(), String::new()));
    let (state, said) = of("degraded", "acd");
    assert_eq!(state, "raid5 of 3 drives, degraded: 1 of 3 drives missing");
    assert!(
        said.starts_with("The pool is degraded: 1 of 3 drives missing: its speeds can't be compared"),
        "{said}"
    );
    let (state, said) = of("rebuild", "acd");
    assert_eq!(state, "raid5 of 3 drives, degraded, filling a drive 0.0 %");
    assert!(said.contains("can't be compared"), "{said}");
    let stick = fixtures::pi_zero().inventory();
    let checks = before(&stick, "/mnt/a", &Snapshot::default());
    assert!(checks.iter().all(|check| check.name != "pool"), "no pool, no check");
}
