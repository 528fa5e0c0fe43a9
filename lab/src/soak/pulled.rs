//! `drivebench run pull`: each layout loses each of its drives while files are used.

use std::time::Duration;

use serde_json::Value;

use super::{Summary, rounds};
use crate::{
    Machine, MachineError, Options, Scenario,
    pools::{LAYOUTS, clean, named, prepare, require},
};

/// Four drives of a layout, one after the other.
const LIMIT: Duration = Duration::from_secs(3600);

/// `times` layouts in turn, from the number `seed` on, each over four drives of which each is pulled and plugged in again. A round
/// fails if a layout with copies or parity loses anything, or one without does after all its drives are back.
pub fn pulled(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |round, _| {
        let layout = LAYOUTS[(seed.max(1) as usize + round as usize - 2) % LAYOUTS.len()];
        one(options, scenario, layout, round, &mut lines).map(|()| None)
    });
    Summary { lines, ..summary }
}

fn one(
    options: &Options,
    scenario: &Scenario,
    layout: &str,
    round: u32,
    lines: &mut Vec<String>,
) -> Result<(), MachineError> {
    let machine = Machine::start(scenario, options)?;
    prepare(&machine)?;
    let all: Vec<usize> = (0..4).collect();
    let (bays, erase) = named(&machine, &all);
    let run = format!(
        "drivebench run pull --layouts {layout} --size 96MiB --chunk 64k --runtime 4s --seed {round} {bays} {erase} --format json \
         2>/work/said || {{ tail -n 5 /work/said >&2; false; }}"
    );
    let output = machine.run(&["sh", "-c", &run], LIMIT)?;
    require(&machine, output.code == 0, &run, String::from_utf8_lossy(&output.stderr))?;
    let findings: Value = serde_json::from_str(&output.text()).map_err(|e| machine.wrong("findings", e))?;
    let texts = |key: &str| {
        let all = findings[key].as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let verdict = texts("verdicts").join(" ");
    lines.push(format!("{layout}: {verdict}"));
    for table in findings["tables"].as_array().into_iter().flatten() {
        for row in table["rows"].as_array().into_iter().flatten() {
            let cells = row.as_array().into_iter().flatten().filter_map(Value::as_str);
            lines.push(format!("  {}", cells.collect::<Vec<_>>().join(" | ")));
        }
    }
    let kept = match layout {
        "linear" | "raid0" => verdict.contains("in 4 of 4, no file and no synced writes"),
        _ => verdict.starts_with(&format!("{layout} survived 4 pulls of one drive")),
    };
    require(&machine, kept, "the verdict", verdict)?;
    clean(&machine, &all, layout)
}
