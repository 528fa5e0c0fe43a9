//! revisit: is a drive as fast after a pause? The example of docs/adding-an-experiment.md, built for tests only.

mod findings;
mod options;
mod plan;
#[cfg(test)]
mod tests;

use super::{Experiment, common};

/// Fills a file, reads it, leaves the drive alone, and reads it again.
pub static REVISIT: Experiment = Experiment {
    name: "revisit",
    question: "is a drive as fast after a pause?",
    options: options::OPTIONS,
    examples: &[
        "revisit .             this drive, 1 min between the reads",
        "revisit --gap 10m .   10 min between them",
    ],
    is_evidence: false,
    default_target: None,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
