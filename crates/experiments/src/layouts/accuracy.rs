//! Predicted and measured speeds of layouts: how far predictions were off.

use super::{super::common::Group, compared::Compared};
use crate::{
    plan::{FILL, Plan, Rule},
    units::{Layout, count, duration, percent},
};

/// The layout of a target.
fn layout(plan: &Plan, at: usize) -> Layout {
    plan.build(at).map_or(Layout::Single, |build| build.layout)
}

/// The error of the predictions, without those of layouts that use one drive: these repeat a measurement.
pub(super) fn quality(compared: &[Compared], plan: &Plan, drives: usize) -> Option<String> {
    let is_of_one =
        |c: &Compared, at: usize| c.load.direction.is_some_and(|way| layout(plan, at).is_of_one_drive(way));
    let all = compared.iter().flat_map(|c| (drives..plan.targets.len()).map(move |at| (c, at)));
    let all = all.filter(|(c, at)| !is_of_one(c, *at));
    let errors: Vec<f64> = all.filter_map(|(c, at)| c.error(at)).map(f64::abs).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let speeds = count(errors.len() as u64, "speed");
    (!errors.is_empty())
        .then(|| format!("Predictions were off by {} on average over {speeds}.", percent(mean)))
}

/// Single operations that took a large part of a run: so short a run can't say how often they come.
pub(super) fn too_short(groups: &[Group<'_>]) -> Option<String> {
    /// The share of a run that an operation may take.
    const PART: f64 = 0.2;
    // Where several are under way, each waits for the others.
    let is_single = |group: &&Group<'_>| group.measure.load.depth == 1 && group.measure.load.streams == 1;
    let longest = |group: &Group<'_>| {
        let Rule::Fixed { seconds: Some(seconds), .. } = group.measure.rule else { return None };
        group.longest().map(|longest| longest.estimate.value).filter(|took| *took > PART * seconds)
    };
    let singles = groups.iter().filter(|group| group.measure.label != FILL).filter(is_single);
    let took = singles.filter_map(longest).reduce(f64::max)?;
    Some(format!(
        "Runs are too short for operations of up to {}: repeat with --runtime {:.0}s or more.",
        duration(took),
        (took / PART).ceil()
    ))
}
