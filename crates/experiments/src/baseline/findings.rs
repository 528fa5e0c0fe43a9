//! Findings of baseline.

use super::{
    super::common::{self, Group, Series, Summary, all_file_sets, file_metrics},
    figures, fitness, tables, verdicts,
};
use crate::{
    findings::{Column, Findings, Metric, Next, Quantity, Scope, Table, fitness::Use, short},
    inventory::Drive,
    plan::{Plan, Rule},
    record::Run,
    target::Kind,
    units::{Percentile, count, decimal_bytes, duration, rate, shell_word},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let groups = common::group(run, plan);
    if groups.is_empty() {
        return;
    }
    let speeds = speeds(plan, &groups);
    let files = all_file_sets(plan, &run.acts);
    match tables::table(plan, &groups, &files) {
        Some(summary) => {
            findings.tables = vec![summary];
            findings.details.tables = vec![speeds];
        }
        None => findings.tables = vec![speeds],
    }
    findings.details.tables.push(latencies(plan, &groups));
    findings.figures = figures::figures(plan, &groups);
    for (at, target) in plan.targets.iter().enumerate() {
        let own: Vec<&Group<'_>> = groups.iter().filter(|g| g.at == at).collect();
        findings.judge(&target.given, fitness::measures(&own), &Use::ALL);
    }
    (findings.verdicts, findings.details.sentences) = verdicts::verdicts(plan, &groups, &findings.fitness);
    findings.estimates = groups.iter().flat_map(|g| metrics(plan, g)).collect();
    for (target, sets) in plan.targets.iter().zip(&files) {
        findings.estimates.extend(file_metrics(&target.given, sets));
    }
    findings.evidence = groups.iter().filter_map(Group::longest).collect();
    for target in &plan.targets {
        if let [Some(why)] = &target.drives.iter().map(Drive::unproven_size).collect::<Vec<_>>()[..] {
            let command = format!("run capacity {}", shell_word(&target.given));
            findings.next.push(Next { command, question: format!("does it hold what it claims? ({why})") });
        }
    }
    let fills = |g: &&Group<'_>| g.target.kind == Kind::Directory && g.measure.load.writes();
    if let Some(group) = groups.iter().find(fills) {
        let path = shell_word(&group.target.given);
        let (command, question) = (format!("run cliff {path}"), "does it slow down later?".to_owned());
        findings.next.push(Next { command, question });
    }
}

/// The first cells of a row: the target, if there are several, and the load, with its run if there are several.
fn heads(plan: &Plan, group: &Group<'_>, run: Option<&Summary>) -> Vec<String> {
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

fn speeds(plan: &Plan, groups: &[Group<'_>]) -> Table {
    let mut columns = Column::heads(plan.targets.len() > 1);
    columns.extend(Column::all([("speed", false), ("sustained", false), ("stalls", true)]));
    columns.extend(Column::all([("moved", true), ("time", true)]));
    let mut rows = Vec::new();
    for group in groups {
        for run in &group.runs {
            let sustained = match (&group.measure.rule, run.estimate.converged) {
                (Rule::Fixed { .. } | Rule::Round { .. }, _) => "-",
                (_, true) => "yes",
                (_, false) => "no",
            };
            let stalls = match run.throughput.stalls.each.len() {
                0 => "none".to_owned(),
                n => n.to_string(),
            };
            let mut row = heads(plan, group, Some(run));
            row.extend([run.estimate.text(rate), sustained.to_owned(), stalls]);
            row.extend([decimal_bytes(run.bytes), duration(run.seconds)]);
            rows.push(row);
        }
        if group.runs.len() > 1 {
            let mut row = heads(plan, group, None);
            let bytes = group.runs.iter().map(|r| r.bytes).sum();
            let seconds = group.runs.iter().map(|r| r.seconds).sum();
            row.extend([group.estimate.text(rate), count(group.runs.len() as u64, "run"), String::new()]);
            row.extend([decimal_bytes(bytes), duration(seconds)]);
            rows.push(row);
        }
    }
    Table { title: String::new(), columns, rows }
}

fn latencies(plan: &Plan, groups: &[Group<'_>]) -> Table {
    let mut columns = Column::heads(plan.targets.len() > 1);
    columns.extend(Percentile::SHOWN.map(|p| Column::new(&p.name(), false)));
    columns.extend(Column::all([("longest", true), ("operations", true)]));
    let mut rows = Vec::new();
    for group in groups {
        for run in &group.runs {
            let mut row = heads(plan, group, Some(run));
            let histogram = run.tail.histogram();
            let cell = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| duration(ns as f64 / 1e9));
            row.extend(Percentile::SHOWN.map(|p| match group.measure.rule {
                // As fio prints it, because published procedures are followed exactly.
                Rule::Fixed { .. } => cell(histogram.quantile(p.share())),
                _ => latency(run, p),
            }));
            row.push(cell(histogram.max()));
            row.push(histogram.count().to_string());
            rows.push(row);
        }
    }
    Table { title: "latency of one operation".to_owned(), columns, rows }
}

/// A percentile; with its interval in the far tail, and as a lower bound where it is not resolvable.
fn latency(run: &Summary, of: Percentile) -> String {
    let Some(e) = run.tail.percentile(of.share()) else { return "-".to_owned() };
    if !e.high.is_finite() {
        format!("at least {}", duration(e.low))
    } else if of > Percentile::P999 && e.high - e.low > 0.05 * e.value {
        format!("{} ({})", duration(e.value), e.range(duration))
    } else {
        duration(e.value)
    }
}

fn metrics(plan: &Plan, group: &Group<'_>) -> Vec<Metric> {
    let metric = |quantity, estimate| Metric::new(&group.target.given, quantity, estimate).of(&group.load);
    let several = group.runs.len() > 1;
    // With several runs, more runs narrow the interval, more bytes do not; a span has no more.
    let is_span = matches!(group.measure.rule, Rule::Round { .. });
    let bytes = (!several && !is_span).then(|| group.runs[0].bytes);
    let (part, rounds) = (group.part().map(|(used, whole)| used as f64 / whole as f64), group.rounds());
    let mut all =
        vec![Metric { bytes, part, rounds, ..metric(Quantity::Throughput, group.estimate.clone()) }];
    for run in &group.runs {
        let metric = |quantity, estimate| Metric {
            repetition: several.then_some(run.repetition),
            ..metric(quantity, estimate)
        };
        if several {
            all.push(metric(Quantity::Throughput, run.estimate.clone()));
        }
        if matches!(group.measure.rule, Rule::Fixed { .. }) && plan.suite.is_some() && !several {
            let span = metric(Quantity::Throughput, run.throughput.estimate.clone());
            all.push(span.at(Scope::Span));
        }
        for of in Percentile::SHOWN {
            let latency = run.tail.percentile(of.share());
            all.extend(latency.map(|e| metric(Quantity::Latency(of), e)));
        }
    }
    all
}
