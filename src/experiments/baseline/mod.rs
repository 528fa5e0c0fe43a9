//! baseline: how fast is each drive, and how bad is its worst case?

mod figures;
mod findings;
mod options;
mod plan;
mod verdicts;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// Each drive alone: a sequential write, then a read of what was written, until the number is good enough.
#[derive(Debug)]
pub struct Baseline;

impl Experiment for Baseline {
    fn name(&self) -> &'static str {
        "baseline"
    }

    fn question(&self) -> &'static str {
        "how fast is each drive, and how bad is its worst case?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "baseline /mnt/a /mnt/b     two drives, by a directory on each",
            "baseline /dev/sda          a whole drive, reading only",
            "baseline --quick --plan .  what a rough answer costs",
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
