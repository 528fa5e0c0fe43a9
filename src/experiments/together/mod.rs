//! together: do drives slow each other down, and what is the limit?

mod bottleneck;
mod cpu_limits;
mod findings;
mod headroom;
mod options;
mod plan;
mod samples;
mod sentences;
mod shared_links;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// Each drive alone, all at once from one start, and the subsets that separate one limit from another.
#[derive(Debug)]
pub struct Together;

impl Experiment for Together {
    fn name(&self) -> &'static str {
        "together"
    }

    fn question(&self) -> &'static str {
        "do drives slow each other down, and what is the limit?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "together /mnt/a /mnt/b         two drives alone, then at once",
            "together --rw read /dev/sd?    whole drives, reading only",
            "together --plan /mnt/*         the cost, and which run together",
            "together --max-time 2m /mnt/*  a rough answer",
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
