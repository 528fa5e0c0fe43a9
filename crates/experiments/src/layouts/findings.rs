//! Findings of layouts: what each is like, predicted beside measured.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        common::{self, FileSets, Group, MeasuredFiles, Series, all_file_sets, file_metrics},
        together::{Held, Level, ProcessorLoad, added, shared},
    },
    plan::{alone, labels_at_once},
    predict::{Predict, Prediction, Predictions},
    recommend::{Candidate, Recommendation, recommend},
};
use crate::{
    analyse::{Estimate, compare, repeat},
    conditions::Processors,
    findings::{
        Axis, Column, Curve, Figure, Findings, Limiter, LoadKey, Metric, Point, Quantity, Scope, Style,
        Table, short,
    },
    inventory::Inventory,
    plan::{BuildPool, Plan, RebuildPool, Step},
    record::{ActResult, Run},
    units::{
        Direction, Layout, PredictedLoad, capital, count, decimal_bytes, distinct, duration, listed, percent,
        rate, signed_percent, thousands,
    },
};

/// One load on each drive alone and on each layout: predicted and measured.
struct Compared {
    label: String,
    load: LoadKey,
    /// The most repetitions on a target.
    runs: usize,
    /// By the position of the target.
    measured: Vec<Option<Estimate>>,
    predicted: Vec<Option<PredictedLoad>>,
}

impl Compared {
    /// By how much the prediction is above what was measured, as a share of that.
    fn error(&self, at: usize) -> Option<f64> {
        Some(self.predicted[at].as_ref()?.speed / self.measured[at].as_ref()?.value - 1.0)
    }
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let predictions = predictions(run, plan);
    let times: Vec<Times> = (0..plan.targets.len()).map(|at| times(run, plan, at)).collect();
    // Grouping takes the loads out of the run.
    let processors = processors(run, plan);
    let files = all_file_sets(plan, &run.acts);
    let groups = common::group(run, plan);
    let labels: Vec<String> = common::labels(&groups).into_iter().map(str::to_owned).collect();
    // A damaged record may build one twice.
    let singles: BTreeSet<usize> =
        plan.builds().filter(|(_, build)| build.drives.len() == 1).map(|(at, _)| at).collect();
    let drives = singles.len();
    let names: Vec<String> = plan.targets.iter().map(|target| target.given.clone()).collect();
    let compared: Vec<Compared> = labels
        .iter()
        .filter(|label| groups.iter().any(|g| g.measure.label == **label && g.at >= drives))
        .map(|label| compare(label, &groups, &predictions, plan.targets.len()))
        .collect();
    let candidates = candidates(plan, drives, &compared);
    findings.tables.extend(about(&candidates, &times, drives));
    findings.tables.extend(compared.iter().map(|c| table(c, &names, drives)));
    findings.tables.extend(files_table(&files, &names));
    findings.tables.extend(table_at_once(&groups, &names[..drives]));
    findings.figures = compared.iter().map(|c| figure(c, &names)).collect();
    let inventory = run.start.as_ref().map(|start| start.inventory.clone()).unwrap_or_default();
    findings.evidence = metrics_at_once(plan, drives, &groups, &processors, &inventory);
    if let Some((_, predict)) = plan.acts::<Predict>().next() {
        let recommended = recommend(&candidates, predict.survive as usize);
        findings.verdicts = recommended.iter().map(Recommendation::sentence).collect();
    }
    findings.verdicts.extend(shared_limit(&findings.evidence));
    findings.verdicts.extend(quality(&compared, plan, drives));
    for (target, times) in plan.targets.iter().zip(&times).skip(drives) {
        findings.estimates.extend(time_metrics(&target.given, *times));
    }
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
    let step = plan.acts::<Predict>().next();
    let act = step.and_then(|(step, _)| run.acts.get(&(step.id, step.targets().next()?)));
    act.and_then(ActResult::get).map(|all: &Predictions| all.pools.clone()).unwrap_or_default()
}

/// The time of the first sync of a layout, and of its rebuild, s.
type Times = [Option<f64>; 2];

fn times(run: &Run<Series>, plan: &Plan, at: usize) -> Times {
    let first = |is: fn(&Step) -> bool| plan.steps.iter().find(|step| step.is_on(at) && is(step));
    [first(|step| step.act.is::<BuildPool>()), first(|step| step.act.is::<RebuildPool>())]
        .map(|step| run.acts.get(&(step?.id, at))?.filled_seconds)
}

fn time_metrics(layout: &str, times: Times) -> impl Iterator<Item = Metric> {
    let both = [Quantity::FirstSyncTime, Quantity::RebuildTime].into_iter().zip(times);
    both.filter_map(move |(quantity, seconds)| {
        let once = Estimate::unbounded(seconds?, "once");
        Some(Metric::new(layout, quantity, once).at(Scope::Whole))
    })
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
        runs: (0..targets).filter_map(|at| Some(of(at)?.speeds().len())).max().unwrap_or(0),
        measured: (0..targets).map(|at| repeat::middle(&of(at)?.speeds())).collect(),
        predicted: (0..targets).map(predicted).collect(),
    }
}

/// The error of the predictions, without those of layouts that use one drive: these repeat a measurement.
fn quality(compared: &[Compared], plan: &Plan, drives: usize) -> Option<String> {
    let mut errors = Vec::new();
    for c in compared {
        let is_of_one = |layout: Layout| c.load.direction.is_some_and(|way| layout.is_of_one_drive(way));
        let pools = plan.builds().filter(|(at, build)| *at >= drives && !is_of_one(build.layout));
        errors.extend(pools.filter_map(|(at, _)| c.error(at)).map(f64::abs));
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let speeds = count(errors.len() as u64, "speed");
    (!errors.is_empty())
        .then(|| format!("Predictions were off by {} on average over {speeds}.", percent(mean)))
}

fn candidates(plan: &Plan, drives: usize, compared: &[Compared]) -> Vec<Candidate> {
    let of = |label: &str, at: usize| {
        compared.iter().find(|c| c.label == label).and_then(|c| c.measured[at].clone())
    };
    let pools: BTreeMap<usize, _> = plan.builds().filter(|(at, _)| *at >= drives).collect();
    let candidate = |(at, build): (usize, &crate::plan::BuildPool)| {
        let sectors: Vec<u64> = plan.targets[at].drives.iter().map(|drive| drive.sectors).collect();
        Candidate {
            layout: build.layout,
            drives,
            holds: build.layout.capacity(&sectors, (build.chunk / 512).max(1)).saturating_mul(512),
            write: of("write 1M", at),
            read: of("read 1M", at),
        }
    };
    pools.into_iter().map(candidate).collect()
}

/// Capacity, redundancy and sync times of the layouts.
fn about(candidates: &[Candidate], times: &[Times], drives: usize) -> Option<Table> {
    let columns = Column::all([
        ("layout", false),
        ("capacity", true),
        ("failures survived", true),
        ("first sync", true),
        ("rebuild", true),
    ]);
    let rows = candidates.iter().zip(drives..).map(|(one, at)| {
        let time = |seconds: Option<f64>| seconds.map_or("-".to_owned(), duration);
        let times = times.get(at).copied().into_iter().flatten().map(time);
        let survives = one.layout.survives(drives).to_string();
        [one.layout.to_string(), decimal_bytes(one.holds), survives].into_iter().chain(times).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    (!rows.is_empty()).then(|| Table { title: String::new(), columns, rows })
}

/// Each drive alone, and each layout: measured, predicted, and as a share of what the drives do alone.
fn table(c: &Compared, names: &[String], drives: usize) -> Table {
    let mut columns = Column::all([
        (&c.label, false),
        ("measured", false),
        ("predicted", false),
        ("error", true),
        ("vs all drives", true),
    ]);
    let sum: Option<f64> = c.measured[..drives].iter().map(|e| e.as_ref().map(|e| e.value)).sum();
    let row = |(at, name): (usize, &String)| {
        let measured = c.measured[at].as_ref();
        let error = c.error(at).map_or("-".to_owned(), signed_percent);
        let share = measured.zip(sum).map_or("-".to_owned(), |(e, sum)| percent(e.value / sum));
        vec![
            short(name),
            measured.map_or("-".to_owned(), |e| e.text(rate)),
            c.predicted[at].as_ref().map_or("-".to_owned(), |p| rate(p.speed)),
            error,
            share,
        ]
    };
    let mut rows: Vec<Vec<String>> = names.iter().enumerate().map(row).collect();
    if c.predicted.iter().all(Option::is_none) {
        columns.drain(2..4);
        rows.iter_mut().for_each(|row| drop(row.drain(2..4)));
    }
    Table { title: String::new(), columns, rows }
}

/// How fast each set of files is written and read.
fn files_table(files: &[FileSets], names: &[String]) -> Vec<Table> {
    let mut sets: Vec<_> = files.iter().flatten().flatten().map(|measured| measured.set).collect();
    sets.sort();
    sets.dedup();
    let table = |set| {
        let cell = |measured: &[MeasuredFiles]| {
            let of = measured.iter().find(|measured| measured.set == set);
            let speed = of.and_then(MeasuredFiles::files_per_second);
            speed.map_or("-".to_owned(), |e| e.text(|per_second| format!("{}/s", thousands(per_second))))
        };
        let row =
            |(name, [read, written]): (&String, &FileSets)| vec![short(name), cell(written), cell(read)];
        Table {
            title: String::new(),
            columns: Column::all([(set.describe().as_str(), false), ("written", false), ("read", false)]),
            rows: names.iter().zip(files).map(row).collect(),
        }
    };
    sets.into_iter().map(table).collect()
}

/// The speeds of all drives at once.
fn table_at_once(groups: &[Group<'_>], names: &[String]) -> Option<Table> {
    let drives = names.len();
    let all: Vec<String> = labels_at_once().collect();
    let mut labels = common::labels(groups);
    labels.retain(|label| all.iter().any(|one| one == label));
    let columns = ["drive"].iter().chain(&labels).map(|name| Column::new(name, false)).collect();
    let speed = |label: &str, at: usize| {
        let group = groups.iter().find(|g| g.at == at && g.measure.label == label)?;
        repeat::middle(&group.speeds())
    };
    let row = |at: usize| {
        let cells = labels.iter().map(|label| speed(label, at).map_or("-".to_owned(), |e| e.text(rate)));
        [short(&names[at])].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let mut rows: Vec<Vec<String>> = (0..drives).map(row).collect();
    let sums = labels.iter().map(|label| {
        let sum: Option<f64> = (0..drives).map(|at| speed(label, at).map(|e| e.value)).sum();
        sum.map_or("-".to_owned(), rate)
    });
    rows.push(["sum".to_owned()].into_iter().chain(sums).collect());
    (!labels.is_empty()).then(|| Table { title: String::new(), columns, rows })
}

/// An interval that reaches beyond this multiple of its value is drawn open, so that the measured values stay visible.
const FAR: f64 = 3.0;

fn point(x: usize, e: &Estimate) -> Point {
    let far = e.high > FAR * e.value;
    Point::of(x as f64, &Estimate { high: if far { f64::INFINITY } else { e.high }, ..e.clone() })
}

fn figure(c: &Compared, names: &[String]) -> Figure {
    let measured = c.measured.iter().enumerate().filter_map(|(x, e)| Some(point(x, e.as_ref()?)));
    let predicted =
        c.predicted.iter().enumerate().filter_map(|(x, p)| Some(point(x, &Estimate::predicted(p.as_ref()?))));
    let said = names
        .iter()
        .zip(&c.measured)
        .filter_map(|(name, e)| Some(format!("{name} {}", rate(e.as_ref()?.value))));
    let measured: Vec<Point> = measured.collect();
    let predicted: Vec<Point> = predicted.collect();
    let n = match c.runs {
        0 | 1 => "one run, which has no interval".to_owned(),
        runs => format!("medians of {runs} repetitions, 95 % intervals"),
    };
    Figure {
        title: format!("{} of each drive and each layout", capital(&c.label)),
        text: format!("Measured: {}.", said.collect::<Vec<_>>().join(", ")),
        load: c.load.describe(),
        n,
        x: Axis::named("", names.iter().map(|name| short(name))),
        y: Axis::speed(),
        curves: [("measured", measured), ("predicted", predicted)]
            .into_iter()
            .filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Curve::new(name, Style::Dots, points))
            .collect(),
        ..Figure::default()
    }
}

/// The shared limit of drives that are slower at once than alone: layouts that use all of them can't exceed it.
fn shared_limit(evidence: &[Metric]) -> Option<String> {
    let mut limits = Vec::new();
    for ceiling in evidence {
        let Quantity::Ceiling(by) = ceiling.quantity else { continue };
        let alone = evidence.iter().find(|m| m.scope == Scope::SumAlone && m.load == ceiling.load);
        let (Some(alone), Some(load)) = (alone.filter(|_| by != Limiter::Drives), &ceiling.load) else {
            continue;
        };
        let verb = if load.direction == Some(Direction::Write) { "write" } else { "read" };
        let (at_once, alone) = (ceiling.estimate.sentence(rate, ""), rate(alone.estimate.value));
        limits.push((ceiling.target.clone(), format!("{verb} {at_once} at once ({alone} alone)")));
    }
    let (names, speeds): (Vec<String>, Vec<String>) = limits.into_iter().unzip();
    let names = listed(&distinct(names));
    (!speeds.is_empty())
        .then(|| format!("Layouts of these drives are limited by {names}: the drives {}.", listed(&speeds)))
}

/// What the processors did during each load on several drives at once, by its label.
fn processors(run: &Run<Series>, plan: &Plan) -> BTreeMap<String, Vec<Processors>> {
    let mut all: BTreeMap<String, Vec<Processors>> = BTreeMap::new();
    for (step, measure) in plan.measures().filter(|(step, _)| step.on.len() > 1) {
        let processors = run.steps.get(&step.id).and_then(|done| done.processors.clone());
        all.entry(measure.label.clone()).or_default().extend(processors);
    }
    all
}

/// The speeds of all drives at once, their sums, and the ceiling, where it is known whether there is one.
fn metrics_at_once(
    plan: &Plan,
    drives: usize,
    groups: &[Group<'_>],
    processors: &BTreeMap<String, Vec<Processors>>,
    inventory: &Inventory,
) -> Vec<Metric> {
    let each = labels_at_once().filter_map(|label| {
        let find = |label: &str| -> Option<Vec<&Group<'_>>> {
            let one = |at: usize| groups.iter().find(|g| g.at == at && g.measure.label == label);
            (0..drives).map(one).collect()
        };
        let (at_once, alone) = (find(&label)?, find(alone(&label))?);
        let speeds: Vec<Vec<f64>> = at_once.iter().map(|group| group.speeds()).collect();
        let repetitions = speeds.iter().map(Vec::len).min()?;
        let sums: Vec<f64> = (0..repetitions).map(|run| speeds.iter().map(|s| s[run]).sum()).collect();
        let sum = repeat::mean(&sums)?;
        let means = alone.iter().map(|group| repeat::mean(&group.speeds())).collect::<Option<Vec<_>>>()?;
        let sum_alone = added(&means);
        let load = &at_once.first()?.load;
        let metric = |target: &str, quantity, e: &Estimate, scope| {
            Metric::new(target, quantity, e.clone()).of(load).at(scope)
        };
        let mut all = vec![
            metric("all", Quantity::Throughput, &sum, Scope::Sum),
            metric("all", Quantity::Throughput, &sum_alone, Scope::SumAlone),
        ];
        for (group, speeds) in at_once.iter().zip(&speeds) {
            let together = repeat::mean(speeds)?;
            all.push(metric(&group.target.given, Quantity::Throughput, &together, Scope::Together));
        }
        let members: Vec<usize> = (0..drives).collect();
        let load = processors.get(&label).and_then(|all| ProcessorLoad::of(all, drives));
        let (limiter, name) = match Held::by(&compare::ratio(&sum, &sum_alone)?.estimate) {
            Held::Unknown => return Some(all),
            Held::No => (Limiter::Drives, "drives".to_owned()),
            Held::Yes if load.is_some_and(|load| load.level == Level::Limit) => {
                (Limiter::Processor, "processor".to_owned())
            }
            Held::Yes => {
                let mut links = shared(inventory, &plan.targets, &members).into_iter();
                match links.find(|link| link.members == members && !link.name.is_empty()) {
                    Some(link) => (Limiter::Bus, link.name),
                    None => (Limiter::Unknown, "something shared".to_owned()),
                }
            }
        };
        all.push(metric(&name, Quantity::Ceiling(limiter), &sum, Scope::Whole));
        Some(all)
    });
    each.flatten().collect()
}
