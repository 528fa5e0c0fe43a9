//! What a record has of each pull.

use super::super::common::Series;
use crate::{
    plan::{Plan, Pull, PullBy, PullInUse, Step},
    record::{Pulled, Run},
    target::Target,
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
    /// How it was pulled; and the act, of a pool that the run built.
    pub by: PullBy,
    pub act: Option<&'a Pull>,
    pub pulled: &'a Pulled,
    pub target: &'a Target,
}

impl Case<'_> {
    /// A drive of the pool: its bay, or its name.
    pub fn member(&self, number: u32) -> String {
        name(self.target, number).unwrap_or_default()
    }
}

fn name(target: &Target, number: u32) -> Option<String> {
    let drive = target.drives.get(number as usize)?;
    Some(drive.bay.as_ref().map_or_else(|| drive.name.clone(), |bay| format!("bay {bay}")))
}

pub(super) fn cases<'a>(run: &'a Run<Series>, plan: &'a Plan) -> Vec<Case<'a>> {
    let case = |step: &'a Step| {
        let act: &Pull = step.act.get()?;
        let at = step.targets().next()?;
        let (pulled, build) = (run.acts.get(&(step.id, at))?.get::<Pulled>()?, plan.build(at)?);
        let target = &plan.targets[at];
        let drive = name(target, act.member)?;
        let pool = target.given.as_str();
        let drives = build.drives.len();
        Some(Case { layout: build.layout, drives, pool, drive, by: act.by, act: Some(act), pulled, target })
    };
    plan.steps.iter().filter_map(case).collect()
}

/// The same of pools in use.
pub(super) fn in_use<'a>(run: &'a Run<Series>, plan: &'a Plan) -> Vec<Case<'a>> {
    let case = |step: &'a Step| {
        let act: &PullInUse = step.act.get()?;
        let at = step.targets().next()?;
        let (pulled, target) = (run.acts.get(&(step.id, at))?.get::<Pulled>()?, &plan.targets[at]);
        let pool = target.pool.as_ref()?;
        let layout = Layout::of_name(&pool.kind)?;
        let (drives, given) = (usize::try_from(pool.members).ok()?, target.given.as_str());
        Some(Case {
            layout,
            drives,
            pool: given,
            drive: act.label.clone(),
            by: act.by,
            act: None,
            pulled,
            target,
        })
    };
    plan.steps.iter().filter_map(case).collect()
}
