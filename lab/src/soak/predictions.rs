//! How far predictions of layouts are from what is measured of them, in machines that are slow enough for their emulation.

use std::time::Duration;

use serde_json::Value;

use super::{Summary, rounds};
use crate::{
    Machine, MachineError, Options, Scenario,
    pools::{named, prepare, require, serial},
};

/// Drives and buses have this share of their speed: at full speed the emulated processor limits, and no model knows it.
const SPEED: f64 = 0.4;

/// Seconds of a run, and how many of the longest stalls fit into one: what stalls once in a while is slower on average than
/// in a run without a stall.
const RUNTIME: f64 = 5.0;
const STALLS: f64 = 12.0;

/// Five slow drives take an hour, drives that stall twice that.
const LIMIT: Duration = Duration::from_secs(4 * 3600);

/// Runs `drivebench run layouts` on all drives of each scenario in turn, from the one with the number `seed` on: medians of
/// three, six loads, all layouts.
pub fn predictions(options: &Options, scenarios: &[Scenario], times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |round, _| {
        let scenario = &scenarios[(seed.max(1) as usize + round as usize - 2) % scenarios.len()];
        one(options, scenario.clone(), &mut lines).map(Some)
    });
    Summary { lines, ..summary }
}

/// The mean error, as a share.
fn one(options: &Options, scenario: Scenario, lines: &mut Vec<String>) -> Result<f64, MachineError> {
    // At a share of the speed stalls take longer, and runs with enough of them would take hours. Drives that stall are slow ones.
    let stalls = scenario.drives.iter().any(|drive| !drive.model.stalls.is_empty());
    let mut scenario = if stalls { scenario } else { scenario.faster(SPEED) };
    scenario.drives.iter_mut().for_each(|drive| drive.filesystem = None);
    let machine = Machine::start(&scenario, options)?;
    prepare(&machine)?;
    let all: Vec<usize> = (0..scenario.drives.len()).collect();
    let (_, erase) = named(&machine, &all);
    let drives = all.iter().map(|i| serial(&machine, *i)).collect::<Vec<_>>().join(" ");
    let runtime = runtime(&scenario);
    let run = format!(
        "drivebench run layouts --quick --size 192MiB --runtime {runtime:.0}s --runs 3 {drives} {erase} --format json 2>/work/said || \
         {{ tail -n 5 /work/said >&2; false; }}"
    );
    let output = machine.run(&["sh", "-c", &run], LIMIT)?;
    require(&machine, output.code == 0, &run, String::from_utf8_lossy(&output.stderr))?;
    let text = output.text();
    let findings: Value = serde_json::from_str(&text).map_err(|e| machine.wrong("findings", e))?;
    let mut errors = Vec::new();
    // What is predicted of linear was measured of its first drive.
    let predictions =
        speeds(&findings, "predicted").into_iter().filter(|(name, _)| !name.starts_with("linear "));
    for (name, predicted) in predictions {
        let measured = speeds(&findings, "whole").into_iter().find(|(other, _)| *other == name);
        let (_, measured) =
            measured.ok_or_else(|| machine.wrong("findings", format!("{name} is missing")))?;
        let error = predicted / measured - 1.0;
        lines.push(format!("{name}: {measured:.0} B/s, predicted {predicted:.0}, {:+.1} %", error * 100.0));
        errors.push((error, name));
    }
    let mean = errors.iter().map(|(error, _)| error.abs()).sum::<f64>() / errors.len() as f64;
    let worst = errors.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let (worst, name) = worst.ok_or_else(|| machine.wrong("findings", "nothing was predicted"))?;
    lines.push(format!(
        "{}: runs of {runtime:.0} s, {} speeds, off by {:.1} % on average, {:+.1} % at most ({name})",
        scenario.title,
        errors.len(),
        mean * 100.0,
        worst * 100.0
    ));
    Ok(mean)
}

fn runtime(scenario: &Scenario) -> f64 {
    let board = scenario.board();
    let stalls = board.drives.iter().flat_map(|drive| &drive.stalls);
    stalls.map(|stalls| stalls.seconds * STALLS).fold(RUNTIME, f64::max)
}

/// The speed of each layout and load in this scope, bytes per second.
fn speeds(findings: &Value, scope: &str) -> Vec<(String, f64)> {
    let all = findings["estimates"].as_array().into_iter().flatten().filter(|m| m["scope"] == scope);
    let speed = |m: &Value| {
        let name = format!("{} {}", m["target"].as_str()?, m["load"]["name"].as_str()?);
        Some((name, m["estimate"]["value"].as_f64()?))
    };
    all.filter_map(speed).collect()
}
