//! The results of writing to a directory.

use super::{
    super::common::{Group, Series, Summary},
    plan::{AGAIN, WRITE},
};
use crate::{
    analyse::CliffEstimate,
    findings::LoadKey,
    plan::{Pause, Plan},
    record::Run,
    target::Target,
    units::Caching,
};

pub(super) struct Written<'a> {
    pub target: &'a Target,
    pub first: Writing,
    /// Pause before the second write, s.
    pub pause: Option<f64>,
    pub again: Option<Writing>,
    /// Writes went through the page cache, so they don't show the drive.
    pub cached: bool,
}

pub(super) struct Writing {
    pub run: Summary,
    pub load: LoadKey,
    /// Where the speed fell, the last time for good.
    pub falls: Vec<CliffEstimate>,
}

/// The write of this label on this target.
fn take(groups: &mut [Group<'_>], at: usize, label: &str) -> Option<Writing> {
    let group = groups.iter_mut().find(|group| group.at == at && group.measure.label == label)?;
    let run = group.runs.pop()?;
    Some(Writing { falls: run.rule.cliff_estimates(), run, load: group.load.clone() })
}

pub(super) fn written<'a>(
    run: &Run<Series>,
    plan: &'a Plan,
    groups: &mut [Group<'_>],
    at: usize,
    target: &'a Target,
) -> Option<Written<'a>> {
    let first = take(groups, at, WRITE)?;
    let mut pauses = plan.steps.iter().filter(|step| step.act.is::<Pause>());
    Some(Written {
        target,
        cached: first.load.caching != Some(Caching::Direct),
        first,
        pause: pauses.find_map(|step| run.acts.get(&(step.id, at))).map(|result| result.seconds),
        again: take(groups, at, AGAIN),
    })
}
