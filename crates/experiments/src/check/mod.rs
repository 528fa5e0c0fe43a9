//! check: has a drive become slower or reported errors since its reference? The probe is an experiment with a command of
//! its own, `drivebench check`; its results are compared here.

mod counters;
mod decision;
mod findings;
mod plan;
mod probe;
#[cfg(test)]
mod simulated;

use super::{Experiment, Targets, common};

pub(crate) use counters::risen;
pub use counters::{Counter, Counters, counters};
pub use decision::{AGREE, Alarm, Change, Decision, Past, Skipped, Unknown, decide};
pub use probe::{Probe, probes};

/// Short reads all over a drive.
pub static CHECK: Experiment = Experiment {
    name: "check",
    question: "is each drive as fast and as sound as before?",
    options: &[],
    examples: &[],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
