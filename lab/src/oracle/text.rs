//! Prints the expected and observed results in 80 columns.

use std::{fmt::Write, path::Path};

use drivebench_modelled::sim::Cause;

use super::{
    model::{self, DriveTruth, Speeds},
    observed::{Limit, Run, runs},
};
use crate::{
    ledger::{self, Kind},
    scenario::{SECTOR, Scenario},
};

const WIDTH: usize = 80;

/// The pause that separates runs of one kind, s.
const PAUSE: f64 = 0.5;

/// Runs of fewer bytes are only counted, not listed.
const LITTLE: u64 = 1 << 20;

/// What an ideal observer would report of `scenario`, and of the ledgers in `directory` where there is one.
pub fn describe(scenario: &Scenario, directory: Option<&Path>) -> csv::Result<String> {
    let drives = model::drives(scenario);
    let mut text = wrap(&format!("{}: {}", scenario.name, scenario.title), "");
    if scenario.speed != 1.0 {
        text += &format!("Everything is {} times as fast as the scenario says.\n", scenario.speed);
    }
    text += "\nSustained, each drive alone, where it begins, stalls included:\n";
    text += &speeds(&drives);
    for (drive, facts) in drives.iter().map(|d| (d, facts(scenario, d))).filter(|(_, f)| !f.is_empty()) {
        text += &format!("\n{}\n", drive.bay);
        for fact in facts {
            text += &wrap(&format!("- {fact}"), "  ");
        }
    }
    let buses = buses(scenario, &drives);
    if !buses.is_empty() {
        text += "\nAll at once:\n";
        text += &buses;
    }
    if let Some(directory) = directory {
        text += "\nWhat the drives did, from their ledgers:\n";
        text += &observed(scenario, directory)?;
    }
    Ok(text)
}

fn speeds(drives: &[DriveTruth]) -> String {
    let serial = drives.iter().map(|d| d.serial.len()).max().unwrap_or_default().max(6);
    let mut text =
        format!("{:<6} {:<serial$} {:>10}  {:^16}     {}\n", "", "", "", "read MB/s", "write MB/s");
    let _ = writeln!(
        text,
        "{:<6} {:<serial$} {:>10}  {:>7} {:>8}  {:>7} {:>8}",
        "bay", "serial", "sectors", "4 KiB", "large", "4 KiB", "large"
    );
    for d in drives {
        let pair = |s: &Speeds| format!("{:>7} {:>8}", number(s.small / 1e6), number(s.large / 1e6));
        let (read, write) = (pair(&d.read), pair(&d.write));
        let _ = writeln!(text, "{:<6} {:<serial$} {:>10}  {read}  {write}", d.bay, d.serial, d.sectors);
    }
    let mut sizes: Vec<u64> = drives.iter().map(|d| d.large >> 10).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    text + &wrap(
        &format!(
            "4 KiB: one at a time. Large: in pieces of {} KiB, as they reach the drive.",
            sizes.join(" or ")
        ),
        "",
    )
}

/// Other properties of a drive.
fn facts(scenario: &Scenario, truth: &DriveTruth) -> Vec<String> {
    let mut facts = Vec::new();
    let Some(drive) = scenario.drives.iter().find(|d| d.bay == truth.bay) else { return facts };
    let model = drive.model.faster(scenario.speed);
    if let Some(real) = drive.real_sectors {
        let (real, claimed) = (real * SECTOR, truth.sectors * SECTOR);
        facts.push(format!(
            "holds {} GB of the {} GB that it claims; what is written beyond is lost",
            number(real as f64 / 1e9),
            number(claimed as f64 / 1e9)
        ));
    }
    if let Some(cache) = truth.cache {
        facts.push(format!(
            "the first {} MiB are written at {} MB/s; its cache of {} MiB empties at {} MB/s at rest",
            number(cache.free / 1_048_576.0),
            number(cache.rate / 1e6),
            number(cache.bytes / 1_048_576.0),
            number(cache.drain / 1e6),
        ));
    }
    for (what, speeds) in [("writes", &truth.write), ("reads", &truth.read)] {
        for s in &speeds.stalls {
            let (seconds, every) = (number(s.seconds), number(s.every / 1e6));
            facts.push(match s.burst {
                b if b > 1.0 => {
                    format!("{what} stall for {seconds} s, about {b:.0} times in a row, every {every} MB")
                }
                _ => format!("{what} stall for {seconds} s every {every} MB"),
            });
        }
    }
    if truth.read.large_at_end != truth.read.large || truth.write.large_at_end != truth.write.large {
        facts.push(format!(
            "where it ends it reads at {} and writes at {} MB/s",
            number(truth.read.large_at_end / 1e6),
            number(truth.write.large_at_end / 1e6)
        ));
    }
    if model.seek_seconds > 0.0 {
        facts.push(format!(
            "moving elsewhere takes {} ms: 4 KiB here and there are read at {} and written at {} MB/s",
            number(model.seek_seconds * 1e3),
            number(truth.read.small_random / 1e6),
            number(truth.write.small_random / 1e6)
        ));
    }
    if model.flush_seconds > 0.0 {
        facts.push(format!("a flush takes {} ms", number(model.flush_seconds * 1e3)));
    }
    if let Some(s) = model.standby {
        facts.push(format!(
            "falls asleep after {} s; waking takes {} s",
            number(s.after_seconds),
            number(s.wake_seconds)
        ));
    }
    for (what, extents) in [
        ("can't be read", &model.faults.unreadable),
        ("can't be written", &model.faults.unwritable),
        ("reads back wrong", &model.faults.corrupt),
    ] {
        for e in extents {
            facts.push(format!("what stands in {} bytes at {} {what}", e.length, e.offset));
        }
    }
    if let Some(bytes) = model.faults.dies_after {
        facts.push(format!("dies after {} MB", number(bytes as f64 / 1e6)));
    }
    if let Some(bytes) = model.faults.volatile {
        facts.push(format!(
            "loses its last {} MB of writes with the power, flushed or not",
            number(bytes as f64 / 1e6)
        ));
    }
    for (share, what) in
        [(model.faults.drops, "writes are forgotten"), (model.faults.flips, "reads have a wrong bit")]
    {
        if share > 0.0 {
            facts.push(format!("{} % of {what}", number(share * 100.0)));
        }
    }
    facts
}

fn buses(scenario: &Scenario, drives: &[DriveTruth]) -> String {
    let mut text = String::new();
    for (ceiling, on) in model::sums(scenario, drives).filter(|(_, on)| !on.is_empty()) {
        let rate = ceiling.rate * scenario.speed;
        let sum = |of: fn(&DriveTruth) -> f64| on.iter().map(|d| of(d)).sum::<f64>();
        let [read, write] = [sum(|d| d.read.large), sum(|d| d.write.large)];
        let what = match (read > rate, write > rate) {
            (true, true) => "it limits reads and writes",
            (true, false) => "it limits reads",
            (false, true) => "it limits writes",
            (false, false) => "it limits nothing",
        };
        let bays: Vec<&str> = on.iter().map(|d| d.bay.as_str()).collect();
        let line = format!(
            "- {} ({}) carries {} MB/s; the drives could read {} and write {} MB/s: {what}",
            ceiling.name,
            bays.join(", "),
            number(rate / 1e6),
            number(read / 1e6),
            number(write / 1e6)
        );
        text += &wrap(&line, "  ");
    }
    text
}

fn observed(scenario: &Scenario, directory: &Path) -> csv::Result<String> {
    let mut ledgers = Vec::new();
    for drive in &scenario.drives {
        let path = directory.join(format!("{}.ledger.csv", drive.bay));
        ledgers.push((drive.bay.as_str(), if path.exists() { ledger::read(&path)? } else { Vec::new() }));
    }
    let zero = ledgers.iter().flat_map(|(_, entries)| entries).map(|e| e.start_ns).min().unwrap_or_default();
    let mut text = format!(
        "{:<6} {:<5} {:>7} {:>7} {:>6} {:>6} {:>5} {:>23}  {}\n{:<6} {:<5} {:>7} {:>7} {:>6} {:>6} {:>5} {:>7} {:>7} {:>7}\n",
        "",
        "",
        "from",
        "took",
        "",
        "",
        "busy",
        "latency ms  ",
        "limit",
        "bay",
        "",
        "s",
        "s",
        "MiB",
        "MB/s",
        "%",
        "50 %",
        "99 %",
        "99.99 %",
    );
    let mut stalls = String::new();
    let mut little = 0;
    for (bay, entries) in &ledgers {
        let mut all: Vec<Run> =
            [Kind::Read, Kind::Write].iter().flat_map(|k| runs(entries, *k, PAUSE)).collect();
        all.sort_by_key(|run| run.from_ns);
        for run in all {
            if run.bytes < LITTLE && run.failed == 0 {
                little += 1;
                continue;
            }
            text += &line(bay, &run, zero);
            stalls += &stalled(bay, &run, zero);
        }
    }
    if little > 0 {
        let _ = writeln!(text, "and {little} runs of less than 1 MiB");
    }
    if !stalls.is_empty() {
        text += "\nStalls:\n";
        text += &stalls;
    }
    Ok(text)
}

fn line(bay: &str, run: &Run, zero: u64) -> String {
    let kind = if run.kind == Kind::Write { "write" } else { "read" };
    let ms = |p| number(run.latency_ns(p) as f64 / 1e6);
    let limit = match run.limit {
        Limit::Asker => "asker",
        Limit::Drive(Cause::Medium) => "medium",
        Limit::Drive(Cause::Cache) => "cache",
        Limit::Drive(Cause::Stall) => "stalls",
        Limit::Drive(Cause::Wake) => "waking",
        Limit::Drive(Cause::Bus) => "bus",
        Limit::Drive(Cause::Flush) => "flush",
    };
    let mut text = format!(
        "{bay:<6} {kind:<5} {:>7.1} {:>7} {:>6} {:>6} {:>5.1} {:>7} {:>7} {:>7}  {limit}",
        (run.from_ns - zero) as f64 / 1e9,
        number(run.seconds()),
        number(run.bytes as f64 / 1_048_576.0),
        number(run.throughput() / 1e6),
        run.busy_seconds / run.seconds() * 100.0,
        ms(0.5),
        ms(0.99),
        ms(0.9999),
    );
    if run.failed > 0 {
        let _ = write!(text, "\n{:<6} {} operations failed", "", run.failed);
    }
    text + "\n"
}

fn stalled(bay: &str, run: &Run, zero: u64) -> String {
    let Some(longest) = run.stalls.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) else {
        return String::new();
    };
    let sum: f64 = run.stalls.iter().map(|s| s.seconds).sum();
    let kind = if run.kind == Kind::Write { "write" } else { "read" };
    wrap(
        &format!(
            "- {bay} {kind} from {:.1} s on: {} stalls, {} s in all; the longest {} s, at {:.1} s, {} MB into the \
             drive",
            (run.from_ns - zero) as f64 / 1e9,
            run.stalls.len(),
            number(sum),
            number(longest.seconds),
            (longest.at_ns - zero) as f64 / 1e9,
            number(longest.offset as f64 / 1e6),
        ),
        "  ",
    )
}

/// Three significant digits, or all digits before the point.
fn number(x: f64) -> String {
    match x.abs() {
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        a if a >= 0.9995 || a == 0.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

fn wrap(text: &str, indent: &str) -> String {
    textwrap::fill(text, textwrap::Options::new(WIDTH).subsequent_indent(indent)) + "\n"
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::ledger::{Entry, Writer};

    fn shipped(name: &str) -> Scenario {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
        Scenario::read(&path).unwrap()
    }

    #[test]
    fn expected_results_of_the_sticks_of_the_post() {
        insta::assert_snapshot!(describe(&shipped("pi-zero.toml"), None).unwrap());
    }

    #[test]
    fn observed_results_of_a_drive() {
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = Writer::open(&directory.path().join("sata1.ledger.csv")).unwrap();
        let mut at = 5_000_000_000;
        for i in 0..20 {
            let took = if i == 0 { 3_517_000_000 } else { 17_000_000 };
            let entry = Entry {
                asked_ns: at + 100_000,
                start_ns: at,
                end_ns: at + took,
                answered_ns: at + took,
                kind: if i < 18 { Kind::Read } else { Kind::Write },
                offset: i << 20,
                length: 1 << 20,
                cause: if i == 0 { Cause::Wake } else { Cause::Medium },
                failed: i == 17,
            };
            ledger.add(&entry).unwrap();
            at += took;
        }
        let text = describe(&shipped("sleepy-disk.toml").faster(2.0), Some(directory.path())).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn reports_fit_80_columns() {
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        for entry in directory.read_dir().unwrap() {
            let name = entry.unwrap().file_name();
            let text = describe(&shipped(name.to_str().unwrap()), None).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
    }
}
