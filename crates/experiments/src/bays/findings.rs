//! Findings of bays.

use super::{
    super::common::{self, Group, Series},
    verdicts,
};
use crate::{
    analyse::{
        Estimate,
        latin_square::{Arrangement, Crossed},
        repeat,
    },
    findings::{Column, Factor, Findings, LoadKey, Metric, Quantity, Reference, Table, short},
    inventory::Drive,
    plan::Plan,
    record::Run,
    units::{Ended, rate},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let groups = common::group(run, plan);
    let labels = common::labels(&groups);
    let crossings: Vec<Crossing> = labels.iter().map(|label| crossing(plan, &groups, label)).collect();
    for c in &crossings {
        findings.tables.push(speeds(plan, c));
        findings.estimates.extend(metrics(plan, c));
        let differ = c.crossed.iter().filter(|crossed| crossed.places.differ);
        findings.evidence.extend(differ.flat_map(|crossed| levels(plan, c, crossed)));
    }
    findings.verdicts = verdicts::verdicts(plan, &crossings, &findings.run);
}

/// Drives down, bays across.
fn speeds(plan: &Plan, c: &Crossing) -> Table {
    let bays = bays(plan);
    let mut columns = vec![Column::new("drive", false)];
    columns.extend(bays.iter().map(|bay| Column::new(&short(bay), true)));
    columns.push(Column::new("all, 95 %", false));
    let row = |at: usize| {
        let cell = |bay: usize| match &c.speeds_of(at, Some(bay))[..] {
            [] => "-".to_owned(),
            speeds => format!("{:.3}", speeds.iter().sum::<f64>() / speeds.len() as f64 / 1e6),
        };
        let mut row = vec![name(plan, at)];
        row.extend((0..bays.len()).map(cell));
        row.push(repeat::mean(&c.speeds_of(at, None)).map_or("-".to_owned(), |e| e.text(rate)));
        row
    };
    let rows = (0..plan.targets.len()).map(row).collect();
    Table { title: format!("{}: MB/s of each drive in each bay", c.label), columns, rows }
}

fn metrics(plan: &Plan, c: &Crossing) -> Vec<Metric> {
    let metric = |target: &str, quantity, estimate| Metric::new(target, quantity, estimate).of(&c.load);
    let mut all = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let speed = repeat::mean(&c.speeds_of(at, None));
        all.extend(speed.map(|e| metric(&target.given, Quantity::Throughput, e)));
    }
    let Some(crossed) = &c.crossed else { return all };
    all.push(metric("drives", Quantity::VarianceShare(Factor::Drives), crossed.things.share.clone()));
    all.push(metric("bays", Quantity::VarianceShare(Factor::Bays), crossed.places.share.clone()));
    for (target, e) in plan.targets.iter().zip(&crossed.things.levels) {
        all.push(metric(&target.given, Quantity::RelativeSpeed(others(plan)), e.clone()));
    }
    all.extend(levels(plan, c, crossed));
    all
}

/// The speed of each bay against the others.
fn levels(plan: &Plan, c: &Crossing, crossed: &Crossed) -> Vec<Metric> {
    let level = |(bay, e): (&String, &Estimate)| {
        let quantity = Quantity::RelativeSpeed(others(plan));
        Metric::new(&format!("bay {bay}"), quantity, e.clone()).of(&c.load)
    };
    bays(plan).iter().zip(&crossed.places.levels).map(level).collect()
}

fn others(plan: &Plan) -> Reference {
    if plan.targets.len() == 2 { Reference::Other } else { Reference::Median }
}

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
