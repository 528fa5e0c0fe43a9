//! The options and the plan of synctime.

use super::{
    super::{Declared, Opt, PlanError, Request, shared_options as shared, target_checks::reach},
    act::TimeSync,
};
use crate::{
    plan::{Measure, Plan, Rule, ScratchFile, Steps},
    units::{Caching, Direction, Load, MIB, Pattern},
};

/// What a page cache holds easily.
const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("256MiB");

const RUNS: Opt<u32> = shared::RUNS.default("5");

pub(super) const OPTIONS: &[&dyn Declared] = &[&MAX_BYTES, &RUNS];

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let bytes = reach(target, ask, true)?;
        let load = Load::new(Direction::Write, Pattern::Sequential, MIB, Caching::Buffered, ask.seed);
        let write = Measure::new("write", load, Rule::Fixed { bytes, seconds: None }, bytes);
        steps.add(&[at], ScratchFile { bytes });
        for _ in 0..ask.values.get(&RUNS) {
            steps.add(&[at], write.clone());
            steps.add(&[at], TimeSync { bytes });
        }
    }
    Ok(ask.planned(steps))
}
