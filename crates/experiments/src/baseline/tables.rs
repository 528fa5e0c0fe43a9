//! The first table of baseline: a row for each load, its read beside its write.

use super::super::common::{FileSets, Group, MeasuredFiles, Summary};
use crate::{
    findings::{Column, Table, short},
    plan::Plan,
    units::{Direction, Load, Pattern, distinct, duration, rate, size, thousands},
};

/// Reads and writes of every target; `None` where a load mixes both.
pub(super) fn table(plan: &Plan, groups: &[Group<'_>], files: &[FileSets]) -> Option<Table> {
    let several = plan.targets.len() > 1;
    let numbers = [("READ", false), ("IOPS", true), ("WRITE", false), ("IOPS", true)];
    let mut columns = [Column::heads(several), Column::all(numbers)].concat();
    let first = columns.len() - numbers.len();
    columns[first..].iter_mut().skip(1).step_by(2).for_each(|operations| operations.optional = true);
    let (mut rows, mut loads) = (Vec::new(), Vec::new());
    for (at, target) in plan.targets.iter().enumerate() {
        let of: Vec<&Group<'_>> = groups.iter().filter(|g| g.at == at).collect();
        let named = |row: Vec<String>| if several { [vec![short(&target.given)], row].concat() } else { row };
        for (row, groups) in self::rows(&of, &files[at])? {
            rows.push(named(row));
            loads.push(groups);
        }
    }
    for (at, column) in columns[first..].iter_mut().step_by(2).enumerate() {
        let here = loads.iter().enumerate().filter_map(|(row, of)| Some((row, of[at]?)));
        mark(column, &here.collect::<Vec<_>>());
    }
    // A column without a number is left out.
    for at in (0..columns.len()).rev() {
        if rows.iter().all(|row| row[at].is_empty()) {
            columns.remove(at);
            rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    Some(Table { title: String::new(), columns, rows })
}

/// The read and the write of a row.
type Loads<'a> = [Option<&'a Group<'a>>; 2];

/// Marks the fastest and the slowest drive of each load.
fn mark(column: &mut Column, groups: &[(usize, &Group<'_>)]) {
    let load = |g: &Group<'_>| (g.measure.label.clone(), g.measure.load.clone());
    for one in distinct(groups.iter().map(|(_, g)| load(g))) {
        let same = groups.iter().filter(|(_, g)| load(g) == one).map(|(row, g)| (*row, &g.estimate));
        column.mark(&same.collect::<Vec<_>>());
    }
}

fn rows<'a>(groups: &[&'a Group<'a>], files: &FileSets) -> Option<Vec<(Vec<String>, Loads<'a>)>> {
    let mut loads: Vec<(String, Loads<'_>)> = Vec::new();
    for group in groups {
        let column = match group.measure.load.direction {
            Direction::Read => 0,
            Direction::Write => 1,
            Direction::Mixed { .. } => return None,
        };
        let name = name(group);
        match loads.iter_mut().find(|(row, cells)| *row == name && cells[column].is_none()) {
            Some((_, cells)) => cells[column] = Some(group),
            None => {
                let mut cells: Loads<'_> = [None, None];
                cells[column] = Some(group);
                loads.push((name, cells));
            }
        }
    }
    let cells = |group: &Option<&Group<'_>>| match group {
        Some(group) => [group.estimate.text(rate), operations(group)],
        None => [String::new(), String::new()],
    };
    let row = |(name, loads): (String, Loads<'a>)| {
        (std::iter::once(name).chain(loads.iter().flat_map(cells)).collect(), loads)
    };
    let wait = |writes| worst_wait(groups, writes).unwrap_or_default();
    let queued =
        groups.iter().any(|g| g.measure.load.depth > 1) && groups.iter().any(|g| g.measure.load.depth == 1);
    let label = if queued { "worst wait Q1" } else { "worst wait" };
    let waits = [label.to_owned(), wait(false), String::new(), wait(true), String::new()];
    let others = file_rows(files).chain((!groups.is_empty()).then(|| waits.to_vec()));
    let rows = loads.into_iter().map(row).chain(others.map(|row| (row, [None; 2])));
    Some(rows.collect())
}

fn file_rows([read, written]: &FileSets) -> impl Iterator<Item = Vec<String>> {
    let cells = |measured: Option<&MeasuredFiles>| {
        let files = |m: &MeasuredFiles| Some(format!("{}/s", thousands(m.files_per_second()?.value)));
        measured.and_then(|m| Some([m.speed()?.text(rate), files(m)?])).unwrap_or_default()
    };
    written.iter().map(move |write| {
        let read = read.iter().find(|read| read.set == write.set);
        let name = format!("{} files", size(write.set.size));
        [vec![name], cells(read).to_vec(), cells(Some(write)).to_vec()].concat()
    })
}

fn name(group: &Group<'_>) -> String {
    group.measure.row.clone().unwrap_or_else(|| group.measure.load.short_name())
}

/// Operations per second, where they are what people compare: at random.
fn operations(group: &Group<'_>) -> String {
    let Load { pattern, block, .. } = group.measure.load;
    match pattern {
        Pattern::Random => thousands(group.estimate.value / block as f64),
        Pattern::Sequential => String::new(),
    }
}

/// The longest operation and its load, such as `975 ms (SEQ1M)`.
fn worst_wait(groups: &[&Group<'_>], writes: bool) -> Option<String> {
    let waits = alone(groups, writes).filter_map(|(group, run)| Some((run.tail.histogram().max()?, group)));
    let (ns, group) = waits.max_by_key(|(ns, _)| *ns)?;
    Some(format!("{} ({})", duration(ns as f64 / 1e9), name(group)))
}

/// How much longer the longest operation took than most of its load, s: large blocks on slow media take long without any stop.
pub(super) fn worst_stop(groups: &[&Group<'_>], writes: bool) -> Option<f64> {
    let stop = |(_, run): (&Group<'_>, &Summary)| {
        let histogram = run.tail.histogram();
        Some(histogram.max()?.saturating_sub(histogram.quantile(0.5)?))
    };
    alone(groups, writes).filter_map(stop).max().map(|ns| ns as f64 / 1e9)
}

/// Time for which loads were watched for stalls, s.
pub(super) fn seconds_alone(groups: &[&Group<'_>], writes: bool) -> f64 {
    alone(groups, writes).map(|(_, run)| run.seconds).sum()
}

/// Loads one at a time: at depth, operations wait for each other. All loads where there are no others.
fn alone<'a>(groups: &[&'a Group<'a>], writes: bool) -> impl Iterator<Item = (&'a Group<'a>, &'a Summary)> {
    let same: Vec<&'a Group<'a>> =
        groups.iter().copied().filter(|g| g.measure.load.writes() == writes).collect();
    let any = same.iter().any(|g| g.measure.load.depth == 1);
    same.into_iter()
        .filter(move |g| !any || g.measure.load.depth == 1)
        .flat_map(|g| g.runs.iter().map(move |run| (g, run)))
}
