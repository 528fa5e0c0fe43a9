//! together: do drives slow each other down, and what is the limit?

mod bottleneck;
mod cpu_limits;
mod findings;
mod plan;
mod samples;
mod shared_links;
mod verdicts;

pub(super) use bottleneck::{Held, added};
pub(super) use cpu_limits::{Level, ProcessorLoad};
pub(super) use shared_links::shared;

use samples::Times;

use super::{Experiment, Targets, common};
use crate::record::Run;

/// Each drive alone, all at once from one start, and the subsets that separate one limit from another.
pub static TOGETHER: Experiment = Experiment {
    name: "together",
    question: "do drives slow each other down, and what is the limit?",
    options: plan::OPTIONS,
    examples: &[
        "together /mnt/a /mnt/b         two drives alone, then at once",
        "together --rw read /dev/sd?    whole drives, reading only",
        "together --plan /mnt/*         the cost, and which run together",
        "together --max-time 2m /mnt/*  a rough answer",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(Run::read(record, |_, _, _| Times::default()), findings::results),
};
