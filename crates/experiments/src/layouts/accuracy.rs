//! What was predicted of layouts beside what was measured: how far off it was, and what was not predicted.

use std::collections::BTreeMap;

use super::{super::common::Group, compared::Compared};
use crate::{
    plan::{FILL, Plan, Prediction, Rule},
    units::{Layout, count, distinct, duration, listed, percent, signed_percent},
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

/// Loads in which one operation took a large part of a run: how often such operations come, so short a run can't say.
pub(super) fn too_short(groups: &[Group<'_>], names: &[String]) -> Option<String> {
    /// The share of a run that an operation may take.
    const PART: f64 = 0.2;
    let (mut loads, mut longest, mut least) = (Vec::new(), 0.0_f64, f64::INFINITY);
    // Where several are under way, each waits for the others.
    let is_single = |group: &&Group<'_>| group.measure.load.depth == 1 && group.measure.load.streams == 1;
    for group in groups.iter().filter(|group| group.measure.label != FILL).filter(is_single) {
        let Rule::Fixed { seconds: Some(seconds), .. } = group.measure.rule else { continue };
        let Some(took) = group.longest().map(|longest| longest.estimate.value) else { continue };
        if took > PART * seconds {
            loads.push(format!("{} of {}", group.measure.label, names.get(group.at)?));
            (longest, least) = (longest.max(took), least.min(seconds));
        }
    }
    (!loads.is_empty()).then(|| {
        format!(
            "Too short to say how often operations take up to {}, in runs of {}: {}. Repeat with --runtime {:.0}s or more.",
            duration(longest),
            duration(least),
            listed(&distinct(loads)),
            (longest / PART).ceil()
        )
    })
}

/// What is not predicted of which layouts, and of which drive it would have to follow.
pub(super) fn not_predicted(predictions: &[Prediction], plan: &Plan, names: &[String]) -> Vec<String> {
    // Layouts that lack the same share a sentence.
    let mut layouts: BTreeMap<(Cause, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for prediction in predictions {
        let Some(layout) = plan.targets.get(prediction.pool as usize) else { continue };
        let mut lacks: BTreeMap<Cause, Vec<&str>> = BTreeMap::new();
        for not in &prediction.not {
            lacks.entry((not.drive, not.is_measured, not.seeks)).or_default().push(&not.label);
        }
        for (cause, loads) in lacks {
            layouts.entry((cause, loads)).or_default().push(&layout.given);
        }
    }
    let sentence = |(((drive, is_measured, seeks), loads), layouts): ((Cause, Vec<&str>), Vec<&str>)| {
        let drive = names.get(drive as usize)?;
        let why = match (is_measured, seeks) {
            (_, true) => {
                format!("the head of {drive} moves between data, parity and copies, and how far is not known")
            }
            (false, _) => format!("{drive} was not measured with all loads that they follow from"),
            (true, _) => {
                format!("the speeds of {drive} with small and with large blocks contradict each other")
            }
        };
        Some(format!("Not predicted: {} of {}: {why}.", listed(&loads), listed(&layouts)))
    };
    layouts.into_iter().filter_map(sentence).collect()
}

/// The drive that a load does not follow from, whether it was measured, and whether it moves a head.
type Cause = (u32, bool, bool);
