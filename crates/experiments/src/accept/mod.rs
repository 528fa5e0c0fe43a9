//! accept: is a new drive good from end to end?

mod act;
mod compared;
mod cover;
mod findings;
mod plan;
#[cfg(test)]
mod tests;
mod verdict;

use super::{Experiment, Targets, common};

/// Every block of whole drives is written and verified, all drives at the same time.
pub static ACCEPT: Experiment = Experiment {
    name: "accept",
    question: "is a new drive good from end to end?",
    options: plan::OPTIONS,
    examples: &[
        "accept --plan /dev/sda    how long it takes, what is erased",
        "accept bay:1.1 bay:1.2    two drives, after consent to each",
    ],
    targets: Targets::WHOLE_DRIVES,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
