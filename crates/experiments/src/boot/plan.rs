//! The plan of boot.

use super::{
    super::{PlanError, Request},
    act::RecordBoot,
    options,
};
use crate::plan::{Plan, Steps};

/// Runs of the store that are searched for earlier boots, at most.
const EARLIER: u32 = 200;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    if !ask.values.get(&options::NOW) {
        return Err(PlanError::WhichBoot);
    }
    let [target] = &ask.targets[..] else { return Err(PlanError::TooMany { experiment: "boot", most: 1 }) };
    let refuse = |why: &str| Err(PlanError::Unsuitable { path: target.path.clone(), why: why.to_owned() });
    if target.path.as_os_str() != "/" {
        return refuse("boot always measures the drive that / is on: leave the target out");
    }
    if target.drives.is_empty() {
        return refuse(
            "its drive is not known, so its boots can't be distinguished from those of other drives",
        );
    }
    let mut steps = Steps::default();
    steps.add(&[0], RecordBoot { earlier: EARLIER });
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}
