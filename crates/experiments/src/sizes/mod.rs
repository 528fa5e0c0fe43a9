//! sizes: which transfer size is fast?

mod curve;
mod findings;
mod plan;

use super::{Experiment, Targets, common};

/// Transfers of 64 B to 1 MiB in doublings, in short repetitions and random order, so that a drift over time does not
/// look like an effect of size.
pub static SIZES: Experiment = Experiment {
    name: "sizes",
    question: "which transfer size is fast?",
    options: plan::OPTIONS,
    examples: &[
        "sizes .                this drive, 64 B to 1 MiB",
        "sizes --largest 16M .  up to 16 MiB",
        "sizes --runs 12 .      narrower intervals",
        "sizes /dev/sda         a whole drive, reading only",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
