//! Long campaigns: repeat a test many times with random variations.

mod baselines;
mod boots;
mod by_hand;
mod lying;
mod pools;
mod power;
mod predictions;
mod pulled;
mod reboots;
mod shares;
mod swap;
mod watch;

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use drivebench_modelled::sim::{Model, Noise, Stalls, Zone};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

pub use baselines::baselines;
pub use boots::{Meanwhile, boot_media, boot_series, boots};
pub use by_hand::shares_by_hand;
pub use lying::lying;
pub use pools::{joined, layouts, pools};
pub use power::{cut_once, lost_power, write_hole};
pub use predictions::predictions;
pub use pulled::{By, pulled};
pub use reboots::{Pool, reboot, reboots};
pub use shares::{CRASHED, share_kills, shares};
pub use swap::{CONTROL_GROUPS, swap_kills, swap_media};
pub use watch::watched_boots;

use crate::{
    Machine, MachineError, Options, Scenario,
    ledger::{Entry, Kind},
    oracle::{Run, runs},
    scenario::Machine as Board,
};

/// The time limit for a step in the guest.
const LIMIT: Duration = Duration::from_secs(180);

/// The result of a campaign.
#[derive(Debug, Default)]
pub struct Summary {
    /// Completed rounds.
    pub rounds: u32,
    /// Failures: the round and the reason.
    pub failures: Vec<(u32, String)>,
    /// A figure per round, such as the ratio of a measured speed to the true one.
    pub figures: Vec<f64>,
    /// What was measured, in words.
    pub lines: Vec<String>,
}

impl Summary {
    /// In words.
    pub fn describe(&self, what: &str) -> String {
        let mut text = self.lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let _ = writeln!(text, "{what}: {} rounds, {} failed", self.rounds, self.failures.len());
        for (round, why) in &self.failures {
            let _ = writeln!(text, "  round {round}: {why}");
        }
        let mut figures = self.figures.clone();
        figures.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (figures.first(), figures.last()) {
            let median = figures[figures.len() / 2];
            let _ = writeln!(text, "  figures {least:.3} to {most:.3}, median {median:.3}");
        }
        text
    }
}

/// Runs a function `times` times, counted from 1, and says on stderr how far that came: whoever ends it early knows. The same seed gives the same random
/// numbers.
#[allow(clippy::print_stderr, reason = "a campaign takes hours, and its summary comes at the end")]
fn rounds(
    times: u32,
    seed: u64,
    mut one: impl FnMut(u32, &mut Xoshiro256PlusPlus) -> Result<Option<f64>, MachineError>,
) -> Summary {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut summary = Summary::default();
    for round in 1..=times {
        match one(round, &mut random) {
            Ok(figure) => {
                eprintln!("{round} of {times}: as expected");
                summary.figures.extend(figure);
            }
            Err(e) => {
                eprintln!("{round} of {times}: {e}");
                summary.failures.push((round, e.to_string()));
            }
        }
        summary.rounds += 1;
    }
    summary
}

/// Pulls drives of `machine` during I/O, and puts them into a random bay.
pub fn pulls(machine: &mut Machine, times: u32, seed: u64) -> Summary {
    rounds(times, seed, |_, random| pull(machine, random).map(|()| None))
}

fn pull(machine: &mut Machine, random: &mut impl Rng) -> Result<(), MachineError> {
    let drives = machine.scenario().drives.clone();
    let usb: Vec<usize> = (0..drives.len()).filter(|&i| machine.bay(i).is_some()).collect();
    let &i = usb.choose(random).ok_or_else(|| machine.wrong("pull", "there is no USB drive"))?;
    let serial = drives[i].serial.as_str();
    // Bays of the scenario, and with a PC the free ones of the root hub.
    let mut bays: Vec<String> = drives.iter().map(|d| d.bay.clone()).collect();
    if machine.scenario().machine == Board::Q35 {
        bays.extend((5..=8).map(|port| port.to_string()));
    }
    bays.retain(|bay| (0..drives.len()).all(|other| other == i || machine.bay(other) != Some(bay)));
    let bay = bays.choose(random).cloned().unwrap_or_else(|| drives[i].bay.clone());

    let device = machine.ask(&["lab-device", serial])?.trim().to_owned();
    // Write to a descriptor: after the node is removed, writing to its path would create a file.
    let moves = match random.random() {
        true => "dd if=/proc/self/fd/3 of=/dev/null bs=64k count=4 iflag=direct",
        // The second GiB, which the filesystems of the scenario do not use.
        false => "dd if=/dev/zero of=/proc/self/fd/3 bs=64k seek=16384 count=4 conv=notrunc oflag=direct",
    };
    let load = format!("exec 3<>{device}; while {moves}; do echo moved; done");
    let load = machine.begin(&["sh", "-c", &load])?;
    load.await_words(LIMIT).map_err(|e| machine.wrong("the load on the drive", e))?;
    machine.pull(i)?;
    load.wait(LIMIT).map_err(|e| machine.wrong("the load on the drive that was pulled", e))?;
    let list = machine.ask(&["drivebench", "list"])?;
    if list.contains(serial) {
        return Err(machine.wrong("pull", format!("drive {serial} is still listed:\n{list}")));
    }
    machine.plug(i, &bay)?;
    machine.ask(&["lab-device", serial])?;
    let list = machine.ask(&["drivebench", "list"])?;
    match list.lines().any(|line| line.contains(&format!("bay {bay} ")) && line.contains(serial)) {
        true => Ok(()),
        false => Err(machine.wrong("pull", format!("drive {serial} isn't listed in bay {bay}:\n{list}"))),
    }
}

/// Cuts the power while a baseline runs on the first filesystem, with its records on the second.
pub fn power_cuts(machine: &mut Machine, times: u32, seed: u64) -> Summary {
    rounds(times, seed, |round, random| power_cut(machine, random, round).map(|()| None))
}

fn power_cut(machine: &mut Machine, random: &mut impl Rng, round: u32) -> Result<(), MachineError> {
    let script = "drivebench run baseline /mnt/a --store /mnt/b/store --events";
    let running = machine.begin(&["sh", "-c", script])?;
    running.await_words(LIMIT).map_err(|e| machine.wrong("the baseline", e))?;
    // A random delay before the power cut.
    std::thread::sleep(Duration::from_millis(random.random_range(0..5000)));
    machine.cut_power()?;
    let records =
        machine.ask(&["sh", "-c", "drivebench results list --store /mnt/b/store | grep -c 'cut off'"])?;
    if records.trim() != round.to_string() {
        return Err(machine.wrong("power cut", format!("{} records are marked as cut off", records.trim())));
    }
    let check = "umount /mnt/a && dev=$(findfs LABEL=a) && e2fsck -fn $dev && mount -o noinit_itable $dev /mnt/a && ls /mnt/a";
    let left = machine.ask(&["sh", "-c", check])?;
    match left.lines().last() {
        Some("lost+found") => Ok(()),
        _ => Err(machine.wrong("power cut", format!("something was left on the drive:\n{left}"))),
    }
}

/// Measures random drives, and compares drivebench's results with their ledgers. Failures are kept in
/// `keep`, with the scenario to repeat them.
pub fn random_drives(options: &Options, times: u32, seed: u64, keep: &Path) -> Summary {
    rounds(times, seed, |round, random| {
        let scenario = random_drive(random, round);
        let directory = keep.join(&scenario.name);
        let options = Options { keep: Some(directory.clone()), ..options.clone() };
        let result = measure_one(&scenario, &options, &directory);
        if result.is_ok() {
            // A failed removal does no harm.
            let _ = fs::remove_dir_all(&directory);
        } else if let Ok(text) = toml::to_string(&scenario) {
            let _ = fs::write(directory.join("scenario.toml"), text);
        }
        result
    })
}

fn random_drive(random: &mut impl Rng, round: u32) -> Scenario {
    let mut between = |low: f64, high: f64| (random.random_range(low.ln()..high.ln())).exp();
    let read = vec![Zone { from: 0, rate: between(8e6, 30e6) }];
    let write = vec![Zone { from: 0, rate: between(4e6, 20e6) }];
    let stalls = Stalls {
        every: between(4e6, 32e6),
        every_variation: between(0.1, 1.0),
        seconds: between(0.05, 1.0),
        seconds_variation: 0.1,
        ..Stalls::default()
    };
    let noise = Noise { variation: 0.03, memory: 0.5, run: 0.003 };
    let model =
        Model { read, write, noise, stalls: vec![stalls], operation_seconds: 0.5e-3, ..Model::default() };
    let drive = crate::scenario::Drive {
        bay: "1".to_owned(),
        vendor: "Lab".to_owned(),
        product: "Random".to_owned(),
        serial: format!("R{round}"),
        sectors: 8 << 21,
        filesystem: Some(crate::scenario::Filesystem { label: "a".to_owned() }),
        model,
        ..crate::scenario::Drive::default()
    };
    Scenario {
        name: format!("random-{round}"),
        seed: round.into(),
        drives: vec![drive],
        ..Scenario::default()
    }
}

/// A file that is written once and read once: what the ledger has of it is what was measured.
const ONCE: &str = r#"
name = "once"
loads = [
    { rw = "write", block = "128KiB", depth = 1, size = "64MiB" },
    { rw = "read", block = "128KiB", depth = 1, size = "64MiB" },
]
"#;

/// Operations of a kind on the blocks of the largest requests, which are those of the file. Pauses can't tell them from
/// the journal of the filesystem: a busy host makes pauses, too.
fn of_the_file(entries: &[Entry], kind: Kind) -> Vec<Entry> {
    let alike = || entries.iter().filter(|e| e.kind == kind);
    let large = || alike().filter(|e| e.length >= 64 << 10);
    let from = large().map(|e| e.offset).min();
    let to = large().map(|e| e.offset + e.length).max();
    alike().filter(|e| Some(e.offset) >= from && Some(e.offset) < to).copied().collect()
}

fn measure_one(scenario: &Scenario, options: &Options, keep: &Path) -> Result<Option<f64>, MachineError> {
    let machine = Machine::start(scenario, options)?;
    let suite = keep.join("once.toml");
    fs::write(&suite, ONCE).map_err(|e| MachineError::new("once.toml", e))?;
    machine.put(&suite, "/work/once.toml")?;
    let before = machine.ledger(0)?.len();
    let command = "drivebench run baseline /mnt/a --suite /work/once.toml --format json";
    let findings = machine.ask(&command.split(' ').collect::<Vec<_>>())?;
    let findings: Value = serde_json::from_str(&findings).map_err(|e| machine.wrong("the findings", e))?;
    let entries = machine.ledger(0)?.split_off(before);
    let mut worst: f64 = 1.0;
    for (name, kind) in [("write", Kind::Write), ("read", Kind::Read)] {
        let reported = findings["estimates"].as_array().into_iter().flatten();
        let reported = reported
            .filter(|e| e["name"] == format!("SEQ128K {name} throughput"))
            .find_map(|e| e["estimate"]["value"].as_f64());
        let reported = reported.ok_or_else(|| MachineError::new(name, "not among the estimates"))?;
        let truth = runs(&of_the_file(&entries, kind), kind, f64::INFINITY);
        let truth = truth.first().map(Run::throughput);
        let truth = truth.ok_or_else(|| MachineError::new(name, "the ledger has no such operations"))?;
        let ratio = reported / truth;
        if (ratio - 1.0).abs() > 0.05 {
            let why =
                format!("drivebench measured {:.2} MB/s, the ledger has {:.2}", reported / 1e6, truth / 1e6);
            return Err(MachineError::new(name, why));
        }
        if (ratio - 1.0).abs() > (worst - 1.0).abs() {
            worst = ratio;
        }
    }
    Ok(Some(worst))
}
