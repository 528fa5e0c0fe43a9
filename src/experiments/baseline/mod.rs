//! baseline: how fast is each drive, and how bad is its worst case?

mod figures;
mod findings;
mod fitness;
mod options;
mod plan;
mod summary;
mod verdicts;

use super::{Experiment, common};

/// Each drive alone: the loads of a suite, one after the other.
pub static BASELINE: Experiment = Experiment {
    name: "baseline",
    question: "how fast is each drive, and how bad is its worst case?",
    options: options::OPTIONS,
    examples: &[
        "baseline /mnt/a /mnt/b  two drives, by a directory on each",
        "baseline /dev/sda       a whole drive, reading only",
    ],
    is_evidence: true,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
