//! capacity: is the drive as large as it says?

mod act;
mod findings;
mod free_space;
mod options;
mod plan;
mod probe;
mod saved;
#[cfg(test)]
mod simulated;
mod verdict;

use super::{Experiment, Targets, common};

/// Blocks all over a drive are saved, overwritten, read back and restored.
pub static CAPACITY: Experiment = Experiment {
    name: "capacity",
    question: "is it as large as it says?",
    options: options::OPTIONS,
    examples: &[
        "capacity --plan /dev/sda    what is overwritten and put back",
        "capacity bay:1.1 bay:1.2    two sticks, after consent to each",
        "capacity /mnt/stick         only its free space",
    ],
    targets: Targets {
        help: "Whole drives: /dev paths, serials or bay:PORT; or a directory, for its free space",
        ..Targets::ANY
    },
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
