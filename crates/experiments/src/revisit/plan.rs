//! How revisit plans itself.

use super::{
    super::{
        LoadName, PlanError, Request,
        target_checks::{aligned, reach},
    },
    options,
};
use crate::plan::{FILL, Measure, Pause, Plan, Rule, ScratchFile, Steps};

pub(super) const BEFORE: &str = "read";
pub(super) const AFTER: &str = "read again";

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let pause = Pause { seconds: ask.values.get(&options::GAP) };
    let seconds = ask.effort.max_seconds / 3.0;
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let bytes = reach(target, ask, true)?;
        let write = Rule::Fixed { bytes, seconds: Some(seconds) };
        let fill = Measure::new(FILL, LoadName::Write.load(ask), write, bytes);
        aligned(target, &fill.load)?;
        let read = |label| {
            let rule = Rule::Adaptive { rules: ask.effort.rules.clone(), bytes, seconds };
            Measure { only_written: true, ..Measure::new(label, LoadName::Read.load(ask), rule, bytes) }
        };
        steps.add(&[at], ScratchFile { bytes });
        steps.add(&[at], fill);
        steps.add(&[at], read(BEFORE));
        steps.add(&[at], pause.clone());
        steps.add(&[at], read(AFTER));
    }
    Ok(ask.planned(steps))
}
