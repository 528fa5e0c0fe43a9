//! How revisit plans itself.

use super::{
    super::{
        request::{Ask, LoadName, PlanError},
        target_checks::{FILL, aligned, reach},
    },
    options,
};
use crate::plan::{Measure, Pause, Plan, Rule, ScratchFile, Steps};

/// The read before the pause.
pub(super) const BEFORE: &str = "read";
/// The read after it.
pub(super) const AFTER: &str = "read again";

pub(super) fn plan(ask: &Ask) -> Result<Plan, PlanError> {
    if ask.targets.is_empty() {
        return Err(PlanError::NoTarget);
    }
    let pause = Pause { seconds: ask.values.get(&options::GAP) };
    let seconds = ask.effort.max_seconds / 3.0;
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let bytes = reach(target, ask, true)?;
        let fill = Measure {
            label: FILL.to_owned(),
            repetition: 1,
            load: LoadName::Write.load(ask),
            rule: Rule::Fixed { bytes, seconds: Some(seconds) },
            reach: bytes,
            only_written: false,
            cold: false,
        };
        aligned(target, &fill.load)?;
        let read = |label: &str| Measure {
            label: label.to_owned(),
            load: LoadName::Read.load(ask),
            rule: Rule::Adaptive { rules: ask.effort.rules.clone(), bytes, seconds },
            only_written: true,
            ..fill.clone()
        };
        steps.add(&[at], ScratchFile { bytes });
        steps.add(&[at], fill.clone());
        steps.add(&[at], read(BEFORE));
        steps.add(&[at], pause.clone());
        steps.add(&[at], read(AFTER));
    }
    Ok(ask.planned("revisit", steps))
}
