//! spinup: how long does it take to wake?

mod act;
mod findings;
mod plan;

use super::{Experiment, Targets, common};

/// The first read after standby compared with a read while spinning.
pub static SPINUP: Experiment = Experiment {
    name: "spinup",
    question: "how long does it take to wake?",
    options: plan::OPTIONS,
    examples: &[
        "spinup /dev/sda              a hard disk; root can stop it",
        "spinup --runs 10 /dev/sda    a narrower interval",
        "spinup --pause 25m /dev/sda  longer than the disk's own timer",
        "spinup --plan /dev/sda       the steps and their time",
    ],
    targets: Targets { help: "Disks: /dev paths, serials or bay:PORT", ..Targets::ANY },
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
