//! power: what survives a power cut?

mod act;
mod cut;
mod findings;
mod ledger_file;
mod plan;
#[cfg(test)]
mod tests;

pub use cut::waiting;

use act::{PowerCut, PowerCutResult, WritesEnded};

use super::{Experiment, Targets, common};

/// Synced writes go on until a person cuts the power; what was acknowledged must be there when it is back.
pub static POWER: Experiment = Experiment {
    name: "power",
    question: "what survives a power cut?",
    options: plan::OPTIONS,
    examples: &[
        "power --store /mnt/b /mnt/a        asks you to cut the power",
        "power --resume RUN --store /mnt/b  checks after that",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
