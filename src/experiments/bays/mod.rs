//! bays: is it the drive or the port?

mod crossing;
mod findings;
mod options;
mod plan;
mod verdicts;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// Drives are moved by hand until each was in each bay, which separates drives from bays.
#[derive(Debug)]
pub struct Bays;

impl Experiment for Bays {
    fn name(&self) -> &'static str {
        "bays"
    }

    fn question(&self) -> &'static str {
        "is it the drive or the port?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "bays --plan /dev/sda /dev/sdb  moves, minutes and bytes",
            "bays bay:1.1 bay:1.2 bay:1.3   whole drives, read in each bay",
            "bays /mnt/a /mnt/b             files on them, written and read",
            "bays --runs 2 /dev/sd[a-d]     each drive twice in each bay",
            "bays --resume r2k4             continue, even days later",
        ]
    }

    fn plan(&self, ask: &Request) -> Result<Plan, PlanError> {
        plan::plan(ask)
    }

    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        findings::findings(self, record)
    }
}
