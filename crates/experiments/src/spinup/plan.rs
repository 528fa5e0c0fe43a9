//! The options and the plan of spinup.

use super::{
    super::{
        Declared, Opt, PlanError, Request,
        shared_options::{self as shared, ENGINE, MAX_BYTES, MAX_TIME, SEED},
        target_checks::reach,
    },
    act::{SETTLE, Standby},
};
use crate::{
    inventory::SYSTEM_MOUNTS,
    plan::{Measure, Plan, Rule, Steps},
    target::{Kind, Target},
    units::{Caching, Direction, Load, Pattern},
};

const RUNS: Opt<u32> = shared::RUNS.default("5");

/// How long to wait for the drive's own timer where standby can't be set, s.
const PAUSE: Opt<f64> =
    Opt::new("pause", "TIME", shared::seconds, "Wait for the drive's own timer [default: from --max-time]");

pub(super) const OPTIONS: &[&dyn Declared] = &[&SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS, &PAUSE];

pub(super) const SPINNING: &str = "read while spinning";
pub(super) const FIRST: &str = "first read";

const READ: u64 = 4096;
/// Reads while spinning, of which the median counts.
const READS: u64 = 16;
/// Time limit of the reads, longer than any working disk needs, s.
const READ_SECONDS: f64 = 15.0;
/// The shortest wait for a drive's own timer, s.
const LEAST_PATIENCE: f64 = 60.0;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let runs = ask.values.get(&RUNS);
    let each = ask.effort.max_seconds / f64::from(runs);
    let patience = (each - SETTLE - 2.0 * READ_SECONDS).max(LEAST_PATIENCE);
    let patience = ask.values.typed(&PAUSE).unwrap_or(patience);
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let device = device(target)?;
        let read = READ.max(u64::from(target.direct_alignment));
        let whole = reach(target, &Request { block: read, ..ask.clone() }, false)?;
        // At random offsets; each repetition has its own, so that the drive's cache holds none.
        let random = |label: &str, run: u32, reads: u64| {
            let seed =
                ask.seed.wrapping_mul(1000).wrapping_add(u64::from(2 * run)) + u64::from(label == FIRST);
            let rule = Rule::Fixed { bytes: reads * read, seconds: Some(READ_SECONDS) };
            let load = Load::new(Direction::Read, Pattern::Random, read, Caching::Direct, seed);
            Measure { repetition: run, ..Measure::new(label, load, rule, whole) }
        };
        for run in 1..=runs {
            steps.add(&[at], random(SPINNING, run, READS));
            steps.add(&[at], Standby { device: device.clone(), patience });
            steps.add(&[at], random(FIRST, run, 1));
        }
    }
    Ok(ask.planned(steps))
}

/// The node of the disk that can go to standby, or why none can.
fn device(target: &Target) -> Result<String, PlanError> {
    let refuse = |why: String| Err(PlanError::Unsuitable { path: target.path.clone(), why });
    let [drive] = &target.drives[..] else {
        return refuse("it is not on exactly one drive; name a disk, such as /dev/sda".to_owned());
    };
    let node = drive.node();
    if !target.rotates() {
        return refuse(format!("{} does not rotate, so there is nothing to spin up", drive.label()));
    }
    let system = |used: &&String| *used == "swap" || SYSTEM_MOUNTS.contains(&used.as_str());
    if let Some(used) = target.uses.iter().find(system) {
        return refuse(format!(
            "{} carries {used}: the system keeps waking it and would hang while it is in standby; measure it from a system \
             that runs from another drive",
            drive.label()
        ));
    }
    if target.kind != Kind::BlockDevice || target.path.as_os_str() != node.as_str() {
        return refuse(format!(
            "a filesystem or part of it may be read from memory; name the whole disk: {node}, as root"
        ));
    }
    Ok(node)
}
