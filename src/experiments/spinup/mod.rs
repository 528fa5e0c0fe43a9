//! spinup: how long does it take to wake?

mod findings;
mod plan;
mod verdicts;
mod woken;

use super::{Ask, Experiment, PlanError};
use crate::{findings::Findings, plan::Plan, record::Event};

/// The first read after standby against the same read while spinning, and two timed copies beside it.
#[derive(Debug)]
pub struct Spinup;

impl Experiment for Spinup {
    fn name(&self) -> &'static str {
        "spinup"
    }

    fn question(&self) -> &'static str {
        "how long does it take to wake?"
    }

    fn options(&self) -> &'static [&'static str] {
        &["runs", "pause", "resume"]
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "spinup /dev/sda                a disk that rotates; as root, which may send it to sleep",
            "spinup --runs 10 /dev/sda      a narrower interval",
            "spinup --pause 25m /dev/sda    one that must be waited for: longer than its own timer",
            "spinup --plan /dev/sda         what would be done, and how long it may take",
        ]
    }

    fn plan(&self, ask: &Ask) -> Result<Plan, PlanError> {
        plan::plan(ask)
    }

    fn is_evidence(&self) -> bool {
        true
    }

    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        findings::findings(self, record)
    }
}
