//! How baseline reads its record.

use std::collections::BTreeMap;

use super::{
    plan::FILL,
    series::{Run, Series},
    verdicts,
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Column, Findings, Named, Table},
    inventory::Target,
    plan::{Measure, Plan, Rule},
    record::{End, Event, How, Start},
    units::{Ended, EngineInfo, count, decimal_bytes, duration, percent, rate},
};

/// All runs of one load on one target.
pub(super) struct Group<'a> {
    pub target: &'a Target,
    pub measure: Measure,
    /// Over all runs.
    pub estimate: Estimate,
    pub runs: Vec<Run>,
}

/// What the record holds besides windows.
#[derive(Default)]
struct Gathered {
    start: Option<Start>,
    plan: Option<Plan>,
    /// What was really measured, by step.
    measured: BTreeMap<usize, Measure>,
    engines: Vec<EngineInfo>,
    again: Vec<String>,
    flags: Vec<String>,
}

pub(super) fn findings(question: &str, record: &mut dyn Iterator<Item = Event>) -> Findings {
    let mut held = Gathered::default();
    let mut series: BTreeMap<(usize, usize), Series> = BTreeMap::new();
    for event in record {
        take(event, &mut held, &mut series);
    }
    let Gathered { start, plan, measured, engines, again, mut flags } = held;
    let Some(plan) = plan else {
        flags.push("Nothing was measured: the record ends before its plan.".to_owned());
        return empty(question, start, flags);
    };
    let groups = groups(&plan, &measured, series);
    let mut findings = empty(question, start.clone(), flags);
    findings.modelled = engines.iter().any(|e| e.modelled);
    findings.context = context(start.as_ref(), &plan, &engines);
    if !groups.is_empty() {
        findings.tables = vec![speeds(&plan, &groups), latencies(&plan, &groups)];
    }
    findings.verdicts = verdicts::verdicts(&plan, &groups);
    findings.estimates = groups.iter().flat_map(|g| named(&plan, g)).collect();
    findings.reproduce = start.iter().map(|s| s.command.join(" ")).chain(again).collect();
    findings
}

fn take(event: Event, held: &mut Gathered, series: &mut BTreeMap<(usize, usize), Series>) {
    match event {
        Event::Start(start) => held.start = Some(*start),
        Event::Plan { plan } => {
            held.measured = plan.measures().map(|(at, m)| (at, m.clone())).collect();
            held.plan = Some(plan);
        }
        Event::Preflight { checks, .. } => {
            held.flags.extend(checks.into_iter().filter_map(|c| c.flag));
            held.flags.sort();
            held.flags.dedup();
        }
        Event::Step { step, engine, instead, .. } => {
            held.measured.extend(instead.map(|m| (step, *m)));
            if !held.engines.contains(&engine) {
                held.engines.push(engine);
            }
        }
        Event::Note { text, .. } => held.flags.push(text),
        Event::Window { step, target, zone, window } => {
            if let Some(m) = held.measured.get(&step) {
                series.entry((step, target)).or_insert_with(|| Series::new(m)).window(zone, &window);
            }
        }
        Event::Outcome { step, target, outcome, again, .. } => {
            held.again.extend(again.filter(|line| !held.again.contains(line)));
            if let Some(s) = series.get_mut(&(step, target)) {
                s.outcome(outcome);
            }
        }
        Event::End(End { how: How::Interrupted, .. }) => {
            held.flags.push("Stopped by hand: what the plan holds beyond this was not measured.".to_owned());
        }
        Event::Scratch { .. } | Event::End(_) => {}
    }
}

fn empty(question: &str, start: Option<Start>, flags: Vec<String>) -> Findings {
    Findings {
        run: start.map(|s| s.run).unwrap_or_default(),
        experiment: "baseline".to_owned(),
        question: question.to_owned(),
        modelled: false,
        context: Vec::new(),
        tables: Vec::new(),
        verdicts: Vec::new(),
        flags,
        reproduce: Vec::new(),
        estimates: Vec::new(),
    }
}

/// Runs of the same load on the same target belong together, in the order of the plan's targets.
fn groups<'a>(
    plan: &'a Plan,
    measured: &BTreeMap<usize, Measure>,
    series: BTreeMap<(usize, usize), Series>,
) -> Vec<Group<'a>> {
    let mut groups: Vec<(usize, Group<'_>)> = Vec::new();
    for ((step, target), series) in series {
        let Some(measure) = measured.get(&step) else { continue };
        let Some(on) = plan.targets.get(target) else { continue };
        if measure.label == FILL {
            continue;
        }
        let run = series.finish(measure);
        match groups.iter_mut().find(|(t, g)| *t == target && g.measure.label == measure.label) {
            Some((_, group)) => group.runs.push(run),
            None => groups.push((
                target,
                Group {
                    target: on,
                    measure: measure.clone(),
                    estimate: run.estimate.clone(),
                    runs: vec![run],
                },
            )),
        }
    }
    groups.sort_by_key(|(target, _)| *target);
    for (_, group) in &mut groups {
        let whole = |r: &&Run| matches!(r.ended, Some(Ended::Finished | Ended::Stopped));
        let speeds: Vec<f64> = group.runs.iter().filter(whole).map(|r| r.estimate.value).collect();
        if let (true, Some(mean)) = (speeds.len() > 1, repeat::mean(&speeds)) {
            group.estimate = mean;
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn context(start: Option<&Start>, plan: &Plan, engines: &[EngineInfo]) -> Vec<String> {
    let mut lines: Vec<String> = plan.targets.iter().map(Target::describe).collect();
    if let Some(protocol) = &plan.protocol {
        lines.push(format!("protocol {protocol}, to the letter"));
    }
    let engine = |e: &EngineInfo| match &e.detail {
        Some(detail) => format!("engine {} ({detail})", e.name),
        None => format!("engine {}", e.name),
    };
    let mut with: Vec<String> = engines.iter().map(engine).collect();
    if let Some(start) = start {
        let machine = &start.inventory.machine;
        with.push(format!("drivebench {}", start.version));
        with.push(format!("Linux {} {}", machine.kernel, machine.arch));
        with.extend(machine.board.clone());
        with.extend(machine.lab.as_ref().map(|scenario| format!("lab {scenario}")));
        with.push(start.at.clone());
    }
    if engines.iter().any(|e| e.modelled) {
        with.push("virtual: a model, not a drive".to_owned());
    }
    lines.push(with.join(" · "));
    lines
}

fn column(name: &str, right: bool) -> Column {
    Column { name: name.to_owned(), right }
}

/// The first cells of a row: the target where there are several, and the load with its run where there are several.
fn heads(plan: &Plan, group: &Group<'_>, run: Option<&Run>) -> Vec<String> {
    let load = match run {
        Some(run) if group.runs.len() > 1 => format!("{} {}", group.measure.label, run.repetition),
        _ => group.measure.label.clone(),
    };
    let mut cells = vec![load];
    if plan.targets.len() > 1 {
        cells.insert(0, short(&group.target.given));
    }
    cells
}

/// A name that leaves room for the numbers: the end of a long one tells more than its beginning.
fn short(name: &str) -> String {
    let length = name.chars().count();
    if length <= NAME {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(length + 1 - NAME).collect::<String>())
    }
}

/// Columns for a target's name.
const NAME: usize = 14;

fn head_columns(plan: &Plan) -> Vec<Column> {
    let mut columns = vec![column("", false)];
    if plan.targets.len() > 1 {
        columns.insert(0, column("target", false));
    }
    columns
}

fn speeds(plan: &Plan, groups: &[Group<'_>]) -> Table {
    let mut columns = head_columns(plan);
    columns.extend([
        column("speed", false),
        column("settled", false),
        column("stalls", true),
        column("moved", true),
        column("time", true),
    ]);
    let mut rows = Vec::new();
    for group in groups {
        for run in &group.runs {
            let stalls = run.throughput.stalls.each.len() as u64;
            let fixed = matches!(group.measure.rule, Rule::Fixed { .. });
            let settled = match (fixed, run.estimate.converged) {
                (true, _) => "-",
                (false, true) => "yes",
                (false, false) => "no",
            };
            let stalls = if stalls == 0 { "none".to_owned() } else { stalls.to_string() };
            let mut row = heads(plan, group, Some(run));
            row.extend([value(&run.estimate), settled.to_owned(), stalls]);
            row.extend([decimal_bytes(run.bytes), duration(run.seconds)]);
            rows.push(row);
        }
        if group.runs.len() > 1 {
            let mut row = heads(plan, group, None);
            let bytes = group.runs.iter().map(|r| r.bytes).sum();
            let seconds = group.runs.iter().map(|r| r.seconds).sum();
            row.extend([value(&group.estimate), count(group.runs.len() as u64, "run"), String::new()]);
            row.extend([decimal_bytes(bytes), duration(seconds)]);
            rows.push(row);
        }
    }
    Table { title: String::new(), columns, rows }
}

/// Percentiles everyone asks for.
const PERCENTILES: [(&str, f64); 3] = [("50th", 0.5), ("99th", 0.99), ("99.99th", 0.9999)];

fn latencies(plan: &Plan, groups: &[Group<'_>]) -> Table {
    let mut columns = head_columns(plan);
    columns.extend(PERCENTILES.map(|(name, _)| column(name, false)));
    columns.extend([column("longest", true), column("operations", true)]);
    let mut rows = Vec::new();
    for group in groups {
        for run in &group.runs {
            let mut row = heads(plan, group, Some(run));
            row.extend(PERCENTILES.map(|(_, share)| match plan.protocol {
                Some(_) => plain_latency(run, share),
                None => latency(run, share),
            }));
            let histogram = run.tail.histogram();
            row.push(histogram.max().map_or("-".to_owned(), |ns| duration(ns as f64 / 1e9)));
            row.push(histogram.count().to_string());
            rows.push(row);
        }
    }
    Table { title: "latency of one operation".to_owned(), columns, rows }
}

/// A percentile as fio prints it, which protocols are to the letter.
fn plain_latency(run: &Run, share: f64) -> String {
    run.tail.histogram().quantile(share).map_or("-".to_owned(), |ns| duration(ns as f64 / 1e9))
}

/// A percentile; with its interval in the far tail, and as a bound where that is all that can be said.
fn latency(run: &Run, share: f64) -> String {
    let Some(p) = run.tail.percentile(share) else { return "-".to_owned() };
    let e = &p.estimate;
    if !e.high.is_finite() {
        format!("at least {}", duration(e.low))
    } else if share > 0.999 && e.high - e.low > 0.05 * e.value {
        format!("{} ({}–{})", duration(e.value), duration(e.low), duration(e.high))
    } else {
        duration(e.value)
    }
}

/// A throughput with its interval; asymmetric intervals are written out.
pub(super) fn value(e: &Estimate) -> String {
    let half = e.half_width();
    if !half.is_finite() {
        rate(e.value)
    } else if half < 0.1 {
        format!("{} ±{}", rate(e.value), percent(half))
    } else {
        format!("{} ({}–{})", rate(e.value), rate(e.low).trim_end_matches(" MB/s"), rate(e.high))
    }
}

fn named(plan: &Plan, group: &Group<'_>) -> Vec<Named> {
    let target = group.target.given.clone();
    let name = |what: &str, unit: &str, estimate: Estimate| Named {
        target: target.clone(),
        name: format!("{} {what}", group.measure.label),
        unit: unit.to_owned(),
        estimate,
    };
    let mut all = vec![name("throughput", "B/s", group.estimate.clone())];
    for run in &group.runs {
        let of = if group.runs.len() > 1 { format!(", run {}", run.repetition) } else { String::new() };
        if group.runs.len() > 1 {
            all.push(name(&format!("throughput{of}"), "B/s", run.estimate.clone()));
        }
        if plan.protocol.is_some() && group.runs.len() == 1 {
            let adaptive = run.throughput.estimate.clone();
            all.push(name("throughput, sustained by drivebench's own method", "B/s", adaptive));
        }
        for (label, share) in PERCENTILES {
            let latency = run.tail.percentile(share).map(|p| p.estimate);
            all.extend(latency.map(|e| name(&format!("latency {label}{of}"), "s", e)));
        }
    }
    all
}
