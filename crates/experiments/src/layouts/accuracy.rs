//! Predicted and measured speeds of layouts: how far predictions were off.

use super::compared::Compared;
use crate::{
    plan::Plan,
    units::{Layout, count, percent},
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
