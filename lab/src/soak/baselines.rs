//! The default baseline of drives of shipped scenarios, compared with their ledgers.

use std::time::Duration;

use serde_json::Value;

use super::{Summary, rounds};
use crate::{
    Machine, MachineError, Options, Scenario,
    ledger::{Entry, Kind},
    oracle::{Run, runs},
};

/// The most that the suite may take, and time to start and end it.
const LIMIT: Duration = Duration::from_secs(420);

/// The largest operation of a random load, bytes; the pieces of large blocks are larger.
const SMALL: u64 = 4096;

/// Loads of the suite in the order in which it runs them: name, kind of operation, whether they are small.
const LOADS: [(&str, Kind, bool); 6] = [
    ("SEQ1M write", Kind::Write, false),
    ("SEQ1M read", Kind::Read, false),
    ("RND4K Q1 read", Kind::Read, true),
    ("RND4K Q1 write", Kind::Write, true),
    ("RND4K Q32 read", Kind::Read, true),
    ("RND4K Q32 write", Kind::Write, true),
];

/// Measures each drive of the scenarios in turn, each in a machine of its own. A round fails where the speed by the ledger is
/// outside a load's interval: the same operations by another clock, so that only noise between the two can be the cause.
pub fn baselines(options: &Options, scenarios: &[Scenario], times: u32) -> Summary {
    let drives: Vec<(&Scenario, usize)> =
        scenarios.iter().flat_map(|s| (0..s.drives.len()).map(move |i| (s, i))).collect();
    let mut lines = Vec::new();
    let summary = rounds(times, 1, |round, _| {
        let &(scenario, drive) = &drives[(round as usize - 1) % drives.len()];
        let scenario = Scenario { seed: round.into(), ..scenario.clone() };
        let machine = Machine::start(&scenario, options)?;
        measure(&machine, drive, &mut lines)
    });
    Summary { lines, ..summary }
}

/// The ratio of measured to true speed that is furthest from 1.
fn measure(machine: &Machine, drive: usize, lines: &mut Vec<String>) -> Result<Option<f64>, MachineError> {
    let of = &machine.scenario().drives[drive];
    let name = format!("{} {}", machine.scenario().name, of.bay);
    let label = of.filesystem.as_ref().map(|filesystem| filesystem.label.as_str());
    let label = label.ok_or_else(|| MachineError::new(&name, "it has no filesystem"))?;
    let directory = format!("/mnt/{label}");
    let running = machine.begin(&["drivebench", "run", "baseline", &directory, "--format", "json"])?;
    let output = running.wait(LIMIT).map_err(|e| machine.wrong("the baseline", e))?.text();
    let found: Value = serde_json::from_str(&output).map_err(|e| machine.wrong("the findings", e))?;
    let (seconds, written) = (&found["spent"]["seconds"], &found["spent"]["written"]);
    let megabytes = |bytes: f64| bytes / 1e6;
    lines.push(format!(
        "{name}: {:.0} s, {:.0} MB written",
        seconds.as_f64().unwrap_or_default(),
        megabytes(written.as_f64().unwrap_or_default())
    ));
    let entries = machine.ledger(drive)?;
    let (mut worst, mut outside) = (1.0_f64, Vec::new());
    for (load, kind, small) in LOADS {
        let estimates = found["estimates"].as_array().into_iter().flatten();
        let estimates = estimates.filter(|e| e["quantity"] == "throughput" && e["load"]["name"] == load);
        let estimate = estimates.map(|e| &e["estimate"]).next();
        let number = |field: &str| estimate.and_then(|e| e[field].as_f64());
        let value = number("value").ok_or_else(|| MachineError::new(load, "no such number"))?;
        // An open end is no number in JSON.
        let (low, high) = (number("low").unwrap_or(0.0), number("high").unwrap_or(f64::INFINITY));
        let truth = truth(&entries, load, kind, small)
            .ok_or_else(|| MachineError::new(load, "the ledger has no such operations"))?;
        let inside = (low..=high).contains(&truth);
        let line = format!(
            "{load}: {:.3} MB/s ({:.3}–{:.3}), ledger {:.3}, {}",
            megabytes(value),
            megabytes(low),
            megabytes(high),
            megabytes(truth),
            if inside { "inside" } else { "outside" }
        );
        outside.extend((!inside).then(|| line.clone()));
        lines.push(format!("  {line}"));
        if (value / truth - 1.0).abs() > (worst - 1.0).abs() {
            worst = value / truth;
        }
    }
    match outside.is_empty() {
        true => Ok(Some(worst)),
        false => Err(MachineError::new(&name, outside.join("; "))),
    }
}

/// The speed of a load by the ledger: its operations are the runs that moved the most, in the order of the suite.
fn truth(entries: &[Entry], load: &str, kind: Kind, small: bool) -> Option<f64> {
    let alike: Vec<&str> = LOADS.iter().filter(|l| (l.1, l.2) == (kind, small)).map(|l| l.0).collect();
    let entries: Vec<Entry> =
        whole(entries, kind).into_iter().filter(|e| (e.length <= SMALL) == small).collect();
    // The drive is busy during a stall; a longer pause separates later operations of the filesystem.
    let mut found: Vec<Run> = runs(&entries, kind, 0.3);
    found.sort_by_key(|run| std::cmp::Reverse(run.bytes));
    found.truncate(alike.len());
    found.sort_by_key(|run| run.from_ns);
    let at = alike.iter().position(|name| *name == load)?;
    found.get(at).map(Run::throughput)
}

/// Operations of one kind, without the cuts of buses and hosts: SD hosts ask for 512 B at a time.
fn whole(entries: &[Entry], kind: Kind) -> Vec<Entry> {
    let mut whole: Vec<Entry> = Vec::new();
    for e in entries.iter().filter(|e| e.kind == kind) {
        match whole.last_mut() {
            Some(last) if last.offset + last.length == e.offset && last.length < SMALL * 4 => {
                last.length += e.length;
                last.end_ns = e.end_ns;
            }
            _ => whole.push(*e),
        }
    }
    whole
}
