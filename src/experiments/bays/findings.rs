//! How bays reads its record.

use super::{
    super::{
        Experiment,
        loaded_run::{Gathered, Group},
        table_cells::{column, short, value},
        target_checks::FILL,
    },
    verdicts,
};
use crate::{
    analyse::{
        latin_square::{Arrangement, Crossed},
        repeat,
    },
    findings::{Axis, Curve, Figure, Findings, Named, Point, Style, Table},
    inventory::Drive,
    plan::Plan,
    record::Event,
    units::{Ended, percent},
};

/// One load in all arrangements.
pub(super) struct Crossing {
    /// Such as `read`.
    pub label: String,
    /// Which bay each target was in, by arrangement.
    pub design: Vec<Arrangement>,
    /// Speeds, bytes per second, by arrangement and target.
    pub speeds: Vec<Vec<Option<f64>>>,
    /// What it adds up to, where it is whole.
    pub crossed: Option<Crossed>,
}

/// The bays as people call them, in the order in which the targets were in them at first.
pub(super) fn bays(plan: &Plan) -> Vec<String> {
    let first = plan.arrangements().next();
    first.map(|(_, a)| a.bays.iter().map(|b| plan.bay_name(b)).collect()).unwrap_or_default()
}

pub(super) fn findings(experiment: &dyn Experiment, record: &mut dyn Iterator<Item = Event>) -> Findings {
    let mut there: Vec<Drive> = Vec::new();
    let mut held = Gathered::read(record, |event| {
        if let Event::Act { result, .. } = event {
            there.extend(result.drives.iter().cloned());
        }
    });
    let mut findings = held.findings(experiment);
    let Some(plan) = held.plan.clone() else { return findings };
    let groups = held.groups(&plan, FILL);
    let mut labels: Vec<&str> = Vec::new();
    groups.iter().for_each(|g| {
        if !labels.contains(&g.measure.label.as_str()) {
            labels.push(&g.measure.label)
        }
    });
    let crossings: Vec<Crossing> = labels.iter().map(|label| crossing(&plan, &groups, label)).collect();
    for c in &crossings {
        findings.tables.push(speeds(&plan, c));
        findings.tables.extend(c.crossed.as_ref().map(|crossed| shares(c, crossed)));
        findings.figures.push(figure(&plan, c));
        findings.estimates.extend(named(&plan, c));
    }
    findings.verdicts = verdicts::verdicts(&plan, &crossings, &there, &findings.run);
    findings
}

fn crossing(plan: &Plan, groups: &[Group<'_>], label: &str) -> Crossing {
    let arrangements: Vec<_> = plan.arrangements().map(|(_, a)| a).collect();
    let bays: Vec<&String> = arrangements.first().map(|a| a.bays.iter().collect()).unwrap_or_default();
    let place = |bay: &String| bays.iter().position(|b| *b == bay).unwrap_or(0);
    let speed = |number: u32, at: usize| {
        let group = groups.iter().find(|g| g.at == at && g.measure.label == label)?;
        let whole = |e: &Option<Ended>| matches!(e, Some(Ended::Finished | Ended::Stopped));
        let run = group.runs.iter().find(|r| r.repetition == number && whole(&r.ended))?;
        Some(run.bytes as f64 / run.seconds).filter(|s| s.is_finite() && *s > 0.0)
    };
    let design: Vec<Arrangement> = arrangements.iter().map(|a| a.bays.iter().map(place).collect()).collect();
    let speeds: Vec<Vec<Option<f64>>> =
        arrangements.iter().map(|a| (0..a.bays.len()).map(|at| speed(a.number, at)).collect()).collect();
    let whole: Option<Vec<Vec<f64>>> = speeds.iter().map(|row| row.iter().copied().collect()).collect();
    let crossed = whole.and_then(|values| Crossed::of(&design, &values));
    Crossing { label: label.to_owned(), design, speeds, crossed }
}

impl Crossing {
    /// The speeds of a target in a bay, or in all.
    pub fn of(&self, at: usize, bay: Option<usize>) -> Vec<f64> {
        let rows = self.design.iter().zip(&self.speeds);
        let rows = rows.filter(|(a, _)| bay.is_none_or(|bay| a.get(at) == Some(&bay)));
        rows.filter_map(|(_, row)| row.get(at).copied().flatten()).collect()
    }
}

fn mean(speeds: &[f64]) -> Option<f64> {
    (!speeds.is_empty()).then(|| speeds.iter().sum::<f64>() / speeds.len() as f64)
}

/// Drives down, bays across.
fn speeds(plan: &Plan, c: &Crossing) -> Table {
    let bays = bays(plan);
    let mut columns = vec![column("drive", false)];
    columns.extend(bays.iter().map(|bay| column(&short(bay), true)));
    columns.push(column("all, 95 %", false));
    let row = |at: usize| {
        let cell =
            |bay: usize| mean(&c.of(at, Some(bay))).map_or("-".to_owned(), |s| format!("{:.3}", s / 1e6));
        let mut row = vec![name(plan, at)];
        row.extend((0..bays.len()).map(cell));
        row.push(repeat::mean(&c.of(at, None)).map_or("-".to_owned(), |e| value(&e)));
        row
    };
    let rows = (0..plan.targets.len()).map(row).collect();
    Table { title: format!("{}: MB/s of each drive in each bay", c.label), columns, rows }
}

/// A drive in tables and sentences: its serial, short enough for a column.
pub(super) fn name(plan: &Plan, at: usize) -> String {
    let drive = plan.targets.get(at).and_then(|t| t.drives.first());
    short(&drive.map_or(at.to_string(), Drive::model_and_serial))
}

fn shares(c: &Crossing, crossed: &Crossed) -> Table {
    let row = |what: &str, factor: &crate::analyse::latin_square::Factor| {
        let e = &factor.share;
        let interval = format!("{} to {}", percent(e.low), percent(e.high));
        vec![what.to_owned(), percent(e.value), interval, format!("{:.4}", factor.p)]
    };
    let rest = vec!["rest".to_owned(), percent(crossed.rest), String::new(), String::new()];
    let columns = [("", false), ("share", true), ("95 %", false), ("p", true)];
    Table {
        title: format!("{}: what explains the differences", c.label),
        columns: columns.map(|(name, right)| column(name, right)).to_vec(),
        rows: vec![row("drives", &crossed.things), row("bays", &crossed.places), rest],
    }
}

fn figure(plan: &Plan, c: &Crossing) -> Figure {
    let bays = bays(plan);
    let curve = |at: usize| {
        let points = (0..bays.len())
            .flat_map(|bay| c.of(at, Some(bay)).into_iter().map(move |speed| Point::new(bay as f64, speed)));
        Curve::new(name(plan, at), Style::Dots, points)
    };
    let curves: Vec<Curve> = (0..plan.targets.len()).map(curve).collect();
    let n: usize = curves.iter().map(|c| c.points.len()).sum();
    Figure {
        title: format!("{} speed of each drive in each bay", c.label),
        text:
            "Drives that differ stand one above the other in every bay; a slow bay lowers all that is in it."
                .to_owned(),
        n: format!("n = {n} measurements"),
        x: Axis::named("bay", bays),
        y: Axis::speed(),
        curves,
        ..Figure::default()
    }
}

fn named(plan: &Plan, c: &Crossing) -> Vec<Named> {
    let label = &c.label;
    let mut all = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let speed = repeat::mean(&c.of(at, None));
        all.extend(speed.map(|e| Named::new(&target.given, format!("{label} throughput"), "B/s", e)));
    }
    let Some(crossed) = &c.crossed else { return all };
    for (what, factor) in [("drives", &crossed.things), ("bays", &crossed.places)] {
        all.push(Named::new(what, format!("{label}: share of the variance"), "", factor.share.clone()));
    }
    let of = if plan.targets.len() == 2 { "other" } else { "median" };
    let others = format!("{label}, as a multiple of the {of}");
    for (target, e) in plan.targets.iter().zip(&crossed.things.levels) {
        all.push(Named::new(&target.given, &others, "", e.clone()));
    }
    for (bay, e) in bays(plan).iter().zip(&crossed.places.levels) {
        all.push(Named::new(&format!("bay {bay}"), &others, "", e.clone()));
    }
    all
}
