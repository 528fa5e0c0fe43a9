//! Findings of layouts: what each is like, predicted beside measured.

use std::collections::BTreeMap;

use super::{
    super::common::{self, FileSets, Group, MeasuredFiles, Series, all_file_sets, file_metrics},
    plan::labels_at_once,
    recommend::{Candidate, recommend},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{
        Axis, Column, Curve, Figure, Findings, LoadKey, Metric, Point, Quantity, Scope, Style, Table, short,
    },
    plan::{Act, Plan, Prediction},
    record::{ProcessorUse, Run},
    units::{
        Layout, PredictedLoad, capital, count, decimal_bytes, duration, listed, percent, rate,
        signed_percent, thousands,
    },
};

/// One load on all targets.
struct Compared {
    label: String,
    load: LoadKey,
    /// By the position of the target.
    measured: Vec<Option<Estimate>>,
    predicted: Vec<Option<PredictedLoad>>,
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let predictions = predictions(run, plan);
    let filled: Vec<Option<f64>> = (0..plan.targets.len()).map(|at| filled(run, plan, at)).collect();
    // Grouping takes the loads out of the run.
    let processors = processors(run, plan);
    let files = all_file_sets(plan, &run.acts);
    let groups = common::group(run, plan);
    let labels: Vec<String> = common::labels(&groups).into_iter().map(str::to_owned).collect();
    let drives = plan.builds().filter(|(_, build)| build.drives.len() == 1).count();
    let compared: Vec<Compared> = labels
        .iter()
        .filter(|label| groups.iter().any(|g| g.measure.label == **label && g.at >= drives))
        .map(|label| compare(label, &groups, &predictions, plan.targets.len()))
        .collect();
    let candidates = candidates(plan, drives, &compared);
    findings.tables.extend(about(&candidates, &predictions, &filled, drives));
    findings.tables.extend(compared.iter().map(|c| table(c, plan, drives)));
    findings.tables.extend(files_table(&files, plan));
    findings.tables.extend(at_once(&groups, plan, drives));
    findings.tables.extend(processor(&compared, &processors, plan, drives));
    findings.figures = compared.iter().map(|c| figure(c, plan)).collect();
    if let Some((_, predict)) = plan.predict() {
        findings.verdicts = recommend(&candidates, predict.want.as_deref(), predict.survive as usize);
    }
    findings.details.sentences.extend(parity(run, plan));
    findings.verdicts.extend(quality(&compared, plan, drives));
    for (target, sets) in plan.targets.iter().zip(&files) {
        findings.estimates.extend(file_metrics(&target.given, sets));
    }
    for c in &compared {
        for (at, target) in plan.targets.iter().enumerate() {
            let metric =
                |e: &Estimate| Metric::new(&target.given, Quantity::Throughput, e.clone()).of(&c.load);
            let scope = if at < drives { Scope::Alone } else { Scope::Whole };
            findings.estimates.extend(c.measured[at].as_ref().map(|e| metric(e).at(scope)));
            let predicted = c.predicted[at].as_ref().map(Estimate::predicted);
            findings.estimates.extend(predicted.map(|e| metric(&e).at(Scope::Predicted)));
        }
    }
}

fn predictions(run: &Run<Series>, plan: &Plan) -> Vec<Prediction> {
    let act = plan.predict().and_then(|(step, _)| run.acts.get(&(step.id, step.targets().next()?)));
    act.map(|act| act.predictions.clone()).unwrap_or_default()
}

/// How fast the kernel computes parity.
fn parity(run: &Run<Series>, plan: &Plan) -> Option<String> {
    let (step, _) = plan.predict()?;
    let parity = run.acts.get(&(step.id, step.targets().next()?))?.parity;
    let of = |name: &str, speed: Option<f64>| Some(format!("{name} at {}", rate(speed?)));
    let known: Vec<String> =
        [of("raid5", parity.xor), of("raid6", parity.raid6)].into_iter().flatten().collect();
    let computes =
        format!("This kernel computes parity of {} of data, by its own measurement.", listed(&known));
    (!known.is_empty()).then_some(computes)
}

fn filled(run: &Run<Series>, plan: &Plan, at: usize) -> Option<f64> {
    let builds = plan.steps.iter().filter(|step| step.is_on(at) && matches!(step.act, Act::BuildPool(_)));
    builds.filter_map(|step| run.acts.get(&(step.id, at))?.filled_seconds).next()
}

fn compare(label: &str, groups: &[Group<'_>], predictions: &[Prediction], targets: usize) -> Compared {
    let of = |at: usize| groups.iter().find(|g| g.at == at && g.measure.label == label);
    let predicted = |at: usize| {
        let pool = predictions.iter().find(|p| p.pool as usize == at)?;
        pool.loads.iter().find(|load| load.label == label).cloned()
    };
    let load = groups.iter().find(|g| g.measure.label == label).map(|g| g.load.clone());
    Compared {
        label: label.to_owned(),
        load: load.unwrap_or_default(),
        measured: (0..targets).map(|at| repeat::middle(&of(at)?.speeds())).collect(),
        predicted: (0..targets).map(predicted).collect(),
    }
}

fn candidates(plan: &Plan, drives: usize, compared: &[Compared]) -> Vec<Candidate> {
    let of = |label: &str, at: usize| {
        compared.iter().find(|c| c.label == label).and_then(|c| c.measured[at].clone())
    };
    let pools = plan.builds().filter(|(at, _)| *at >= drives);
    let candidate = |(at, build): (usize, &crate::plan::BuildPool)| {
        let sectors: Vec<u64> = plan.targets[at].drives.iter().map(|drive| drive.sectors).collect();
        Candidate {
            layout: build.layout,
            drives,
            holds: build.layout.capacity(&sectors, build.chunk / 512) * 512,
            write: of("write 1M", at),
            read: of("read 1M", at),
        }
    };
    pools.map(candidate).collect()
}

/// What the layouts are, without speeds.
fn about(
    candidates: &[Candidate],
    predictions: &[Prediction],
    filled: &[Option<f64>],
    drives: usize,
) -> Option<Table> {
    let columns = Column::all([
        ("layout", false),
        ("whole drives hold", true),
        ("may fail", true),
        ("filled in", true),
        ("predicted", true),
    ]);
    let rows = candidates.iter().zip(drives..).map(|(one, at)| {
        let predicted = predictions.iter().find(|p| p.pool as usize == at).and_then(|p| p.fill_seconds);
        let time = |seconds: Option<f64>| seconds.map_or("-".to_owned(), duration);
        vec![
            one.layout.to_string(),
            decimal_bytes(one.holds),
            one.layout.survives(drives).to_string(),
            time(filled[at]),
            time(predicted),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    (!rows.is_empty()).then(|| Table { title: String::new(), columns, rows })
}

/// Each drive alone, and each layout: measured, predicted, and as a share of what the drives do alone.
fn table(c: &Compared, plan: &Plan, drives: usize) -> Table {
    let mut columns = Column::all([
        (&c.label, false),
        ("measured", false),
        ("predicted", false),
        ("error", true),
        ("of the sum", true),
        ("of the best", true),
    ]);
    let known = c.measured.iter().enumerate().filter_map(|(at, e)| Some((at, e.as_ref()?)));
    columns[1].mark(&known.clone().filter(|(at, _)| *at >= drives).collect::<Vec<_>>());
    let sum: Option<f64> = c.measured[..drives].iter().map(|e| e.as_ref().map(|e| e.value)).sum();
    let best = c.measured[drives..].iter().flatten().map(|e| e.value).reduce(f64::max);
    let row = |(at, target): (usize, &crate::target::Target)| {
        let measured = c.measured[at].as_ref();
        let error = c.error(at).map_or("-".to_owned(), signed_percent);
        let share =
            |of: Option<f64>| measured.zip(of).map_or("-".to_owned(), |(e, of)| percent(e.value / of));
        vec![
            short(&target.given),
            measured.map_or("-".to_owned(), |e| e.text(rate)),
            c.predicted[at].as_ref().map_or("-".to_owned(), |p| rate(p.speed)),
            error,
            share(sum),
            share(best),
        ]
    };
    let mut rows: Vec<Vec<String>> = plan.targets.iter().enumerate().map(row).collect();
    if !c.is_predicted() {
        columns.drain(2..4);
        rows.iter_mut().for_each(|row| drop(row.drain(2..4)));
    }
    Table { title: String::new(), columns, rows }
}

impl Compared {
    fn is_predicted(&self) -> bool {
        self.predicted.iter().any(Option::is_some)
    }

    /// By how much the prediction is above what was measured, as a share of that.
    fn error(&self, at: usize) -> Option<f64> {
        Some(self.predicted[at].as_ref()?.speed / self.measured[at].as_ref()?.value - 1.0)
    }
}

/// Seconds of all processors for each byte of a load on one target, by its label.
type PerByte = BTreeMap<(String, usize), Vec<f64>>;

fn processors(run: &Run<Series>, plan: &Plan) -> PerByte {
    let mut used = PerByte::new();
    for (step, measure) in plan.measures() {
        let (&[target], Some(did)) = (&step.on[..], run.steps.get(&step.id)) else { continue };
        let Some(processors) = &did.processors else { continue };
        let outcomes = did.loads.values().filter_map(|load| load.outcome.as_ref());
        let per_byte = ProcessorUse::of(processors, outcomes).per_byte;
        used.entry((measure.label.clone(), target as usize)).or_default().push(per_byte);
    }
    used
}

/// How fast each set of files is written and read.
fn files_table(files: &[FileSets], plan: &Plan) -> Vec<Table> {
    let mut sets: Vec<_> = files.iter().flatten().flatten().map(|measured| measured.set).collect();
    sets.sort();
    sets.dedup();
    let table = |set| {
        let cell = |measured: &[MeasuredFiles]| {
            let of = measured.iter().find(|measured| measured.set == set);
            let speed = of.and_then(MeasuredFiles::files_per_second);
            speed.map_or("-".to_owned(), |e| e.text(|per_second| format!("{}/s", thousands(per_second))))
        };
        let row = |(target, [read, written]): (&crate::target::Target, &FileSets)| {
            vec![short(&target.given), cell(written), cell(read)]
        };
        Table {
            title: String::new(),
            columns: Column::all([(set.describe().as_str(), false), ("written", false), ("read", false)]),
            rows: plan.targets.iter().zip(files).map(row).collect(),
        }
    };
    sets.into_iter().map(table).collect()
}

/// How long processors worked on each layout, and what was predicted of that.
fn processor(all: &[Compared], used: &PerByte, plan: &Plan, drives: usize) -> Option<Table> {
    let compared: Vec<&Compared> = all.iter().filter(|c| c.is_predicted()).collect();
    let used = |label: &str, at: usize| {
        repeat::middle(used.get(&(label.to_owned(), at))?).map(|middle| middle.value)
    };
    let row = |head: String, of: &dyn Fn(&Compared) -> Option<f64>| {
        let cell = |c: &&Compared| of(c).map_or("-".to_owned(), |per_byte| duration(per_byte * 1e9));
        [head].into_iter().chain(compared.iter().map(cell)).collect::<Vec<_>>()
    };
    let rows = (drives..plan.targets.len()).flat_map(|at| {
        let predicted = |c: &Compared| c.predicted[at].as_ref()?.processor;
        [
            row(short(&plan.targets[at].given), &|c| used(&c.label, at)),
            row("predicted".to_owned(), &predicted),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut columns = Column::all([("", false)]);
    columns.extend(compared.iter().map(|c| Column::new(c.label.as_str(), true)));
    let known = rows.iter().any(|row| row[1..].iter().any(|cell| cell != "-"));
    known.then(|| Table { title: "Processor time for each GB".to_owned(), columns, rows })
}

/// What the drives do at once.
fn at_once(groups: &[Group<'_>], plan: &Plan, drives: usize) -> Option<Table> {
    let all: Vec<String> = labels_at_once().collect();
    let mut labels = common::labels(groups);
    labels.retain(|label| all.iter().any(|one| one == label));
    let columns: Vec<(&str, bool)> =
        [("drive", false)].into_iter().chain(labels.iter().map(|l| (*l, false))).collect();
    let columns: Vec<Column> = columns.into_iter().map(|(name, right)| Column::new(name, right)).collect();
    let speed = |label: &str, at: usize| {
        let group = groups.iter().find(|g| g.at == at && g.measure.label == label)?;
        repeat::middle(&group.speeds())
    };
    let row = |at: usize| {
        let cells = labels.iter().map(|label| speed(label, at).map_or("-".to_owned(), |e| e.text(rate)));
        [short(&plan.targets[at].given)].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let mut rows: Vec<Vec<String>> = (0..drives).map(row).collect();
    let sums = labels.iter().map(|label| {
        let sum: Option<f64> = (0..drives).map(|at| speed(label, at).map(|e| e.value)).sum();
        sum.map_or("-".to_owned(), rate)
    });
    rows.push(["sum".to_owned()].into_iter().chain(sums).collect());
    (!labels.is_empty()).then(|| Table { title: String::new(), columns, rows })
}

/// How good the predictions were. That of linear is what was measured of its first drive.
fn quality(compared: &[Compared], plan: &Plan, drives: usize) -> Option<String> {
    let is_linear = |at: &usize| plan.build(*at).is_some_and(|build| build.layout == Layout::Linear);
    let layouts: Vec<usize> = (drives..plan.targets.len()).filter(|at| !is_linear(at)).collect();
    let errors = compared.iter().flat_map(|c| layouts.iter().map(move |at| (c, *at)));
    let errors: Vec<(f64, &Compared, usize)> =
        errors.filter_map(|(c, at)| Some((c.error(at)?, c, at))).collect();
    let (worst, c, at) = errors.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    let mean = errors.iter().map(|(error, ..)| error.abs()).sum::<f64>() / errors.len() as f64;
    let of = count(errors.len() as u64, "speed");
    let (mean, worst) = (percent(mean), signed_percent(*worst));
    Some(format!(
        "Predictions, saved before the first layout was built: off by {mean} on average over {of}, linear left out; the worst is {} of {}, {worst}.",
        c.label, plan.targets[*at].given
    ))
}

fn figure(c: &Compared, plan: &Plan) -> Figure {
    let names = plan.targets.iter().map(|target| short(&target.given));
    let measured = c.measured.iter().enumerate().filter_map(|(x, e)| Some(Point::of(x as f64, e.as_ref()?)));
    let predicted = c
        .predicted
        .iter()
        .enumerate()
        .filter_map(|(x, p)| Some(Point::of(x as f64, &Estimate::predicted(p.as_ref()?))));
    let said = plan
        .targets
        .iter()
        .zip(&c.measured)
        .filter_map(|(target, e)| Some(format!("{} {}", target.given, rate(e.as_ref()?.value))));
    Figure {
        title: format!("{} of each drive and each layout", capital(&c.label)),
        text: format!("Measured: {}.", said.collect::<Vec<_>>().join(", ")),
        load: c.load.describe(),
        n: "medians of repetitions, 95 % intervals".to_owned(),
        x: Axis::named("", names),
        y: Axis::speed(),
        curves: [("measured", measured.collect::<Vec<_>>()), ("predicted", predicted.collect())]
            .into_iter()
            .filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Curve::new(name, Style::Dots, points))
            .collect(),
        ..Figure::default()
    }
}
