//! bays: is it the drive or the port?

mod findings;
mod options;
mod plan;

use super::{Experiment, Targets, common};

/// Drives are moved by hand until each was in each bay, which separates drives from bays.
pub static BAYS: Experiment = Experiment {
    name: "bays",
    question: "is it the drive or the port?",
    options: options::OPTIONS,
    examples: &[
        "bays --plan /dev/sda /dev/sdb  moves, minutes and bytes",
        "bays bay:1.1 bay:1.2 bay:1.3   whole drives, read in each bay",
        "bays --runs 2 /dev/sd[a-d]     each drive twice in each bay",
        "bays --resume r2k4             continue, even days later",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
