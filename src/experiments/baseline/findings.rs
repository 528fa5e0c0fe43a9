//! How baseline reads its record.

use super::{
    super::{
        Experiment,
        load_summary::Run,
        loaded_run::{Gathered, Group},
        table_cells::{column, short, value},
        target_checks::FILL,
    },
    figures, verdicts,
};
use crate::{
    analyse::Estimate,
    findings::{Column, Findings, Named, Table},
    plan::{Plan, Rule},
    record::Event,
    units::{count, decimal_bytes, duration},
};

pub(super) fn findings(experiment: &dyn Experiment, record: &mut dyn Iterator<Item = Event>) -> Findings {
    let mut held = Gathered::read(record, |_| ());
    let mut findings = held.findings(experiment);
    let Some(plan) = held.plan.clone() else { return findings };
    let groups = held.groups(&plan, FILL);
    if !groups.is_empty() {
        findings.tables = vec![speeds(&plan, &groups), latencies(&plan, &groups)];
    }
    findings.figures = figures::figures(&plan, &groups);
    findings.verdicts = verdicts::verdicts(&plan, &groups);
    findings.estimates = groups.iter().flat_map(|g| named(&plan, g)).collect();
    findings
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

fn named(plan: &Plan, group: &Group<'_>) -> Vec<Named> {
    let name = |what: &str, unit: &str, estimate: Estimate| {
        Named::new(&group.target.given, format!("{} {what}", group.measure.label), unit, estimate)
    };
    // Of several runs' interval more bytes narrow nothing, more runs do.
    let bytes = (group.runs.len() == 1).then(|| group.runs[0].bytes);
    let mut all = vec![Named { bytes, ..name("throughput", "B/s", group.estimate.clone()) }];
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
