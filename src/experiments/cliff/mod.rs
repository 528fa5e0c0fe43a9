//! cliff: does writing slow down after a while?

mod findings;
mod options;
mod plan;
mod verdicts;
mod written;

use super::{Declared, Experiment, PlanError, Request};
use crate::{findings::Findings, plan::Plan, record::Event};

/// Writes until the speed falls for good or the budget ends, then again after a pause. For a rotating disk, named as
/// a device, it reads the speed over position instead.
#[derive(Debug)]
pub struct Cliff;

impl Experiment for Cliff {
    fn name(&self) -> &'static str {
        "cliff"
    }

    fn question(&self) -> &'static str {
        "does writing slow down after a while?"
    }

    fn options(&self) -> &'static [&'static dyn Declared] {
        options::OPTIONS
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "cliff /mnt/a                size of the cache, both speeds",
            "cliff --max-bytes 100GiB .  an SSD with a large cache",
            "cliff --pause 10m .         do ten minutes restore it?",
            "cliff /dev/sda              a hard disk: speed over position",
            "cliff --plan .              what it would write at most",
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
