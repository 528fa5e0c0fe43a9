//! Findings of bays.

use super::{
    super::common::{self, Series},
    crossing::{Crossing, bays, crossing, name},
    verdicts,
};
use crate::{
    analyse::{Estimate, latin_square::Crossed, repeat},
    findings::{Column, Factor, Findings, Metric, Quantity, Reference, Table, short},
    plan::Plan,
    record::Run,
    units::rate,
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
