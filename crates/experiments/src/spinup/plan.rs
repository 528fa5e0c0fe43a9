//! The options and the plan of spinup.

use super::super::{
    Declared, Opt, PlanError, Request,
    shared_options::{self as shared, ENGINE, MAX_BYTES, MAX_TIME, SEED},
    target_checks::reach,
};
use crate::{
    plan::{Measure, Plan, Rule, Standby, Steps},
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
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let device = device(target)?;
        let read = READ.max(u64::from(target.direct_alignment));
        let small = Request { block: read, ..ask.clone() };
        let whole = reach(target, &small, false)?;
        let one = One { ask, device, whole, read };
        let runs = ask.values.get(&RUNS);
        for run in 1..=runs {
            steps.add(&[at], one.random(SPINNING, run, READS));
            steps.add(&[at], one.standby());
            steps.add(&[at], one.random(FIRST, run, 1));
        }
    }
    Ok(ask.planned(steps))
}

struct One<'a> {
    ask: &'a Request,
    device: String,
    whole: u64,
    read: u64,
}

impl One<'_> {
    /// Reads at random offsets; each repetition has its own, so that the drive's cache holds none.
    fn random(&self, label: &str, run: u32, reads: u64) -> Measure {
        let seed =
            self.ask.seed.wrapping_mul(1000).wrapping_add(u64::from(2 * run)) + u64::from(label == FIRST);
        let rule = Rule::Fixed { bytes: reads * self.read, seconds: Some(READ_SECONDS) };
        let load = Load::new(Direction::Read, Pattern::Random, self.read, Caching::Direct, seed);
        Measure { repetition: run, ..Measure::new(label, load, rule, self.whole) }
    }

    fn standby(&self) -> Standby {
        let each = self.ask.effort.max_seconds / f64::from(self.ask.values.get(&RUNS));
        let patience = (each - Standby::SETTLE - 2.0 * READ_SECONDS).max(LEAST_PATIENCE);
        Standby { device: self.device.clone(), patience: self.ask.values.typed(&PAUSE).unwrap_or(patience) }
    }
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
    let system =
        |used: &&String| ["/", "/usr", "/var", "swap"].contains(&used.as_str()) || used.starts_with("/boot");
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
