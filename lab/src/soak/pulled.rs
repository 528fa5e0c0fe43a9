//! `drivebench run pull`: each layout loses each of its drives while files are used.

use std::time::Duration;

use serde_json::Value;

use super::{Summary, rounds};
use crate::{
    Machine, MachineError, Options, Scenario,
    pools::{LAYOUTS, clean, named, prepare, require, sh},
};

/// Four drives of a layout, one after the other.
const LIMIT: Duration = Duration::from_secs(3600);

/// How drives are pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By drivebench: the USB device is de-authorised.
    Software,
    /// The modelled stick is pulled when drivebench asks for that, and plugged into a bay that was free.
    Hand,
}

/// `times` layouts in turn, from the number `seed` on, each over four drives of which each is pulled and plugged in again. A round
/// fails if a layout with copies or parity loses anything, or one without does after all its drives are back.
pub fn pulled(options: &Options, scenario: &Scenario, by: By, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |round, _| {
        let layout = LAYOUTS[(seed.max(1) as usize + round as usize - 2) % LAYOUTS.len()];
        one(options, scenario, layout, by, round, &mut lines).map(|()| None)
    });
    Summary { lines, ..summary }
}

fn one(
    options: &Options,
    scenario: &Scenario,
    layout: &str,
    by: By,
    round: u32,
    lines: &mut Vec<String>,
) -> Result<(), MachineError> {
    let mut machine = Machine::start(scenario, options)?;
    prepare(&machine)?;
    let all: Vec<usize> = (0..4).collect();
    let (bays, erase) = named(&machine, &all);
    let how = match by {
        By::Software => "",
        By::Hand => "--by hand",
    };
    let run = format!(
        "drivebench run pull --layouts {layout} --size 96MiB --chunk 64k --runtime 4s --seed {round} {how} {bays} {erase} --format json \
         2>/work/said || {{ tail -n 5 /work/said >&2; false; }}"
    );
    let running = machine.begin(&["sh", "-c", &run])?;
    if by == By::Hand {
        hands(&mut machine, &all)?;
    }
    let output = running.wait(LIMIT).map_err(|e| machine.wrong("run pull", e))?;
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
        "linear" | "raid0" => verdict.contains("(4 of 4), no file and no synced writes"),
        _ => verdict.starts_with(&format!("{layout} survived 4 pulls of one drive")),
    };
    require(&machine, kept, "the verdict", verdict)?;
    clean(&machine, &all, layout)
}

/// Does what drivebench asks for: pulls each drive, and plugs it into another bay.
fn hands(machine: &mut Machine, drives: &[usize]) -> Result<(), MachineError> {
    const FREE: &str = "8";
    let mut bay = FREE.to_owned();
    for (nth, &i) in drives.iter().enumerate() {
        let asked = |words: &str| {
            format!(
                "for i in $(seq 3000); do [ $(grep -c '{words}' /work/said) -gt {nth} ] && exit; sleep 0.2; done; \
                 tail -n 5 /work/said >&2; false"
            )
        };
        sh(machine, &asked("^ *Pull .* NOW"))?;
        let was = machine.bay(i).unwrap_or_default().to_owned();
        machine.pull(i)?;
        sh(machine, &asked("^ *Plug .* in again"))?;
        machine.plug(i, &bay)?;
        bay = was;
    }
    Ok(())
}
