//! baseline: how fast is each drive, and how bad is its worst case?

mod figures;
mod findings;
mod plan;
mod verdicts;

use super::{Ask, Experiment, PlanError};
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

    fn options(&self) -> &'static [&'static str] {
        &[
            "quick",
            "thorough",
            "precision",
            "rw",
            "bs",
            "iodepth",
            "rwmixread",
            "caching",
            "verify",
            "protocol",
            "resume",
        ]
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "baseline .                     the drive under this directory",
            "baseline /mnt/a /mnt/b         two drives: do they differ?",
            "baseline /dev/sda              a whole drive, reading only",
            "baseline --quick --plan .      the cost of a rough answer",
            "baseline --protocol pi-zero .  to the letter of a post",
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
