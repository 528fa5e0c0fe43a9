//! revisit: is a drive as fast after a pause? The example of docs/adding-an-experiment.md, built for tests only.

mod findings;
mod options;
mod plan;
#[cfg(test)]
mod tests;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// Fills a file, reads it, leaves the drive alone, and reads it again.
#[derive(Debug)]
pub struct Revisit;

impl Experiment for Revisit {
    fn name(&self) -> &'static str {
        "revisit"
    }

    fn question(&self) -> &'static str {
        "is a drive as fast after a pause?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "revisit .             this drive, 1 min between the reads",
            "revisit --gap 10m .   10 min between them",
        ]
    }

    fn plan(&self, ask: &Request) -> Result<Plan, PlanError> {
        plan::plan(ask)
    }

    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        findings::findings(self, record)
    }
}
