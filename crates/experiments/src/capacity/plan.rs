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
    // What overflows the cache is a part of the drive.
    let least = Sizes::USUAL.overflow * 3 * BLOCK as u64;
    check_each("capacity tests", &ask.targets, least)?;
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let drive = &target.drives[0];
        let probe = ProbeCapacity { drive: drive.identity(), bytes: drive.bytes() };
        steps.add(&[at], probe);
    }
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}
