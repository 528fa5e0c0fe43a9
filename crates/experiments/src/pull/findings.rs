//! Findings of pull: what each layout lost, and when it noticed.

use super::{
    super::common::Series,
    PullResult, RejoinResult, SecondPullResult,
    cases::{Case, cases},
    read_only,
    shown::{figure, figure_back, kept, kernel, moments, probes, waits, whole},
    verdicts::{Rank, verdict},
};
use crate::{
    analyse::Estimate,
    findings::{Column, Findings, Metric, Quantity, Scope, Table, short},
    plan::Plan,
    record::Run,
    units::{Layout, count, decimal_bytes, distinct, duration, percent},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let all = cases(run, plan);
    let (built, in_use): (Vec<&Case<'_>>, Vec<&Case<'_>>) = all.iter().partition(|case| case.built.is_some());
    by_layout(findings, &built);
    in_use.iter().for_each(|case| read_only::of(findings, case));
    let cases = || all.iter();
    // How long operations waited; one pull has no interval.
    findings.estimates.extend(cases().map(|case| {
        let longest = Estimate::unbounded(case.pulled.away.longest, "one pull");
        Metric::new(case.pool, Quantity::LongestOperation, longest).at(Scope::Whole)
    }));
    let settings = distinct(cases().map(|case| {
        let all: Vec<String> =
            case.pulled.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("{}: {}.", case.drive, all.join(", "))
    }));
    findings.details.sentences.extend(settings);
    let how = cases().map(|case| match case.has_second() {
        true => format!("a drive, and then another one, was {}", case.by.past()),
        false => format!("one drive at a time was {}", case.by.past()),
    });
    findings.context.extend(distinct(how));
}

/// Of pools that the run built.
fn by_layout(findings: &mut Findings, cases: &[&Case<'_>]) {
    let mut layouts: Vec<Layout> = cases.iter().map(|case| case.layout).collect();
    layouts.dedup();
    let of = |layout: Layout| {
        cases.iter().copied().filter(move |case| case.layout == layout).collect::<Vec<&Case<'_>>>()
    };
    let mut verdicts: Vec<(Rank, String)> =
        layouts.iter().map(|layout| verdict(*layout, &of(*layout))).collect();
    // A broken promise is the headline.
    verdicts.sort_by_key(|(rank, _)| *rank);
    findings.verdicts = verdicts.into_iter().map(|(_, text)| text).collect();
    let all: Vec<(Layout, Vec<&Case<'_>>)> = layouts.iter().map(|layout| (*layout, of(*layout))).collect();
    findings.tables.extend(summary(&all));
    findings
        .details
        .sentences
        .extend((!all.is_empty()).then(|| [NOT_SHOWN, LEGEND].map(str::to_owned)).into_iter().flatten());
    let twice = cases.iter().any(|case| case.has_second());
    findings.details.sentences.extend(twice.then(|| SECOND.to_owned()));
    for layout in &layouts {
        let cases = of(*layout);
        findings.tables.push(away(*layout, &cases));
        findings.tables.push(probes(&cases));
        findings.tables.extend(second(&cases));
        findings.tables.push(back(*layout, &cases));
        findings.details.tables.push(moments(*layout, &cases));
        let worst = cases.iter().max_by(|a, b| a.pulled.away.longest.total_cmp(&b.pulled.away.longest));
        findings.figures.extend(worst.map(|case| figure(case)));
        let waited = |case: &&&Case<'_>| case.pulled.back.as_ref().map_or(0.0, |back| back.during.longest);
        let slowest = cases.iter().max_by(|a, b| waited(a).total_cmp(&waited(b)));
        findings.figures.extend(slowest.and_then(|case| figure_back(case)));
        findings.details.sentences.extend(worst.and_then(|case| kernel(case)));
        findings.details.sentences.extend(cases.iter().filter_map(|case| examples(case)));
    }
}

/// What nobody should conclude.
const NOT_SHOWN: &str = "Not shown by this: what a drive does that dies, hangs or returns wrong data, what a power cut does \
    (`drivebench run power`), how long a drive of full size takes to fill, and what is left if a drive never comes back and there are no \
    copies.";

/// What the columns say.
const LEGEND: &str = "'room': how many drives' worth of data it holds; 'survives': the loss of so many drives, whichever they are, without losing data. Of several pulls a row has the worst of each. 'files on it': with a part \
    on that drive. 'intact': files that hold what they should; 'wrong': files that can be read, but hold something else. 'synced writes': those that the \
    system had confirmed to be on the drives; 'lost writes': those of them that are not there. 'longest wait': the longest read or write while the \
    drive was away, or while it was filled. 'cache emptied': tried again after the memory's copies of files were dropped. 'back in', 'complete in': from the command that \
    takes the drive back to the last byte copied, while files were used. 'share written': of what the pool uses of the drive.";

const SECOND: &str = "'then pulled': the drive that was pulled while the one under 'after' was filled; 'was filled': how much of that one was; 'complete \
    in': from the command that takes the other one back, once the first one was filled.";

/// Each layout in a row.
fn summary(all: &[(Layout, Vec<&Case<'_>>)]) -> Option<Table> {
    const DRIVE: u64 = 1 << 20;
    let row = |(layout, cases): &(Layout, Vec<&Case<'_>>)| {
        let n = cases.first()?.drives;
        let room = layout.capacity(&vec![DRIVE; n], 1) as f64 / DRIVE as f64;
        let away =
            |of: &dyn Fn(&PullResult) -> f64| cases.iter().map(|case| of(case.pulled)).fold(0.0, f64::max);
        let lost = away(&|pulled| pulled.ledger.lost_bytes as f64) as u64;
        let least = cases.iter().map(|case| &case.pulled.files).min_by_key(|files| files.whole)?;
        let healed: Option<Vec<f64>> = cases.iter().map(|case| case.pulled.back.as_ref()?.healed).collect();
        let longest = healed.and_then(|all| all.into_iter().reduce(f64::max));
        Some(vec![
            layout.to_string(),
            layout.words().to_owned(),
            format!("{room} of {n}"),
            match layout.survives(n) {
                0 => "no loss".to_owned(),
                drives => count(drives as u64, "drive"),
            },
            whole(least),
            if lost == 0 { "none".to_owned() } else { decimal_bytes(lost) },
            waits(cases.iter().map(|case| &case.pulled.away)),
            longest.map_or("-".to_owned(), duration),
        ])
    };
    let rows: Vec<Vec<String>> = all.iter().filter_map(row).collect();
    let columns = [
        ("layout", false),
        ("what it is", false),
        ("room", true),
        ("survives", false),
        ("intact", true),
        ("lost writes", true),
        ("longest wait", true),
        ("back in", true),
    ];
    let mut columns = Column::all(columns);
    columns[1].optional = true;
    (!rows.is_empty()).then(|| Table {
        title: "With one drive away, and back again".to_owned(),
        columns,
        rows,
    })
}

/// While the drive is away.
fn away(layout: Layout, cases: &[&Case<'_>]) -> Table {
    let row = |case: &&Case<'_>| {
        let PullResult { files, ledger, away, .. } = case.pulled;
        vec![
            short(&case.drive),
            files.on_drive.map_or("-".to_owned(), |on| on.to_string()),
            whole(files),
            files.wrong.to_string(),
            kept(ledger),
            waits([away]),
            format!("{} of {}", away.failed_writes, away.failed_writes + away.writes),
        ]
    };
    let columns = [
        ("pulled", false),
        ("files on it", true),
        ("intact", true),
        ("wrong", true),
        ("synced writes", true),
        ("longest wait", true),
        ("failed writes", true),
    ];
    let mut columns = Column::all(columns);
    columns[1].optional = cases.iter().all(|case| case.pulled.files.on_drive.is_none());
    Table { title: format!("{layout}, one drive away"), columns, rows: cases.iter().map(row).collect() }
}

/// While another drive was away, and the first one was being filled.
fn second(cases: &[&Case<'_>]) -> Option<Table> {
    let row = |case: &&Case<'_>| {
        let (built, found) = (case.built?, case.pulled.back.as_ref()?.second.as_ref()?);
        let SecondPullResult { filled, files, ledger, away, healed, .. } = found;
        Some(vec![
            short(&case.member(built.second.as_ref()?.member)),
            short(&case.drive),
            percent(*filled),
            whole(files),
            files.wrong.to_string(),
            kept(ledger),
            waits([away]),
            healed.map_or("-".to_owned(), duration),
        ])
    };
    let columns = [
        ("then pulled", false),
        ("after", false),
        ("was filled", true),
        ("intact", true),
        ("wrong", true),
        ("synced writes", true),
        ("longest wait", true),
        ("complete in", true),
    ];
    let rows: Vec<Vec<String>> = cases.iter().filter_map(row).collect();
    let title = "Another drive away, while the first one was filled".to_owned();
    (!rows.is_empty()).then(|| Table { title, columns: Column::all(columns), rows })
}

/// After the drive came back.
fn back(layout: Layout, cases: &[&Case<'_>]) -> Table {
    let columns = [
        ("back", false),
        ("named now", false),
        ("taken back", false),
        ("complete in", true),
        ("longest wait", true),
        ("share written", true),
        ("intact", true),
        ("synced writes", true),
        ("sectors differ", true),
    ];
    let row = |case: &&Case<'_>| {
        let mut row = vec![short(&case.drive)];
        if let Some(back) = &case.pulled.back {
            row.extend([
                back.name.clone(),
                taken_back(case, back).to_owned(),
                back.healed.map_or("-".to_owned(), duration),
                waits([&back.during]),
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
        .filter(|c| matches!(c.name.as_str(), "named now" | "share written" | "longest wait"))
        .for_each(|c| c.optional = true);
    Table { title: format!("{layout}, with the drive back"), columns, rows: cases.iter().map(row).collect() }
}

fn taken_back(case: &Case<'_>, back: &RejoinResult) -> &'static str {
    match (back.healed, case.layout.is_redundant()) {
        (None, _) => "no",
        (_, true) if back.by_itself => "by itself",
        // What the kernel refuses to take back is added as a new drive.
        (_, true) if back.commands.iter().any(|command| command.contains(" --add ")) => "added",
        (_, true) => "re-added",
        (_, false) => "pool restarted",
    }
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
