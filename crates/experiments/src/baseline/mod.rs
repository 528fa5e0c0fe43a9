//! baseline: how fast is each drive, and how bad is its worst case?

mod figures;
mod findings;
mod fitness;
mod plan;
mod tables;
mod verdicts;

use super::{Experiment, Targets, common};

/// Each drive alone: the loads of a suite, in rounds.
pub static BASELINE: Experiment = Experiment {
    name: "baseline",
    question: "how fast is each drive, and how bad is its worst case?",
    options: plan::OPTIONS,
    examples: &["baseline /mnt/a /dev/sdb  two drives; a device is only read"],
    targets: Targets { default: Some("."), ..Targets::ANY },
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
