//! Findings of bays.

use super::super::common::{self, Group, Series};
use crate::{
    analyse::{
        Estimate,
        latin_square::{self, Arrangement, Crossed, balanced},
        repeat,
    },
    findings::{Column, Findings, LoadKey, Metric, Quantity, Reference, Table, short},
    inventory::Drive,
    plan::Plan,
    record::Run,
    units::{Ended, count, percent, rate, signed_percent},
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
    findings.verdicts = verdicts(plan, &crossings, &findings.run);
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
    all.push(metric("drives", Quantity::VarianceShare, crossed.things.share.clone()));
    all.push(metric("bays", Quantity::VarianceShare, crossed.places.share.clone()));
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
struct Crossing {
    label: String,
    load: LoadKey,
    /// Which bay each target was in, by arrangement.
    design: Vec<Arrangement>,
    /// Speeds, bytes per second, by arrangement and target.
    speeds: Vec<Vec<Option<f64>>>,
    crossed: Option<Crossed>,
}

/// The names of the bays, in the order of the targets in the first arrangement.
fn bays(plan: &Plan) -> Vec<String> {
    let first = plan.arrangements().next();
    first.map(|(_, a)| a.bays.iter().map(|b| plan.bay_name(b)).collect()).unwrap_or_default()
}

fn crossing(plan: &Plan, groups: &[Group<'_>], label: &str) -> Crossing {
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
    fn speeds_of(&self, at: usize, bay: Option<usize>) -> Vec<f64> {
        let rows = self.design.iter().zip(&self.speeds);
        let rows = rows.filter(|(a, _)| bay.is_none_or(|bay| a.get(at) == Some(&bay)));
        rows.filter_map(|(_, row)| row.get(at).copied().flatten()).collect()
    }
}

/// A drive in tables and sentences: its serial, short enough for a column.
fn name(plan: &Plan, at: usize) -> String {
    let drive = plan.targets.get(at).and_then(|t| t.drives.first());
    short(&drive.map_or(at.to_string(), Drive::model_and_serial))
}

fn verdicts(plan: &Plan, crossings: &[Crossing], run: &str) -> Vec<String> {
    let mut short = Vec::new();
    for c in crossings {
        let Some(crossed) = &c.crossed else {
            short.push(format!("{}: {}", c.label, open(c, run)));
            continue;
        };
        short.push(format!("{}: {}", c.label, answer(plan, crossed)));
        if crossed.things.least > 0.05 || crossed.places.least > 0.05 {
            let p = chance(crossed.things.least);
            short.push(format!(
                "Too few arrangements to show a difference at 5 % ({p} at best): raise --runs."
            ));
        }
    }
    if crossings.iter().filter_map(|c| c.crossed.as_ref()).any(|c| c.places.differ) {
        short.push(
            "Try another cable or hub for a slow bay, or use it for the least important drive.".to_owned(),
        );
    }
    short
}

/// Bays or drives that differ by no more than this are as good as equal.
const ALIKE: f64 = 0.05;

/// Whether all are as good as equal, whole intervals included; not to find a difference is not enough.
fn alike(factor: &latin_square::Factor) -> bool {
    furthest(factor) <= ALIKE
}

/// The largest difference that is not excluded.
fn furthest(factor: &latin_square::Factor) -> f64 {
    factor.levels.iter().map(|e| (1.0 - e.low).max(e.high - 1.0)).fold(0.0, f64::max)
}

fn open(c: &Crossing, run: &str) -> String {
    let done = c.speeds.iter().filter(|row| row.iter().all(Option::is_some)).count();
    if done == c.design.len() && balanced(&c.design) {
        return "no answer: all measurements are equal, or there are too few for a test. Raise --runs."
            .to_owned();
    }
    let all = count(c.design.len() as u64, "arrangement");
    format!(
        "{done} of {all} measured. All are needed to separate drives from bays. \
         `drivebench run bays --resume {run}` continues a run that was stopped; \
         if a measurement was left out, start a new run."
    )
}

fn answer(plan: &Plan, c: &Crossed) -> String {
    let (drives, bays_) = (&c.things, &c.places);
    // Only where whole intervals are narrow, the other factor is excluded.
    let only =
        |what: &str, yes: &latin_square::Factor, other: &str, no: &latin_square::Factor| match alike(no) {
            true => format!("the {what}, not the {other} ({})", chance(yes.p)),
            false => {
                let most = percent(furthest(no));
                format!("the {what} ({}); {other}s may differ by up to {most}", chance(yes.p))
            }
        };
    let cause = match (drives.differ, bays_.differ) {
        (true, false) => only("drive", drives, "bay", bays_),
        (false, true) => only("bay", bays_, "drive", drives),
        (true, true) => format!("both drive ({}) and bay ({})", chance(drives.p), chance(bays_.p)),
        (false, false) => format!(
            "no difference found: bays differ by {} at most, drives by {}",
            percent(furthest(bays_)),
            percent(furthest(drives))
        ),
    };
    let names: Vec<String> = (0..plan.targets.len()).map(|at| name(plan, at)).collect();
    let ports: Vec<String> = bays(plan).iter().map(|bay| format!("bay {bay}")).collect();
    let levels = apart(bays_, &ports, "bay").into_iter().chain(apart(drives, &names, "drive"));
    [cause].into_iter().chain(levels).map(|text| text + ".").collect::<Vec<_>>().join(" ")
}

fn chance(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// Which ones differ from the others, and by how much.
fn apart(factor: &latin_square::Factor, names: &[String], what: &str) -> Option<String> {
    let mut apart: Vec<_> =
        factor.levels.iter().zip(names).filter(|(e, _)| e.high < 1.0 || e.low > 1.0).collect();
    apart.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
    // With two, the difference is stated once.
    apart.truncate(if names.len() == 2 { 1 } else { usize::MAX });
    let each = apart.iter().map(|(e, name)| format!("{name} {}", signed_percent(e.value - 1.0)));
    let each: Vec<String> = each.collect();
    let than = if names.len() == 2 { "the other".to_owned() } else { format!("the median {what}") };
    (factor.differ && !each.is_empty()).then(|| format!("Against {than}: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::analyse::latin_square::{draw, rounds};

    #[test]
    fn bays_are_called_alike_only_where_they_are() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut said = |slow: f64, noise: f64| {
            let mut once = || {
                let design = draw(4, rounds(4), &mut random);
                let mut value = |bay: usize| {
                    let luck: f64 = random.sample(StandardNormal);
                    (if bay == 0 { 1.0 - slow } else { 1.0 }) * (noise * luck).exp()
                };
                let values: Vec<Vec<f64>> =
                    design.iter().map(|a| a.iter().map(|&bay| value(bay)).collect()).collect();
                Crossed::of(&design, &values).is_some_and(|c| alike(&c.places))
            };
            (0..30).filter(|_| once()).count()
        };
        // One bay is slow, and the noise hides it from a test of differences.
        assert_eq!(said(0.15, 0.1), 0);
        assert!(said(0.0, 0.01) >= 28);
    }
}
