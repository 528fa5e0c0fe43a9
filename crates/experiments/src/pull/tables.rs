//! Tables of pulls: what was found while a drive was away, and after it came back.

use super::{
    RejoinResult, SecondPullResult,
    cases::Case,
    shown::{kept, waits, whole},
    verdicts::errno,
};
use crate::{
    findings::{Column, Table, short},
    test_files::FilesFound,
    units::{Layout, count, decimal_bytes, distinct, duration, percent},
};

/// A column: its name, whether it is aligned to the right, and its cell for a pull.
type Cell = (&'static str, bool, fn(&Case<'_>) -> String);

/// A table of pulls. Columns with these names follow from others, and are left out first where there is no room.
fn table(title: String, cells: &[&[Cell]], optional: &[&str], cases: &[&Case<'_>]) -> Table {
    let cells = cells.concat();
    let column =
        |(name, right, _): &Cell| Column { optional: optional.contains(name), ..Column::new(name, *right) };
    let rows = cases.iter().map(|case| cells.iter().map(|(_, _, cell)| cell(case)).collect());
    Table { title, columns: cells.iter().map(column).collect(), rows: rows.collect() }
}

const PULLED: Cell = ("pulled", false, |case| short(&case.drive));

/// Something of files, unless the run was ended before they were read.
fn files_cell(files: &FilesFound, cell: impl Fn(&FilesFound) -> String) -> String {
    if files.all() + files.changed > 0 { cell(files) } else { "-".to_owned() }
}

fn not_readable(files: &FilesFound) -> String {
    (files.failed + files.unread).to_string()
}

/// While the drive is away.
pub(super) fn away(case: &Case<'_>, cases: &[&Case<'_>]) -> Table {
    const INTACT: [Cell; 2] = [
        ("intact", true, |case| files_cell(&case.pulled.files, whole)),
        ("wrong", true, |case| files_cell(&case.pulled.files, |files| files.wrong.to_string())),
    ];
    const LONGEST: Cell = ("longest wait", true, |case| waits([&case.pulled.away]));
    const ON_IT: Cell =
        ("files on it", true, |case| case.pulled.files.on_drive.map_or("-".to_owned(), |on| on.to_string()));
    const WRITES: [Cell; 3] = [
        ("synced writes", true, |case| kept(&case.pulled.ledger)),
        LONGEST,
        ("failed writes", true, |case| {
            let away = &case.pulled.away;
            format!("{} of {}", away.failed_writes, away.failed_writes + away.writes)
        }),
    ];
    const READS: [Cell; 4] = [
        ("not readable", true, |case| files_cell(&case.pulled.files, not_readable)),
        ("changed", true, |case| files_cell(&case.pulled.files, |files| files.changed.to_string())),
        LONGEST,
        ("failed reads", true, |case| {
            let away = &case.pulled.away;
            format!("{} of {}", away.failed_reads, away.reads + away.failed_reads + away.wrong_reads)
        }),
    ];
    if case.built.is_none() {
        let title = format!("{} in use, one drive away, reading only", case.layout);
        return table(title, &[&[PULLED], &INTACT, &READS], &[], cases);
    }
    let is_known = cases.iter().any(|case| case.pulled.files.on_drive.is_some());
    let optional: &[&str] = if is_known { &[] } else { &["files on it"] };
    let title = format!("{}, one drive away", case.layout);
    table(title, &[&[PULLED, ON_IT], &INTACT, &WRITES], optional, cases)
}

/// While another drive was away, and the first one was being filled.
pub(super) fn second(cases: &[&Case<'_>]) -> Option<Table> {
    fn found<'a>(case: &Case<'a>) -> Option<&'a SecondPullResult> {
        case.pulled.back.as_ref()?.second.as_ref()
    }
    fn in_second(case: &Case<'_>, cell: impl Fn(&SecondPullResult) -> String) -> String {
        found(case).map_or("-".to_owned(), cell)
    }
    const CELLS: [Cell; 8] = [
        ("then pulled", false, |case| {
            let second = case.built.and_then(|built| built.second.as_ref());
            second.map_or("-".to_owned(), |second| short(&case.member(second.member)))
        }),
        ("after", false, |case| short(&case.drive)),
        ("was filled", true, |case| in_second(case, |second| percent(second.filled))),
        ("intact", true, |case| in_second(case, |second| whole(&second.files))),
        ("wrong", true, |case| in_second(case, |second| second.files.wrong.to_string())),
        ("synced writes", true, |case| in_second(case, |second| kept(&second.ledger))),
        ("longest wait", true, |case| in_second(case, |second| waits([&second.away]))),
        ("complete in", true, |case| {
            in_second(case, |second| second.healed.map_or("-".to_owned(), duration))
        }),
    ];
    let cases: Vec<&Case<'_>> = cases.iter().copied().filter(|case| found(case).is_some()).collect();
    let title = "Another drive away, while the first one was filled".to_owned();
    (!cases.is_empty()).then(|| table(title, &[&CELLS], &[], &cases))
}

/// After the drive came back.
pub(super) fn back(case: &Case<'_>, cases: &[&Case<'_>]) -> Table {
    fn in_back(case: &Case<'_>, cell: impl Fn(&RejoinResult) -> String) -> String {
        case.pulled.back.as_ref().map_or("-".to_owned(), cell)
    }
    fn files(case: &Case<'_>, cell: fn(&FilesFound) -> String) -> String {
        in_back(case, |back| files_cell(&back.files, cell))
    }
    const TAKEN_BACK: [Cell; 4] = [
        ("back", false, |case| short(&case.drive)),
        ("named now", false, |case| in_back(case, |back| back.name.clone())),
        ("taken back", false, |case| in_back(case, |back| taken_back(case.layout, back).to_owned())),
        ("complete in", true, |case| in_back(case, |back| back.healed.map_or("-".to_owned(), duration))),
    ];
    const LONGEST: Cell = ("longest wait", true, |case| in_back(case, |back| waits([&back.during])));
    const COPIED: Cell =
        ("share written", true, |case| in_back(case, |back| back.copied.map_or("-".to_owned(), percent)));
    const INTACT: Cell = ("intact", true, |case| files(case, whole));
    const WRITES: [Cell; 2] = [
        ("synced writes", true, |case| in_back(case, |back| kept(&back.ledger))),
        ("sectors differ", true, |case| {
            in_back(case, |back| back.mismatches.map_or("-".to_owned(), |n| n.to_string()))
        }),
    ];
    const READS: [Cell; 3] = [
        ("wrong", true, |case| files(case, |files| files.wrong.to_string())),
        ("not readable", true, |case| files(case, not_readable)),
        ("changed", true, |case| files(case, |files| files.changed.to_string())),
    ];
    match case.built {
        None => {
            let optional = ["named now", "share written"];
            table(String::new(), &[&TAKEN_BACK, &[COPIED, INTACT], &READS], &optional, cases)
        }
        Some(_) => {
            let title = format!("{}, with the drive back", case.layout);
            let optional = ["named now", "share written", "longest wait"];
            table(title, &[&TAKEN_BACK, &[LONGEST, COPIED, INTACT], &WRITES], &optional, cases)
        }
    }
}

fn taken_back(layout: Layout, back: &RejoinResult) -> &'static str {
    match back.commands.last() {
        _ if back.by_itself => "by itself",
        None => "no",
        _ if !layout.is_redundant() && back.healed.is_none() => "no",
        _ if !layout.is_redundant() => "pool restarted",
        // What the kernel refuses to take back is added as a new drive.
        Some(command) if command.contains(" --add ") => "added",
        Some(_) => "re-added",
    }
}

/// What still worked.
pub(super) fn probes(cases: &[&Case<'_>]) -> Table {
    let names = distinct(cases.iter().flat_map(|case| &case.pulled.probes).map(|probe| probe.what.clone()));
    let mut columns = Column::all([("pulled", false)]);
    columns.extend(names.iter().map(|name| Column::new(name.as_str(), false)));
    let row = |case: &Case<'_>, cold: bool| {
        let cell = |name: &String| {
            let mut probes = case.pulled.probes.iter();
            let probe = probes.find(|probe| probe.cold == cold && probe.what == *name);
            probe.map_or("-".to_owned(), |probe| probe.error.as_deref().map_or("works".to_owned(), errno))
        };
        let emptied = if cold { ", cache emptied" } else { "" };
        let head = short(&case.drive) + emptied;
        [head].into_iter().chain(names.iter().map(cell)).collect::<Vec<_>>()
    };
    let rows = cases.iter().flat_map(|case| [row(case, false), row(case, true)]).collect();
    let title = cases.first().map(|case| format!("{}, what worked without the drive", case.layout));
    Table { title: title.unwrap_or_default(), columns, rows }
}

/// What was noticed when.
pub(super) fn moments(layout: Layout, cases: &[&Case<'_>]) -> Table {
    let rows = cases.iter().flat_map(|case| {
        let moments = case.pulled.moments.iter();
        moments.map(|moment| vec![short(&case.drive), duration(moment.at), moment.what.words().to_owned()])
    });
    Table {
        title: format!("{layout}: after the pull"),
        columns: Column::all([("pulled", false), ("after", true), ("what", false)]),
        rows: rows.collect(),
    }
}

/// Each layout in a row, with the worst of its pulls.
pub(super) fn summary(layouts: &[&[&Case<'_>]]) -> Option<Table> {
    const DRIVE: u64 = 1 << 20;
    let row = |cases: &&[&Case<'_>]| {
        let Case { layout, drives: n, .. } = **cases.first()?;
        let room = layout.capacity(&vec![DRIVE; n], 1) as f64 / DRIVE as f64;
        let lost = cases.iter().map(|case| case.pulled.ledger.lost_bytes).max()?;
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
    let rows: Vec<Vec<String>> = layouts.iter().filter_map(row).collect();
    let mut columns = Column::all([
        ("layout", false),
        ("what it is", false),
        ("room", true),
        ("survives", false),
        ("intact", true),
        ("lost writes", true),
        ("longest wait", true),
        ("back in", true),
    ]);
    columns[1].optional = true;
    let title = "With one drive away, and back again".to_owned();
    (!rows.is_empty()).then_some(Table { title, columns, rows })
}
