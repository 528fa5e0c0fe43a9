//! synctime: how long does a sync take? The example of docs/design/adding-an-experiment.md, built for tests only.

mod act;
mod findings;
mod plan;
#[cfg(test)]
mod tests;

use super::{Experiment, Targets, common};

/// Writes a file through the page cache, and times how long the drive takes for what is left in memory.
pub static SYNCTIME: Experiment = Experiment {
    name: "synctime",
    question: "how long does a sync take?",
    options: plan::OPTIONS,
    examples: &[
        "synctime .                    this drive",
        "synctime --max-bytes 64MiB .  after writes of 64 MiB",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
