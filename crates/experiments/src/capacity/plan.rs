//! The plan of capacity.

use std::slice::from_ref;

use super::{
    super::{PlanError, Request, whole_drives::check_each},
    act::ProbeCapacity,
    free_space::FreeSpace,
    options::REPLUG,
    probe::Sizes,
};
use crate::{
    plan::{Plan, Steps},
    stamped::BLOCK,
    target::{Kind, Target},
};

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    // What overflows the cache is a part of what is tested.
    let least = Sizes::USUAL.overflow * 3 * BLOCK as u64;
    let replug = ask.values.get(&REPLUG);
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let (bytes, free_space) = if is_directory(target) {
            if replug {
                let why = "--replug takes whole drives: unmount it, and name the drive".to_owned();
                return Err(PlanError::Unsuitable { path: target.path.clone(), why });
            }
            let (free_space, bytes) = FreeSpace::of(target, least)?;
            (bytes, Some(free_space))
        } else {
            check_each("capacity tests", from_ref(target), least)?;
            (target.drives[0].bytes(), None)
        };
        let probe = ProbeCapacity { drive: target.drives[0].identity(), bytes, replug, free_space };
        steps.add(&[at], probe);
    }
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}

/// A drive that was named by its bay or serial is meant as a whole.
fn is_directory(target: &Target) -> bool {
    let given = target.given.as_str();
    let is_path = given.contains('/') || [".", ".."].contains(&given) || target.path.ends_with(given);
    target.kind == Kind::Directory && is_path
}
