//! The results of one check of one drive, read from its record.

use std::collections::BTreeMap;

use super::plan::LOADS;
use crate::{
    inventory::Drive,
    record::{Event, Run},
    target::Target,
    units::{Ended, RunStatus},
};

/// The rounds of a load that are enough: most of them.
const LEAST: usize = 5;

/// The results of one check of one drive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probe {
    pub run: String,
    /// When, as RFC 3339.
    pub at: String,
    /// The drive as it was, with its health if that was read.
    pub drive: Drive,
    /// Other programs used it before or meanwhile.
    pub disturbed: bool,
    /// The speeds of each load, by its label and the number of the round, bytes per second.
    pub speeds: BTreeMap<String, BTreeMap<u32, f64>>,
    /// Why a read failed.
    pub error: Option<String>,
    /// Each load was measured in `LEAST` rounds at least. Those in which this process did not run are left out.
    pub whole: bool,
}

impl Probe {
    /// Whether its speeds can be compared.
    pub fn is_complete(&self) -> bool {
        self.whole && !self.disturbed
    }
}

/// The results of a check, one for each of its drives.
pub fn probes(record: impl Iterator<Item = Event>) -> Vec<Probe> {
    let run = Run::of(record);
    let (Some(start), Some(plan)) = (&run.start, &run.plan) else { return Vec::new() };
    let probe = |(at, target): (usize, &Target)| {
        let [drive] = &target.drives[..] else { return None };
        let mut rounds: BTreeMap<String, BTreeMap<u32, f64>> = BTreeMap::new();
        let mut error = None;
        for step in run.steps.values() {
            let outcome = step.loads.get(&at).and_then(|load| load.outcome.as_ref());
            if let Some(Ended::Failed { message, .. }) = outcome.map(|outcome| &outcome.ended) {
                error.get_or_insert_with(|| message.clone());
            }
            if let Some(speed) = outcome.and_then(|outcome| outcome.speed()) {
                let of_load = rounds.entry(step.measure.label.clone()).or_default();
                of_load.insert(step.measure.repetition, speed);
            }
        }
        let all = rounds.len() == LOADS && rounds.values().all(|of| of.len() >= LEAST);
        Some(Probe {
            run: start.run.clone(),
            at: start.at.clone(),
            drive: drive.clone(),
            disturbed: run.flags.iter().any(|flag| flag.other_io && flag.conditions_of == Some(at)),
            speeds: rounds,
            error,
            whole: all && run.status() != RunStatus::Unfinished,
        })
    };
    plan.targets.iter().enumerate().filter_map(probe).collect()
}
