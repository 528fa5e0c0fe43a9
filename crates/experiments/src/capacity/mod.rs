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

use super::{Experiment, common};

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
    default_target: None,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
