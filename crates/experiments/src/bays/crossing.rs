//! The speeds of each drive in each bay, and their analysis.

use super::super::common::Group;
use crate::{
    analyse::latin_square::{Arrangement, Crossed},
    findings::{LoadKey, short},
    inventory::Drive,
    plan::Plan,
    units::Ended,
};

/// One load in all arrangements.
pub(super) struct Crossing {
    pub label: String,
    pub load: LoadKey,
    /// Which bay each target was in, by arrangement.
    pub design: Vec<Arrangement>,
    /// Speeds, bytes per second, by arrangement and target.
    pub speeds: Vec<Vec<Option<f64>>>,
    pub crossed: Option<Crossed>,
}

/// The names of the bays, in the order of the targets in the first arrangement.
pub(super) fn bays(plan: &Plan) -> Vec<String> {
    let first = plan.arrangements().next();
    first.map(|(_, a)| a.bays.iter().map(|b| plan.bay_name(b)).collect()).unwrap_or_default()
}

pub(super) fn crossing(plan: &Plan, groups: &[Group<'_>], label: &str) -> Crossing {
    let arrangements: Vec<_> = plan.arrangements().map(|(_, a)| a).collect();
    let bays: Vec<&String> = arrangements.first().map(|a| a.bays.iter().collect()).unwrap_or_default();
    let place = |bay: &String| bays.iter().position(|b| *b == bay).unwrap_or(0);
    let speed = |number: u32, at: usize| {
        let group = groups.iter().find(|g| g.at == at && g.measure.label == label)?;
        let whole = |e: &Option<Ended>| e.as_ref().is_some_and(Ended::is_whole);
        let run = group.runs.iter().find(|r| r.repetition == number && whole(&r.ended))?;
        Some(run.bytes as f64 / run.seconds).filter(|s| s.is_finite() && *s > 0.0)
    };
    let design: Vec<Arrangement> = arrangements.iter().map(|a| a.bays.iter().map(place).collect()).collect();
    let speeds: Vec<Vec<Option<f64>>> =
        arrangements.iter().map(|a| (0..a.bays.len()).map(|at| speed(a.number, at)).collect()).collect();
    let whole: Option<Vec<Vec<f64>>> = speeds.iter().map(|row| row.iter().copied().collect()).collect();
    let crossed = whole.and_then(|values| Crossed::of(&design, &values));
    let load = groups.iter().find(|g| g.measure.label == label).map(|g| g.load.clone()).unwrap_or_default();
    Crossing { label: label.to_owned(), load, design, speeds, crossed }
}

impl Crossing {
    /// The speeds of a target in one bay, or in all bays.
    pub fn speeds_of(&self, at: usize, bay: Option<usize>) -> Vec<f64> {
        let rows = self.design.iter().zip(&self.speeds);
        let rows = rows.filter(|(a, _)| bay.is_none_or(|bay| a.get(at) == Some(&bay)));
        rows.filter_map(|(_, row)| row.get(at).copied().flatten()).collect()
    }
}

/// A drive in tables and sentences: its serial, short enough for a column.
pub(super) fn name(plan: &Plan, at: usize) -> String {
    let drive = plan.targets.get(at).and_then(|t| t.drives.first());
    short(&drive.map_or(at.to_string(), Drive::model_and_serial))
}
