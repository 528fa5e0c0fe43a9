//! smallfiles: one big file or many small ones?

mod cost_model;
mod findings;
mod options;
mod plan;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// Sets of files, from many small ones to a single large one, written and read. The cost per file and per byte predict
/// any other set.
#[derive(Debug)]
pub struct SmallFiles;

impl Experiment for SmallFiles {
    fn name(&self) -> &'static str {
        "smallfiles"
    }

    fn question(&self) -> &'static str {
        "one big file or many small ones?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "smallfiles .",
            "smallfiles --files 20000 --size 1MB .  time to copy these",
            "smallfiles --files 300 --size 4MB --runs 6 /mnt/a",
        ]
    }

    fn plan(&self, ask: &Request) -> Result<Plan, PlanError> {
        plan::plan(ask)
    }

    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        findings::findings(self, record)
    }
}
