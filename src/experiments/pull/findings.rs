//! Findings of pull: what each layout lost, and when it noticed.

use super::{
    super::common::Series,
    cases::{Case, cases},
    verdicts::{Rank, errno, verdict},
};
use crate::{
    analyse::Estimate,
    findings::{
        At, Axis, Column, Curve, Figure, Findings, Mark, Metric, Point, Quantity, Scope, Style, Table, Unit,
        short,
    },
    plan::Plan,
    record::{Back, FilesFound, LedgerFound, Probe, Pulled, Run, What},
    units::{Layout, count, decimal_bytes, distinct, duration, listed, percent},
};

/// Lines of the kernel that a report shows.
const KERNEL_LINES: usize = 12;

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let cases = cases(run, plan);
    let mut layouts: Vec<Layout> = cases.iter().map(|case| case.layout).collect();
    layouts.dedup();
    let of =
        |layout: Layout| cases.iter().filter(move |case| case.layout == layout).collect::<Vec<&Case<'_>>>();
    let mut verdicts: Vec<(Rank, String)> =
        layouts.iter().map(|layout| verdict(*layout, &of(*layout))).collect();
    // A broken promise is the headline.
    verdicts.sort_by_key(|(rank, _)| *rank);
    findings.verdicts = verdicts.into_iter().map(|(_, text)| text).collect();
    for layout in &layouts {
        let cases = of(*layout);
        findings.tables.push(away(*layout, &cases));
        findings.tables.push(probes(&cases));
        findings.tables.push(back(&cases));
        findings.details.tables.push(moments(*layout, &cases));
        let worst = cases.iter().max_by(|a, b| a.pulled.away.longest.total_cmp(&b.pulled.away.longest));
        findings.figures.extend(worst.map(|case| figure(case)));
        findings.details.sentences.extend(worst.and_then(|case| kernel(case)));
        findings.details.sentences.extend(cases.iter().filter_map(|case| examples(case)));
    }
    // How long operations waited; one pull has no interval.
    findings.estimates.extend(cases.iter().map(|case| {
        let longest = Estimate::unbounded(case.pulled.away.longest, "one pull");
        Metric::new(case.pool, Quantity::LongestOperation, longest).at(Scope::Whole)
    }));
    let settings = distinct(cases.iter().map(|case| {
        let all: Vec<String> =
            case.pulled.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("{}: {}.", case.drive, all.join(", "))
    }));
    findings.details.sentences.extend(settings);
    let how = cases.iter().map(|case| format!("drives pulled by software: {}", case.act.by.words()));
    findings.conditions.extend(distinct(how));
}

fn whole(files: &FilesFound) -> String {
    format!("{} of {}", files.whole, files.all())
}

/// Bytes of acknowledged writes that are there.
fn kept(ledger: &LedgerFound) -> String {
    match ledger.lost_bytes {
        0 => "all".to_owned(),
        lost => format!("{} lost", decimal_bytes(lost)),
    }
}

/// While the drive is away.
fn away(layout: Layout, cases: &[&Case<'_>]) -> Table {
    let row = |case: &&Case<'_>| {
        let Pulled { files, ledger, away, .. } = case.pulled;
        vec![
            short(&case.drive),
            files.on_drive.map_or("-".to_owned(), |on| on.to_string()),
            whole(files),
            files.wrong.to_string(),
            kept(ledger),
            duration(away.longest),
            format!("{} of {}", away.failed_writes, away.failed_writes + away.writes),
        ]
    };
    let columns = [
        ("pulled", false),
        ("files on it", true),
        ("whole", true),
        ("wrong", true),
        ("synced writes", true),
        ("wait", true),
        ("failed writes", true),
    ];
    Table {
        title: format!("{layout}, one drive away"),
        columns: Column::all(columns),
        rows: cases.iter().map(row).collect(),
    }
}

/// What still worked.
fn probes(cases: &[&Case<'_>]) -> Table {
    let names = distinct(cases.iter().flat_map(|case| &case.pulled.probes).map(|probe| probe.what.clone()));
    let mut columns = Column::all([("pulled", false)]);
    columns.extend(names.iter().map(|name| Column::new(name.as_str(), false)));
    let row = |case: &Case<'_>, cold: bool| {
        let of =
            |name: &String| case.pulled.probes.iter().find(|probe| probe.cold == cold && probe.what == *name);
        let cell = |probe: &Probe| probe.error.as_deref().map_or("works".to_owned(), errno);
        let head = if cold { format!("{}, cold", short(&case.drive)) } else { short(&case.drive) };
        let cells = names.iter().map(|name| of(name).map_or("-".to_owned(), cell));
        [head].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let rows = cases.iter().flat_map(|case| [row(case, false), row(case, true)]).collect();
    Table { title: String::new(), columns, rows }
}

/// After the drive came back.
fn back(cases: &[&Case<'_>]) -> Table {
    let columns = [
        ("back", false),
        ("as", false),
        ("taken back", false),
        ("in", true),
        ("written to it", true),
        ("whole", true),
        ("synced writes", true),
        ("differ", true),
    ];
    let row = |case: &&Case<'_>| {
        let mut row = vec![short(&case.drive)];
        if let Some(back) = &case.pulled.back {
            row.extend([
                back.name.clone(),
                taken_back(case, back).to_owned(),
                back.healed.map_or("-".to_owned(), duration),
                back.copied.map_or("-".to_owned(), percent),
                whole(&back.files),
                kept(&back.ledger),
                back.mismatches.map_or("-".to_owned(), |n| n.to_string()),
            ]);
        }
        row.resize(columns.len(), "-".to_owned());
        row
    };
    let mut columns = Column::all(columns);
    columns
        .iter_mut()
        .filter(|c| matches!(c.name.as_str(), "as" | "written to it"))
        .for_each(|c| c.optional = true);
    Table { title: String::new(), columns, rows: cases.iter().map(row).collect() }
}

fn taken_back(case: &Case<'_>, back: &Back) -> &'static str {
    match (back.healed, case.layout.is_redundant()) {
        (None, _) => "no",
        (_, true) if back.by_itself => "by itself",
        // What the kernel refuses to take back is added as a new drive.
        (_, true) if back.commands.iter().any(|command| command.contains(" --add ")) => "added",
        (_, true) => "re-added",
        (_, false) => "pool restarted",
    }
}

/// What was noticed when.
fn moments(layout: Layout, cases: &[&Case<'_>]) -> Table {
    let rows = cases.iter().flat_map(|case| {
        case.pulled
            .moments
            .iter()
            .map(|moment| vec![short(&case.drive), duration(moment.at), moment.what.words().to_owned()])
    });
    Table {
        title: format!("{layout}: after the pull"),
        columns: Column::all([("pulled", false), ("after", true), ("what", false)]),
        rows: rows.collect(),
    }
}

/// Each operation as a dot, with what was noticed when.
fn figure(case: &Case<'_>) -> Figure {
    let Pulled { sample, moments, .. } = case.pulled;
    let points = |write: bool| {
        let of = sample.iter().filter(move |op| op.write == write && !op.failed);
        of.map(|op| Point::new(op.at, op.seconds)).collect::<Vec<_>>()
    };
    let failed: Vec<Point> =
        sample.iter().filter(|op| op.failed).map(|op| Point::new(op.at, op.seconds)).collect();
    let curves = [("reads", points(false)), ("synced writes", points(true)), ("failed", failed)];
    let noticed: Vec<String> = moments
        .iter()
        .map(|moment| format!("{} after {}", moment.what.words(), duration(moment.at)))
        .collect();
    let mut marks = vec![Mark { label: "drive pulled".to_owned(), at: At::X(0.0) }];
    // Others are too near for words; the table has them.
    let again = moments.iter().find(|moment| moment.what == What::WriteWorks);
    marks.extend(again.map(|m| Mark { label: "writes go on".to_owned(), at: At::X(m.at) }));
    Figure {
        title: format!("{}: {} pulled", case.layout, case.drive),
        text: format!("How long each operation took. After the pull: {}.", listed(&noticed)),
        n: format!("{} of all operations, the longest ones included", sample.len()),
        x: Axis::of("time since the pull", Unit::Seconds),
        y: Axis::of("time of an operation", Unit::Seconds).log(),
        curves: curves
            .into_iter()
            .filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Curve::new(name, Style::Dots, points))
            .collect(),
        marks,
        ..Figure::default()
    }
}

fn kernel(case: &Case<'_>) -> Option<String> {
    let lines = case.pulled.kernel.iter().take(KERNEL_LINES).map(|(at, text)| format!("{at:+.2} s {text}"));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty())
        .then(|| format!("The kernel on {}, {} pulled: {}", case.layout, case.drive, lines.join(" · ")))
}

/// The first losses of the ledger.
fn examples(case: &Case<'_>) -> Option<String> {
    let found = case.pulled.back.as_ref().map_or(&case.pulled.ledger, |back| &back.ledger);
    let lost = count(found.lost_bytes, "byte");
    let first = found.examples.join("; ");
    (!found.examples.is_empty()).then(|| {
        format!("{} of acknowledged writes lost on {}, {} pulled: {first}.", lost, case.layout, case.drive)
    })
}
