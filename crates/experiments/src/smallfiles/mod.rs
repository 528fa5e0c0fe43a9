//! smallfiles: one big file or many small ones?

mod cost_model;
mod findings;
mod plan;

use super::{Experiment, Targets, common};
use crate::record::Run;

/// Sets of files, from many small ones to a single large one, written and read. The cost per file and per byte predict
/// any other set.
pub static SMALLFILES: Experiment = Experiment {
    name: "smallfiles",
    question: "one big file or many small ones?",
    options: plan::OPTIONS,
    examples: &[
        "smallfiles .",
        "smallfiles --files 20000 --size 1MB .  time to copy these",
        "smallfiles --files 300 --size 4MB --runs 6 /mnt/a",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(Run::of(record), findings::results),
};
