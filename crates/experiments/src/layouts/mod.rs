//! layouts: which layout of these drives is best?

mod findings;
mod options;
mod plan;
mod predict;
mod recommend;

use super::{Experiment, Targets, common};

/// Each drive alone and all at once, then each layout of them: predicted, built, measured, removed.
pub static LAYOUTS: Experiment = Experiment {
    name: "layouts",
    question: "which layout of these drives is best?",
    options: options::OPTIONS,
    examples: &[
        "layouts --plan bay:1.1 bay:1.2   the steps, and what is erased",
        "layouts --erase SERIAL --erase SERIAL bay:1.1 bay:1.2",
        "layouts --layouts raid1,raid5 bay:1.1 bay:1.2 bay:1.3",
    ],
    targets: Targets::WHOLE_DRIVES,
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
