//! Tables of pulls: what was found while a drive was away, and after it came back.

use super::{RejoinResult, cases::Case};
use crate::{
    findings::{Column, Table, short},
    test_files::{FilesFound, LedgerFound, Operations},
    units::{count, decimal_bytes, distinct, duration},
};

/// A column: its name, whether it is aligned to the right, and its cell for a pull.
type Cell = (&'static str, bool, fn(&Case<'_>) -> String);

/// The first column of each table.
const PULLED: Cell = ("pulled", false, |case| short(&case.drive));

/// A table of pulls of one pool, or of pools of one layout.
fn table(title: &str, cells: &[&[Cell]], cases: &[Case<'_>]) -> Table {
    let cells = cells.concat();
    let rows = cases.iter().map(|case| cells.iter().map(|(_, _, cell)| cell(case)).collect());
    let columns = cells.iter().map(|(name, right, _)| Column::new(name, *right));
    let name = cases.first().map(Case::name).unwrap_or_default();
    Table { title: format!("{name}, {title}"), columns: columns.collect(), rows: rows.collect() }
}

fn is_built(cases: &[Case<'_>]) -> bool {
    cases.iter().all(|case| case.built.is_some())
}

/// A cell that may be empty.
fn cell<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or("-".to_owned(), text)
}

/// Files, unless the run was ended before they were read.
fn read(files: &FilesFound) -> Option<&FilesFound> {
    Some(files).filter(|files| files.is_read())
}

fn back_of<'a>(case: &Case<'a>) -> Option<&'a RejoinResult> {
    case.pulled.back.as_ref()
}

fn files_back<'a>(case: &Case<'a>) -> Option<&'a FilesFound> {
    read(&back_of(case)?.files)
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

/// The longest operation of all of these, or that operations hung.
fn waits<'a>(all: impl IntoIterator<Item = &'a Operations>) -> String {
    let all: Vec<&Operations> = all.into_iter().collect();
    let longest = all.iter().map(|ops| ops.longest).fold(0.0, f64::max);
    match longest > 0.0 {
        _ if all.iter().any(|ops| ops.failed_reads + ops.failed_writes > 0) => "errors".to_owned(),
        _ if all.iter().any(|ops| ops.hanging > 0) => format!("hung for {}", duration(longest)),
        true => duration(longest),
        false => "-".to_owned(),
    }
}

/// While the drive is away.
pub(super) fn away(cases: &[Case<'_>]) -> Table {
    const FILES: [Cell; 2] = [
        ("intact", true, |case| cell(read(&case.pulled.files), whole)),
        ("wrong", true, |case| cell(read(&case.pulled.files), |files| files.wrong.to_string())),
    ];
    const SYNCED: Cell = ("synced writes", true, |case| kept(&case.pulled.ledger));
    const CHANGED: Cell =
        ("changed", true, |case| cell(read(&case.pulled.files), |files| files.changed.to_string()));
    const USED: [Cell; 2] = [
        ("longest wait", true, |case| waits([&case.pulled.away])),
        ("failed", true, |case| {
            let Operations { reads, writes, failed_reads, failed_writes, wrong_reads, .. } = case.pulled.away;
            let failed = failed_reads + failed_writes;
            format!("{failed} of {}", failed + reads + writes + wrong_reads)
        }),
    ];
    let own = if is_built(cases) { SYNCED } else { CHANGED };
    table("one drive away", &[&[PULLED], &FILES, &[own], &USED], cases)
}

/// After the drive came back.
pub(super) fn rejoined(cases: &[Case<'_>]) -> Table {
    const BACK: [Cell; 4] = [
        PULLED,
        ("taken back", false, |case| cell(back_of(case), |back| taken_back(case, back))),
        ("complete in", true, |case| cell(back_of(case).and_then(|back| back.healed), duration)),
        ("intact", true, |case| cell(files_back(case), whole)),
    ];
    const BUILT: [Cell; 3] = [
        ("longest wait", true, |case| cell(back_of(case), |back| waits([&back.during]))),
        ("synced writes", true, |case| cell(back_of(case), |back| kept(&back.ledger))),
        ("sectors differ", true, |case| {
            cell(back_of(case).and_then(|back| back.mismatches), |differ| differ.to_string())
        }),
    ];
    const IN_USE: [Cell; 2] = [
        ("wrong", true, |case| cell(files_back(case), |files| files.wrong.to_string())),
        ("changed", true, |case| cell(files_back(case), |files| files.changed.to_string())),
    ];
    let own = if is_built(cases) { &BUILT[..] } else { &IN_USE };
    let mut table = table("with the drive back", &[&BACK, own], cases);
    table.columns.iter_mut().for_each(|column| column.optional = column.name == "longest wait");
    table
}

fn taken_back(case: &Case<'_>, back: &RejoinResult) -> String {
    let how = match back.commands.last() {
        _ if back.by_itself => "by itself",
        None => "no",
        Some(_) if !case.layout.is_redundant() && back.healed.is_none() => "no",
        Some(_) if !case.layout.is_redundant() => "pool restarted",
        // What the kernel refuses to take back is added as a new drive.
        Some(command) if command.contains(" --add ") => "added",
        Some(_) => "re-added",
    };
    how.to_owned()
}

/// The operations that still worked.
pub(super) fn probes(cases: &[Case<'_>]) -> Option<Table> {
    let names = distinct(cases.iter().flat_map(|case| &case.pulled.probes).map(|probe| probe.what.clone()));
    let mut columns = Column::all([("pulled", false)]);
    columns.extend(names.iter().map(|name| Column::new(name.as_str(), false)));
    let row = |case: &Case<'_>, cold: bool| {
        let result = |name: &String| {
            let mut probes = case.pulled.probes.iter();
            // The text of an error without its number.
            cell(probes.find(|probe| probe.cold == cold && probe.what == *name), |probe| match &probe.error {
                Some(error) => error.split(" (os error").next().unwrap_or(error).to_owned(),
                None => "works".to_owned(),
            })
        };
        let emptied = if cold { ", cache emptied" } else { "" };
        [short(&case.drive) + emptied].into_iter().chain(names.iter().map(result)).collect::<Vec<_>>()
    };
    let rows = cases.iter().flat_map(|case| [row(case, false), row(case, true)]).collect();
    let name = cases.first().map(Case::name).unwrap_or_default();
    let title = format!("{name}, what worked without the drive");
    (!names.is_empty()).then_some(Table { title, columns, rows })
}

/// Each layout that the run built in a row, with the worst of its pulls.
pub(super) fn summary(layouts: &[&[Case<'_>]]) -> Option<Table> {
    const DRIVE: u64 = 1 << 20;
    let row = |cases: &&[Case<'_>]| {
        let Case { layout, drives: n, built: Some(_), .. } = *cases.first()? else { return None };
        let room = layout.capacity(&vec![DRIVE; n], 1) as f64 / DRIVE as f64;
        let lost = cases.iter().map(|case| case.pulled.ledger.lost_bytes).max()?;
        let least = cases.iter().map(|case| &case.pulled.files).min_by_key(|files| files.whole)?;
        let healed: Option<Vec<f64>> = cases.iter().map(|case| case.pulled.back.as_ref()?.healed).collect();
        let longest = healed.and_then(|all| all.into_iter().reduce(f64::max));
        Some(vec![
            layout.to_string(),
            format!("{room} of {n}"),
            match layout.survives(n) {
                0 => "no drive".to_owned(),
                drives => count(drives as u64, "drive"),
            },
            whole(least),
            if lost == 0 { "none".to_owned() } else { decimal_bytes(lost) },
            waits(cases.iter().map(|case| &case.pulled.away)),
            cell(longest, duration),
        ])
    };
    let rows: Vec<Vec<String>> = layouts.iter().filter_map(row).collect();
    let columns = Column::all([
        ("layout", false),
        ("usable", true),
        ("survives", false),
        ("intact", true),
        ("lost writes", true),
        ("longest wait", true),
        ("complete in", true),
    ]);
    let title = "With one drive away, and back again".to_owned();
    (!rows.is_empty()).then_some(Table { title, columns, rows })
}
