//! The pulls in a record.

use super::{super::common::Series, BuiltPool, Pull, PullBy, PullResult, PulledPool};
use crate::{
    plan::{Plan, Step},
    record::Run,
    target::Target,
    units::Layout,
};

/// One pull.
pub(super) struct Case<'a> {
    pub layout: Layout,
    /// Number of drives of the pool.
    pub drives: usize,
    /// The pool that lost a drive, as the plan names it.
    pub pool: &'a str,
    /// The drive that was pulled: its bay, or its name.
    pub drive: String,
    pub by: PullBy,
    /// What was planned for a pool that the run built; none for one in use.
    pub built: Option<&'a BuiltPool>,
    pub pulled: &'a PullResult,
}

impl Case<'_> {
    /// The pool: by its layout, and if it is in use by its drives, too.
    pub fn name(&self) -> String {
        match self.built {
            Some(_) => self.layout.to_string(),
            None => format!("{} of {} drives in use", self.layout, self.drives),
        }
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
        let (pulled, target) = (run.acts.get(&(step.id, at))?.get::<PullResult>()?, &plan.targets[at]);
        let (layout, drives, drive, built) = match &act.pool {
            PulledPool::Built(built) => {
                let build = plan.build(at)?;
                (build.layout, build.drives.len(), name(target, built.member)?, Some(built))
            }
            PulledPool::InUse(used) => {
                let pool = target.pool.as_ref()?;
                let drives = usize::try_from(pool.members).ok()?;
                (Layout::of_name(&pool.kind)?, drives, used.label.clone(), None)
            }
        };
        Some(Case { layout, drives, pool: &target.given, drive, by: act.by, built, pulled })
    };
    plan.steps.iter().filter_map(case).collect()
}
