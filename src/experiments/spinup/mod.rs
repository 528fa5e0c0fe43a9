//! spinup: how long does it take to wake?

mod findings;
mod options;
mod plan;
mod verdicts;
mod woken;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// The first read after standby compared with a read while spinning, and two timed copies as a second method.
#[derive(Debug)]
pub struct Spinup;

impl Experiment for Spinup {
    fn name(&self) -> &'static str {
        "spinup"
    }

    fn question(&self) -> &'static str {
        "how long does it take to wake?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "spinup /dev/sda              a hard disk; root can stop it",
            "spinup --runs 10 /dev/sda    a narrower interval",
            "spinup --pause 25m /dev/sda  longer than the disk's own timer",
            "spinup --plan /dev/sda       the steps and their time",
        ]
    }

    fn plan(&self, ask: &Request) -> Result<Plan, PlanError> {
        plan::plan(ask)
    }

    fn is_evidence(&self) -> bool {
        true
    }

    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        findings::findings(self, record)
    }
}
