//! What was predicted of layouts beside what was measured: how far off it was, and what was not predicted.

use std::collections::BTreeMap;

use super::{super::common::Group, compared::Compared};
use crate::{
    plan::{FILL, Plan, Prediction, Rule},
    units::{Layout, count, duration, listed, percent, signed_percent},
};

/// The layout of a target.
fn layout(plan: &Plan, at: usize) -> Layout {
    plan.build(at).map_or(Layout::Single, |build| build.layout)
}

/// How good the predictions were. What is predicted from one drive is what was measured of it, and is left out.
pub(super) fn quality(compared: &[Compared], plan: &Plan, drives: usize) -> Option<String> {
    let is_of_one =
        |c: &Compared, at: usize| c.load.direction.is_some_and(|way| layout(plan, at).is_of_one_drive(way));
    let all = compared.iter().flat_map(|c| (drives..plan.targets.len()).map(move |at| (c, at)));
    let all = all.filter(|(c, at)| !is_of_one(c, *at));
    let errors: Vec<_> = all.filter_map(|(c, at)| Some((c.error(at)?, c, at))).collect();
    let (worst, c, at) = errors.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    let mean = errors.iter().map(|(error, ..)| error.abs()).sum::<f64>() / errors.len() as f64;
    Some(format!(
        "Predictions were off by {} on average over {}; the worst is {} of {}, {}.",
        percent(mean),
        count(errors.len() as u64, "speed"),
        c.label,
        plan.targets[*at].given,
        signed_percent(*worst)
    ))
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

/// The loads that are not predicted of which layouts; layouts that lack the same loads share a sentence.
pub(super) fn not_predicted(predictions: &[Prediction], plan: &Plan) -> Vec<String> {
    let mut layouts: BTreeMap<&[String], Vec<&str>> = BTreeMap::new();
    for prediction in predictions.iter().filter(|prediction| !prediction.not.is_empty()) {
        let Some(layout) = plan.targets.get(prediction.pool as usize) else { continue };
        layouts.entry(&prediction.not).or_default().push(&layout.given);
    }
    let sentence = |(loads, layouts): (&[String], Vec<&str>)| {
        let (loads, layouts) = (listed(loads), listed(&layouts));
        format!("Not predicted: {loads} of {layouts}: they don't follow from what each drive did alone.")
    };
    layouts.into_iter().map(sentence).collect()
}
