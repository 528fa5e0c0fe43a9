//! Findings of smallfiles.

use super::{
    super::common::named,
    cost_model::{Costs, Set},
};
use crate::{
    analyse::{Estimate, WIDE},
    findings::{Axis, Column, Curve, Figure, Findings, Metric, Point, Quantity, Scope, Style, Table, Unit},
    plan::{FileSet, FileWork, Plan},
    record::Run,
    units::{Direction, count, decimal_bytes, duration, percent, rate, size},
};

/// The set that is predicted by default.
const EXAMPLE: FileSet = FileSet { files: 20_000, size: 1_000_000 };
/// A set that the model misses by more than this share is reported.
const OFF: f64 = 0.25;

pub(super) fn results(findings: &mut Findings, run: &mut Run<()>, plan: &Plan) {
    let asked = plan.files().find_map(|(_, files)| match files.work {
        FileWork::Write { predict, .. } => predict,
        _ => None,
    });
    let set = asked.unwrap_or(EXAMPLE);
    for (at, target) in plan.targets.iter().enumerate() {
        let both = [true, false].map(|write| Costs::of(plan, &run.acts, at, write));
        if both.iter().all(|c| c.sets.is_empty()) {
            continue;
        }
        let several = plan.targets.len() > 1;
        findings.tables.push(table(if several { &target.given } else { "" }, &both));
        findings.figures.push(figure(&target.given, &both));
        let mut sentences: Vec<String> = both.iter().filter_map(|c| predicted(c, set)).collect();
        sentences.extend(both.iter().find_map(|c| beyond(c, set)));
        sentences.extend(both.iter().map(one));
        sentences.extend(advice(&both));
        findings.verdicts.extend(sentences.into_iter().map(|text| named(several, target, text)));
        findings.estimates.extend(both.iter().flat_map(|c| metrics(plan, c, set)));
    }
    if !findings.tables.is_empty() {
        findings.verdicts.push(
            "Cold means that the page cache held no data of the files. It still held names and inodes: after a \
             reboot reading takes longer by their lookup."
                .to_owned(),
        );
    }
}

fn verb(costs: &Costs) -> &'static str {
    if costs.write { "write" } else { "read" }
}

/// A value with its interval, in a cell. A wide interval is shown without its value, to keep the line short.
fn cell(e: Option<Estimate>) -> String {
    match e {
        None => "-".to_owned(),
        Some(e) if e.high.is_finite() && e.half_width() >= WIDE => e.range(duration),
        Some(e) => e.text(duration),
    }
}

fn table(title: &str, both: &[Costs; 2]) -> Table {
    let mut columns = Column::all([("files", true), ("of", true), ("write", false), ("speed", true)]);
    columns.extend(Column::all([("read, cold", false), ("speed", true)]));
    let mut sets: Vec<FileSet> = both.iter().flat_map(|c| c.sets.iter().map(|s| s.set)).collect();
    sets.sort_by_key(|s| (s.size, s.files));
    sets.dedup();
    let row = |set: FileSet| {
        let cells = both.iter().flat_map(|c| {
            let own = c.sets.iter().find(|s| s.set == set);
            let speed = own.and_then(|s| s.speed()).map_or("-".to_owned(), |e| rate(e.value));
            [cell(own.and_then(|s| s.seconds())), speed]
        });
        [set.files.to_string(), size(set.size)].into_iter().chain(cells).collect()
    };
    Table { title: title.to_owned(), columns, rows: sets.into_iter().map(row).collect() }
}

fn predicted(costs: &Costs, set: FileSet) -> Option<String> {
    let many = costs.predict(set)?;
    let one = costs.predict(FileSet { files: 1, size: set.bytes() })?;
    let verb = if costs.write { "Writing" } else { "Reading" };
    let more = percent(many.value / one.value - 1.0);
    let (files, each, all) = (count(set.files, "file"), decimal_bytes(set.size), decimal_bytes(set.bytes()));
    let (many, one) = (many.sentence(duration, ""), duration(one.value));
    Some(format!(
        "{verb} {files} of {each}: {many}. As one file of {all}: {one}, so separate files take {more} longer."
    ))
}

/// How far the prediction is beyond what was measured.
fn beyond(costs: &Costs, set: FileSet) -> Option<String> {
    let beyond = costs.predict(set).map(|_| costs.beyond(set)).filter(|beyond| !beyond.is_empty())?;
    Some(format!(
        "This is beyond what was measured: {}. It leaves out any slow-down after a while; measure that with `drivebench run cliff`.",
        beyond.join(", ")
    ))
}

fn one(costs: &Costs) -> String {
    let verb = if costs.write { "Writing" } else { "Reading" };
    let (Some(file), Some(rate_of)) = (costs.file(), costs.rate()) else {
        return format!(
            "{verb}: too little was measured to separate the costs of files and bytes; more than two sets are needed."
        );
    };
    let sync = match costs.sync().filter(|sync| sync.value > 0.0) {
        Some(e) if e.low > 0.0 => format!("; the final sync takes {}", e.sentence(duration, "")),
        Some(e) => format!("; the final sync takes at most {}", duration(e.high)),
        None => String::new(),
    };
    let speed = rate_of.sentence(rate, "");
    let mut sentences = if file.low > 0.0 {
        format!("{verb}: each file costs {}, bytes move at {speed}{sync}.", file.sentence(duration, ""))
    } else {
        let most = duration(file.high);
        format!(
            "{verb}: the cost of a file could not be determined, it is at most {most}; bytes move at {speed}{sync}."
        )
    };
    let off = costs.sets.iter().filter_map(|s| {
        let share = costs.fitted(s.set)? / s.seconds()?.value - 1.0;
        Some((s.set, share.abs()))
    });
    if let Some((set, share)) = off.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share > OFF) {
        let (set, share) = (set.describe(), percent(share));
        sentences += &format!(" This model is off for {set} by {share}: another cost applies there.");
    }
    sentences
}

/// The file size from which on the fixed cost hardly matters.
fn advice(both: &[Costs; 2]) -> Option<String> {
    let even = both.iter().filter_map(Costs::even).max_by(|a, b| a.value.total_cmp(&b.value))?;
    let (bytes, ten) = (size(even.value.round() as u64), size((even.value * 9.0).round() as u64));
    Some(format!(
        "A file of {bytes} takes twice as long as its bytes alone; from {ten} on separate files cost less than a tenth. \
         Copy smaller files as one archive (tar)."
    ))
}

fn figure(given: &str, both: &[Costs; 2]) -> Figure {
    let measured = |c: &Costs| {
        let points = c.sets.iter().filter_map(|s| Some(Point::of(s.set.size as f64, &s.speed()?)));
        Curve::new(verb(c), Style::Dots, points)
    };
    let fitted = |c: &Costs| {
        let fit = |s: &Set| Some(Point::new(s.set.size as f64, s.set.bytes() as f64 / c.fitted(s.set)?));
        Curve::new(verb(c), Style::Line, c.sets.iter().filter_map(fit))
    };
    let text = both.iter().map(one).collect::<Vec<_>>().join(" ");
    let runs = both.iter().flat_map(|c| c.sets.iter().map(|s| s.runs.len())).min().unwrap_or(0);
    Figure {
        title: format!("speed over the size of files, {given}"),
        text,
        n: format!(
            "dots: n = {runs} runs per set, 95 % intervals; lines: fitted from the costs of files and bytes"
        ),
        x: Axis::of("size of a file", Unit::Bytes).log(),
        y: Axis::speed().log(),
        curves: both.iter().flat_map(|c| [measured(c), fitted(c)]).filter(|c| !c.points.is_empty()).collect(),
        ..Figure::default()
    }
}

fn metrics(plan: &Plan, costs: &Costs, set: FileSet) -> Vec<Metric> {
    let target = &plan.targets[costs.at].given;
    let direction = if costs.write { Direction::Write } else { Direction::Read };
    let metric = |quantity, e: Option<Estimate>| Some(Metric::new(target, quantity, e?));
    let time = |set: FileSet| Quantity::FilesTime { direction, files: set.files, size: set.size };
    let predicted = metric(time(set), costs.predict(set)).map(|m| m.at(Scope::Predicted));
    let each = costs.sets.iter().map(|s| metric(time(s.set), s.seconds()));
    let others = [
        metric(Quantity::CostPerFile(direction), costs.file()),
        metric(Quantity::FilesByteRate(direction), costs.rate()),
        metric(Quantity::SyncCost, costs.sync()),
        predicted,
    ];
    each.chain(others).flatten().collect()
}
