//! cliff: does writing slow down after a while?

mod findings;
mod plan;
mod verdicts;
mod written;

use super::{Ask, Experiment, PlanError};
use crate::{findings::Findings, plan::Plan, record::Event, units::MIB};

/// Writes until the speed falls for good or the budget ends, and again after a pause; of a disk that rotates, read as
/// a whole device, the speed over position instead.
#[derive(Debug)]
pub struct Cliff;

impl Experiment for Cliff {
    fn name(&self) -> &'static str {
        "cliff"
    }

    fn question(&self) -> &'static str {
        "does writing slow down after a while?"
    }

    fn options(&self) -> &'static [&'static str] {
        &["precision", "bs", "iodepth", "pause", "resume"]
    }

    fn block(&self) -> u64 {
        MIB
    }

    fn max_bytes(&self) -> Option<u64> {
        Some(32 << 30)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "cliff /mnt/a                   how much is written fast, and how fast after that",
            "cliff --max-bytes 100GiB .     an SSD with a large cache",
            "cliff --pause 10m .            whether ten minutes of rest restore it",
            "cliff /dev/sda                 a disk that rotates: speed over position, reading only",
            "cliff --plan .                 what it would write at most",
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
