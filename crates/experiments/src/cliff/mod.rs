//! cliff: does writing slow down after a while?

mod act;
mod findings;
mod plan;
mod verdicts;

use super::{Experiment, Targets, common};

/// Writes until the speed falls for good or the budget ends, then again after a pause.
pub static CLIFF: Experiment = Experiment {
    name: "cliff",
    question: "does writing slow down after a while?",
    options: plan::OPTIONS,
    examples: &[
        "cliff /mnt/a                size of the cache, both speeds",
        "cliff --max-bytes 100GiB .  an SSD with a large cache",
        "cliff --pause 10m .         do ten minutes restore it?",
        "cliff --plan .              what it would write at most",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
