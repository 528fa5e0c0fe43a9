//! Tables of pulls: what was found while a drive was away, and after it came back.

use super::{RejoinResult, findings::Case};
use crate::{
    findings::{Column, Table, short},
    test_files::{FilesFound, LedgerFound, Operations},
    units::{count, decimal_bytes, duration},
};

/// A table of pulls of one pool, or of pools of one layout, with a row for each. Columns that are empty in all rows are left out.
fn table(
    title: &str,
    names: &[&str],
    cases: &[Case<'_>],
    cells: impl Fn(&Case<'_>) -> Vec<Option<String>>,
) -> Table {
    let rows: Vec<Vec<Option<String>>> = cases.iter().map(cells).collect();
    let is_used = |at: &usize| rows.iter().any(|row| row[*at].is_some());
    let used: Vec<usize> = (0..names.len()).filter(is_used).collect();
    let text = |cell: &Option<String>| cell.clone().unwrap_or("-".to_owned());
    let name = cases.first().map(Case::name).unwrap_or_default();
    Table {
        title: format!("{name}, {title}"),
        columns: used.iter().map(|at| Column::new(names[*at], *at > 0)).collect(),
        rows: rows.iter().map(|row| used.iter().map(|at| text(&row[*at])).collect()).collect(),
    }
}

/// Files, unless the run was ended before they were read.
fn read(files: &FilesFound) -> Option<&FilesFound> {
    Some(files).filter(|files| files.is_read())
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

/// The longest of these operations, or that some hung.
fn longest_wait<'a>(all: impl Iterator<Item = &'a Operations> + Clone) -> Option<String> {
    let longest = all.clone().map(|ops| ops.longest).fold(0.0, f64::max);
    let hung = if all.clone().any(|ops| ops.hanging > 0) { "hung for " } else { "" };
    (longest > 0.0).then(|| format!("{hung}{}", duration(longest)))
}

/// While the drive is away.
pub(super) fn away(cases: &[Case<'_>]) -> Table {
    let names = ["pulled", "intact", "wrong", "synced writes", "changed", "longest wait", "failed"];
    table("one drive away", &names, cases, |case| {
        let (files, is_built) = (read(&case.pulled.files), case.built.is_some());
        let Operations { reads, writes, failed_reads, failed_writes, wrong_reads, .. } = case.pulled.away;
        let failed = failed_reads + failed_writes;
        vec![
            Some(short(&case.drive)),
            files.map(whole),
            files.map(|files| files.wrong.to_string()),
            is_built.then(|| kept(&case.pulled.ledger)),
            files.filter(|_| !is_built).map(|files| files.changed.to_string()),
            longest_wait([&case.pulled.away].into_iter()),
            Some(format!("{failed} of {}", failed + reads + writes + wrong_reads)),
        ]
    })
}

/// After the drive came back.
pub(super) fn rejoined(cases: &[Case<'_>]) -> Table {
    let names = [
        "pulled",
        "taken back",
        "complete in",
        "intact",
        "wrong",
        "changed",
        "synced writes",
        "sectors differ",
    ];
    table("with the drive back", &names, cases, |case| {
        let (back, is_built) = (case.pulled.back.as_ref(), case.built.is_some());
        let files = back.and_then(|back| read(&back.files));
        let in_use = files.filter(|_| !is_built);
        vec![
            Some(short(&case.drive)),
            back.map(|back| taken_back(case, back).to_owned()),
            back.and_then(|back| back.healed).map(duration),
            files.map(whole),
            in_use.map(|files| files.wrong.to_string()),
            in_use.map(|files| files.changed.to_string()),
            back.filter(|_| is_built).map(|back| kept(&back.ledger)),
            back.and_then(|back| back.mismatches).map(|differ| differ.to_string()),
        ]
    })
}

fn taken_back(case: &Case<'_>, back: &RejoinResult) -> &'static str {
    match back.commands.last() {
        _ if back.by_itself => "by itself",
        Some(_) if !case.layout.is_redundant() && back.healed.is_some() => "pool restarted",
        Some(command) if command.contains(" --re-add ") => "re-added",
        // What the kernel refuses to take back is added as a new drive.
        Some(command) if command.contains(" --add ") => "added",
        _ => "no",
    }
}

/// Each layout that the run built in a row, with the worst of its pulls.
pub(super) fn summary(layouts: &[&[Case<'_>]]) -> Option<Table> {
    let row = |cases: &&[Case<'_>]| {
        let Case { layout, drives, built: Some(_), .. } = *cases.first()? else { return None };
        let lost = cases.iter().map(|case| case.pulled.ledger.lost_bytes).max()?;
        let least = cases.iter().map(|case| &case.pulled.files).min_by_key(|files| files.whole)?;
        let healed: Option<Vec<f64>> = cases.iter().map(|case| case.pulled.back.as_ref()?.healed).collect();
        let longest = healed.and_then(|all| all.into_iter().reduce(f64::max));
        let empty = || "-".to_owned();
        Some(vec![
            layout.to_string(),
            count(layout.survives(drives) as u64, "drive"),
            whole(least),
            if lost == 0 { "none".to_owned() } else { decimal_bytes(lost) },
            longest_wait(cases.iter().map(|case| &case.pulled.away)).unwrap_or_else(empty),
            longest.map_or_else(empty, duration),
        ])
    };
    let rows: Vec<Vec<String>> = layouts.iter().filter_map(row).collect();
    let columns = Column::all([
        ("layout", false),
        ("survives", false),
        ("intact", true),
        ("lost writes", true),
        ("longest wait", true),
        ("complete in", true),
    ]);
    let title = "With one drive away, and back again".to_owned();
    (!rows.is_empty()).then_some(Table { title, columns, rows })
}
