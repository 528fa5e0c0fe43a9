//! baseline: how fast is each drive, and how bad is its worst case?

mod figures;
mod findings;
mod options;
mod plan;
mod verdicts;

use super::{Experiment, common};

/// Each drive alone: a sequential write, then a read of what was written, until the number is good enough.
pub static BASELINE: Experiment = Experiment {
    name: "baseline",
    question: "how fast is each drive, and how bad is its worst case?",
    options: options::OPTIONS,
    examples: &[
        "baseline /mnt/a /mnt/b     two drives, by a directory on each",
        "baseline /dev/sda          a whole drive, reading only",
        "baseline --quick --plan .  what a rough answer costs",
    ],
    is_evidence: true,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
