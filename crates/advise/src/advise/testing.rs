//! Machines and evidence for tests: published measurements of others.

use super::{Answer, Evidence, Topic};
use crate::{
    analyse::{Estimate, repeat},
    findings::{
        Limiter, LoadKey, Measures, Metric, On, Quantity, Scope,
        fitness::{Need, Use, Verdict},
    },
    inventory::{Drive, Inventory, Mount, fixtures},
    units::{Caching, Direction, Load, MIB, Pattern, Percentile},
};

/// A load, sequential and direct, in a file.
pub fn load(reads: bool, block: u64, depth: u32) -> LoadKey {
    let direction = if reads { Direction::Read } else { Direction::Write };
    let load = Load { depth, ..Load::new(direction, Pattern::Sequential, block, Caching::Direct, 1) };
    LoadKey::new(if reads { "read" } else { "write" }, &load, On::Directory, "psync")
}

/// A number of any target.
pub fn metric(quantity: Quantity, estimate: Estimate) -> Metric {
    Metric::new("", quantity, estimate)
}

/// A value with this half width, as a share.
pub fn within(value: f64, share: f64) -> Estimate {
    let (low, high) = (value * (1.0 - share), value * (1.0 + share));
    Estimate { value, low, high, how: "batch means".to_owned(), converged: true, within: None }
}

/// One load on one drive: its speed, MB/s, and the longest operation, s.
pub fn alone(
    inventory: &Inventory,
    run: &str,
    drive: &str,
    load: LoadKey,
    mb: Estimate,
    longest: Option<f64>,
) -> Evidence {
    let speed = Estimate { value: mb.value * 1e6, low: mb.low * 1e6, high: mb.high * 1e6, ..mb };
    let mut numbers = vec![metric(Quantity::Throughput, speed)];
    numbers.extend(longest.map(|s| {
        let latency = Quantity::Latency(Percentile::P9999);
        metric(latency, Estimate { high: f64::INFINITY, ..within(s, 0.0) })
    }));
    Evidence { load: Some(load), numbers, ..of(inventory, run, &[drive]) }
}

/// One load on several drives at once: the sum and the sum alone, MB/s.
pub fn at_once(
    inventory: &Inventory,
    run: &str,
    drives: &[&str],
    load: LoadKey,
    sum: Estimate,
    alone: f64,
) -> Evidence {
    let sum = Estimate { value: sum.value * 1e6, low: sum.low * 1e6, high: sum.high * 1e6, ..sum };
    let numbers = vec![
        metric(Quantity::Throughput, within(alone * 1e6, 0.05)).at(Scope::SumAlone),
        metric(Quantity::Throughput, sum.clone()).at(Scope::Sum),
        metric(Quantity::Ceiling(Limiter::Drives), sum),
    ];
    Evidence { load: Some(load), at_once: true, numbers, ..of(inventory, run, drives) }
}

/// A run of baseline that judges one drive so; for all other uses the drive is fit, as far as speeds and stops decide.
pub fn fit(inventory: &Inventory, run: &str, drive: &str, purpose: Use, verdict: Verdict) -> Evidence {
    let fast = Some(within(1e9, 0.01));
    let mut measures = Measures {
        reads: fast.clone(),
        writes: fast.clone(),
        random_reads: fast.clone(),
        random_writes: fast,
        longest_stop: Some(0.01),
        watched_stops: true,
        ..Measures::default()
    };
    match verdict {
        Verdict::Unfit(Need::Stops, seconds) => measures.longest_stop = Some(seconds),
        Verdict::Unfit(_, value) => measures.random_writes = Some(within(value, 0.0)),
        Verdict::Undecided(..) => measures.watched_stops = false,
        Verdict::Fit => {}
    }
    assert_eq!(measures.verdict(purpose), verdict);
    Evidence { measures: Some(measures), ..of(inventory, run, &[drive]) }
}

/// What all evidence of these drives, by the kernel's names, has in common.
pub fn of(inventory: &Inventory, run: &str, drives: &[&str]) -> Evidence {
    let drives: Vec<&Drive> = drives.iter().map(|name| drive(inventory, name)).collect();
    Evidence {
        run: run.to_owned(),
        at: "2026-11-21T10:00:00Z".to_owned(),
        board: inventory.machine.board.clone(),
        target: drives.iter().map(|d| d.name.clone()).collect(),
        drives: drives.iter().map(|d| d.identity()).collect(),
        bays: drives.iter().map(|d| d.full_bay()).collect(),
        ..Evidence::default()
    }
}

pub fn drive<'a>(inventory: &'a Inventory, name: &str) -> &'a Drive {
    inventory.drives.iter().find(|d| d.name == name).expect("a drive of this name")
}

fn mean(mb: &[f64]) -> Estimate {
    repeat::mean(mb).expect("runs")
}

/// A drive's filesystem mounted here.
pub fn mount(inventory: &mut Inventory, name: &str, path: &str) {
    let device = drive(inventory, name).device;
    inventory.mounts.push(Mount {
        path: path.to_owned(),
        root: "/".to_owned(),
        source: format!("/dev/{name}"),
        filesystem: "ext4".to_owned(),
        options: vec!["rw".to_owned()],
        device,
        space: None,
    });
}

/// Four sticks on a Zero 2 W, 4 KiB at depth 1: three runs each, the 99.99th percentile of writes.
pub fn four_sticks() -> (Inventory, Vec<Evidence>) {
    let inventory = fixtures::pi_zero().inventory();
    let sticks = [
        ("sda", [1.931, 1.927, 1.936], 0.4425, [6.651, 6.617, 6.565]),
        ("sdb", [3.862, 3.816, 3.897], 2.60047, [7.256, 7.258, 7.262]),
        ("sdc", [2.428, 2.420, 2.433], 0.06973, [6.401, 6.401, 6.404]),
        ("sdd", [2.238, 2.371, 2.354], 0.89339, [6.389, 6.386, 6.391]),
    ];
    let each = |(name, writes, longest, reads): &(&str, [f64; 3], f64, [f64; 3])| {
        [
            alone(&inventory, "r000", name, load(false, 4096, 1), mean(writes), Some(*longest)),
            alone(&inventory, "r000", name, load(true, 4096, 1), mean(reads), None),
        ]
    };
    let evidence = sticks.iter().flat_map(each).collect();
    (inventory, evidence)
}

/// A Pi with 100 Mb/s Ethernet on its USB bus, and two sticks; alone and at once, ten runs each.
pub fn two_sticks() -> (Inventory, Vec<Evidence>) {
    let mut inventory = fixtures::pi_3().inventory();
    inventory.drives.retain(|d| d.name != "sdb");
    let mut twin = drive(&inventory, "sda").clone();
    (twin.name, twin.device, twin.serial, twin.bay) =
        ("sdb".to_owned(), (8, 16), Some("4C530002".to_owned()), Some("1.3".to_owned()));
    (twin.partitions, twin.sectors) = (Vec::new(), 7_831_552);
    let one = inventory.drives.iter().position(|d| d.name == "sda").expect("a stick");
    (inventory.drives[one].partitions, inventory.drives[one].sectors) = (Vec::new(), 7_831_552);
    inventory.drives.insert(one + 1, twin);
    inventory.machine.board = Some("Raspberry Pi Model B Rev 2".to_owned());
    inventory.machine.soc = Some("bcm2835".to_owned());
    inventory.machine.compatible = vec!["raspberrypi,model-b-rev2".to_owned(), "brcm,bcm2835".to_owned()];
    mount(&mut inventory, "sda", "/mnt/a");
    mount(&mut inventory, "sdb", "/mnt/b");
    let of = |drive, reads, mb| {
        alone(&inventory, "r002", drive, load(reads, 128 * 1024, 1), within(mb, 0.05), None)
    };
    let both = |reads, sum, single| {
        at_once(&inventory, "r002", &["sda", "sdb"], load(reads, 128 * 1024, 1), within(sum, 0.05), single)
    };
    let evidence = vec![
        of("sda", true, 14.98),
        of("sda", false, 5.23),
        of("sdb", true, 14.04),
        of("sdb", false, 5.25),
        both(true, 25.72, 29.02),
        both(false, 10.10, 10.48),
    ];
    (inventory, evidence)
}

/// A Pi 4 with an SD card and a USB 3 flash drive, 4 KiB at depth 64, four runs each.
pub fn card_and_flash() -> (Inventory, Vec<Evidence>) {
    let mut inventory = fixtures::pi_4().inventory();
    inventory.drives.retain(|d| d.name != "sdb");
    let one = inventory.drives.iter().position(|d| d.name == "sda").expect("a drive");
    (inventory.drives[one].model, inventory.drives[one].removable) = (Some("Ultra Fit".to_owned()), true);
    let mb = |mib: [f64; 4]| mean(&mib.map(|m| m * MIB as f64 / 1e6));
    let of = |drive, reads, mib| alone(&inventory, "r003", drive, load(reads, 4096, 64), mb(mib), None);
    let evidence = vec![
        of("mmcblk0", true, [39.5, 39.3, 39.4, 39.3]),
        of("mmcblk0", false, [21.2, 20.0, 20.1, 20.5]),
        of("sda", true, [130.0, 148.0, 166.0, 166.0]),
        of("sda", false, [56.6, 56.4, 56.2, 46.6]),
    ];
    (inventory, evidence)
}

/// The same at random.
pub fn random(reads: bool, block: u64, depth: u32) -> LoadKey {
    LoadKey { pattern: Some(Pattern::Random), ..load(reads, block, depth) }
}

/// A run of one load at an hour of a day; the longest operation as in `alone`.
pub fn run(
    inventory: &Inventory,
    hour: u32,
    drive: &str,
    load: LoadKey,
    mb: f64,
    longest: Option<f64>,
) -> Evidence {
    let one = alone(inventory, &format!("r{hour:02}"), drive, load, within(mb, 0.02), longest);
    Evidence { at: format!("2026-11-21T{hour:02}:00:00Z"), ..one }
}

/// Large blocks favour one stick, small sequential ones the other, small random ones the first again.
pub fn two_with_all_loads() -> (Inventory, Vec<Evidence>) {
    let inventory = two_sticks().0;
    let one = |drive: &str, speeds: [f64; 5], stall: f64| {
        let loads = [
            (load(false, MIB, 1), Some(0.2)),
            (load(false, 4096, 1), Some(0.02)),
            (random(false, 4096, 1), Some(stall)),
            (random(false, 4096, 32), Some(stall * 20.0)),
            (load(true, MIB, 1), Some(0.01)),
        ];
        let each = loads.into_iter().zip(speeds).zip(1..);
        each.map(|(((load, longest), mb), hour)| run(&inventory, hour, drive, load, mb, longest))
            .collect::<Vec<_>>()
    };
    let first = one("sda", [20.0, 1.0, 0.5, 0.6, 25.0], 0.3);
    let all = [first, one("sdb", [10.0, 5.0, 0.1, 0.9, 30.0], 0.9)].concat();
    (inventory, all)
}

/// All that is said on a topic, in one line.
pub fn said(answers: &[Answer], topic: Topic) -> String {
    let own = answers.iter().filter(|a| a.topic == topic);
    own.map(|a| format!("{} {}", a.says, a.because.join(" "))).collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}
