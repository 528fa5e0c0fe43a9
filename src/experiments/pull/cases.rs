//! What a record has of each pull.

use super::super::common::Series;
use crate::{
    plan::{Act, Plan, Pull, Step},
    record::{Pulled, Run},
    units::Layout,
};

/// One pull.
pub(super) struct Case<'a> {
    pub layout: Layout,
    /// How many drives it has.
    pub drives: usize,
    /// The pool that lost a drive, as the plan names it.
    pub pool: &'a str,
    /// The drive that was pulled: its bay, or its name.
    pub drive: String,
    pub act: &'a Pull,
    pub pulled: &'a Pulled,
}

pub(super) fn cases<'a>(run: &'a Run<Series>, plan: &'a Plan) -> Vec<Case<'a>> {
    let case = |step: &'a Step| {
        let Act::Pull(act) = &step.act else { return None };
        let at = step.targets().next()?;
        let (pulled, build) = (run.acts.get(&(step.id, at))?.pulled.as_deref()?, plan.build(at)?);
        let drive = plan.targets[at].drives.get(act.member as usize)?;
        let drive = drive.bay.as_ref().map_or_else(|| drive.name.clone(), |bay| format!("bay {bay}"));
        let pool = plan.targets[at].given.as_str();
        let drives = build.drives.len();
        Some(Case { layout: build.layout, drives, pool, drive, act, pulled })
    };
    plan.steps.iter().filter_map(case).collect()
}
