//! pagecache: how much of that speed was memory?

mod findings;
mod options;
mod plan;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// The same bytes written and read in every mode, from the page cache to the drive itself, with a filesystem in memory
/// as the ceiling.
#[derive(Debug)]
pub struct PageCache;

impl Experiment for PageCache {
    fn name(&self) -> &'static str {
        "pagecache"
    }

    fn question(&self) -> &'static str {
        "how much of that speed was memory?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "pagecache .                  the drive under this directory",
            "pagecache --runs 10 .        narrower intervals",
            "pagecache --max-bytes 16M .  fewer bytes, for a slow drive",
            "pagecache /dev/sda           a whole drive, reading only",
        ]
    }

    fn plan(&self, ask: &Request) -> Result<Plan, PlanError> {
        plan::plan(ask)
    }

    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        findings::findings(self, record)
    }
}
