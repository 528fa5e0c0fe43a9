//! sizes: which transfer size is fast?

mod curve;
mod findings;
mod options;
mod plan;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// Transfers of 64 B to 1 MiB in doublings, in short repetitions and random order, so that a drift over time does not
/// look like an effect of size.
#[derive(Debug)]
pub struct Sizes;

impl Experiment for Sizes {
    fn name(&self) -> &'static str {
        "sizes"
    }

    fn question(&self) -> &'static str {
        "which transfer size is fast?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "sizes .                this drive, 64 B to 1 MiB",
            "sizes --largest 16M .  up to 16 MiB",
            "sizes --runs 12 .      narrower intervals",
            "sizes /dev/sda         a whole drive, reading only",
        ]
    }

    fn plan(&self, ask: &Request) -> Result<Plan, PlanError> {
        plan::plan(ask)
    }

    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        findings::findings(self, record)
    }
}
