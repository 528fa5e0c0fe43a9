//! power: what survives a power cut?

mod findings;
mod options;
mod plan;

pub use options::LEDGER;

use super::{Experiment, common};

/// Synced writes go on until a person cuts the power; what was acknowledged must be there when it is back.
pub static POWER: Experiment = Experiment {
    name: "power",
    question: "what survives a power cut?",
    options: options::OPTIONS,
    examples: &[
        "power --store /mnt/b /mnt/a        asks you to cut the power",
        "power --resume RUN --store /mnt/b  checks after that",
        "power --ledger ssh://HOST/DIR .    with one drive only",
    ],
    is_evidence: false,
    default_target: None,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
