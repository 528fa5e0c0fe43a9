//! The plan of capacity.

use super::{
    super::{PlanError, Request, whole_drives::check_each},
    act::ProbeCapacity,
    probe::Sizes,
};
use crate::{
    plan::{Plan, Steps},
    stamped::BLOCK,
};

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    // What overflows the cache is a part of what is tested.
    check_each("capacity tests", &ask.targets, Sizes::USUAL.overflow * 3 * BLOCK as u64)?;
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let drive = &target.drives[0];
        steps.add(&[at], ProbeCapacity { drive: drive.identity(), bytes: drive.bytes() });
    }
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}
