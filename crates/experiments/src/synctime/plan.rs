//! The plan of synctime.

use super::{
    super::{PlanError, Request, target_checks::reach},
    act::TimeSync,
    options,
};
use crate::{
    plan::{Measure, Plan, Rule, ScratchFile, Steps},
    units::{Caching, Direction, Load, MIB, Pattern},
};

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let bytes = reach(target, ask, true)?;
        let load = Load::new(Direction::Write, Pattern::Sequential, MIB, Caching::Buffered, ask.seed);
        let write = Measure::new("write", load, Rule::Fixed { bytes, seconds: None }, bytes);
        steps.add(&[at], ScratchFile { bytes });
        for _ in 0..ask.values.get(&options::RUNS) {
            steps.add(&[at], write.clone());
            steps.add(&[at], TimeSync { bytes });
        }
    }
    Ok(ask.planned(steps))
}
