//! `drivebench show`, and `drivebench results`: list, compare, export, remove.

use std::{path::PathBuf, process::ExitCode};

use unicode_width::UnicodeWidthStr;

use super::{
    args::{Filter, Results, ResultsAction, Show},
    export,
    headline::headline,
    output::Output,
    stored,
};
use crate::{
    compare::compare,
    findings::{Column, Findings},
    record::{End, Store, Summary},
    report::{Format, render},
    run,
    units::{RunStatus, shortened},
};

pub(super) fn results(args: &Results, dir: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(dir)?;
    match args.action.as_ref().unwrap_or(&ResultsAction::List(Filter::default())) {
        ResultsAction::List(filter) => list(&store, filter, output),
        ResultsAction::Compare { first, second, force, full, format } => {
            if let Some(second) = second {
                stored::each_once(&[first.clone(), second.clone()])?;
            }
            let (first, target) = stored::side(&store, first)?;
            let second = second.as_ref().map(|second| stored::side(&store, second)).transpose()?;
            let second = second.as_ref().map(|(findings, target)| (findings, *target));
            let compared: Vec<&Findings> = std::iter::once(&first).chain(second.map(|s| s.0)).collect();
            let others = stored::others(&store, &compared)?;
            let findings = compare((&first, target), second, &others, *force)?;
            output.result(&render(&findings, *format, output.style, *full))?;
            Ok(ExitCode::SUCCESS)
        }
        ResultsAction::Export(args) => export::export(args, &store, output),
        ResultsAction::Rm { runs } => {
            let mut runs = runs.clone();
            runs.sort();
            runs.dedup();
            // Check all names before removing any record.
            runs.iter().try_for_each(|run| store.removable(run).map(drop))?;
            runs.iter().try_for_each(|run| store.remove(run))?;
            output.note(&format!("Removed {}.", runs.join(", ")));
            Ok(ExitCode::SUCCESS)
        }
    }
}

pub(super) fn show(args: &Show, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    for (at, run) in args.runs.iter().enumerate() {
        let findings = stored::findings(store, run)?;
        // Other formats name the run.
        if args.runs.len() > 1 && args.format == Format::Text {
            let gap = if at > 0 { "\n" } else { "" };
            output.result(&format!("{gap}{run}: {}, {}\n", findings.experiment, findings.origin.at))?;
        }
        output.result(&render(&findings, args.format, output.style, args.full))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(store: &Store, filter: &Filter, output: &Output) -> anyhow::Result<ExitCode> {
    // An unreadable run gets an empty headline, so that it is not read again.
    let headline = |run: &str| Some(stored::findings(store, run).map(|f| headline(&f)).unwrap_or_default());
    let (runs, unreadable) = stored::matching(store, store.list_with(&headline)?, filter, output);
    if !runs.is_empty() {
        let (columns, rows) = lines(&runs, &run::now(), output.style.width);
        output.table(columns, rows)?;
    }
    unreadable.iter().for_each(|e| output.note(&format!("{e}.")));
    Ok(ExitCode::SUCCESS)
}

/// A line for each run, `width` columns at most. `now` is the time of the list, as RFC 3339.
fn lines(runs: &[Summary], now: &str, width: usize) -> (Vec<Column>, Vec<Vec<String>>) {
    let wide = width >= WIDE;
    let drive = if wide { 14 } else { 8 };
    let cells = |run: &Summary| {
        let drives = if run.drives.is_empty() { &run.targets } else { &run.drives };
        let more = match drives.len() {
            0 | 1 => String::new(),
            n => format!(" +{}", n - 1),
        };
        // Drives are told apart by the serial at the end of their name, pools by their layout.
        let on = match (&run.pool, drives.first()) {
            (Some(pool), _) if wide => pool.describe() + &more,
            (Some(pool), _) => shortened(&pool.layout_in_words(), drive - more.len()) + &more,
            (None, first) => shortened(first.map_or("", |name| name), drive - more.len()) + &more,
        };
        let mut cells = vec![run.run.clone(), run.experiment.clone(), on];
        if wide {
            cells.insert(1, short_date(&run.at, now));
        }
        cells
    };
    let rows: Vec<Vec<String>> = runs.iter().map(cells).collect();
    let mut names = vec!["run", "experiment", "drive"];
    if wide {
        names.insert(1, "when (UTC)");
    }
    let taken = (0..names.len()).map(|at| {
        let cells = rows.iter().map(|row| row[at].as_str()).chain([names[at]]);
        cells.map(|cell| cell.width() + 2).max().unwrap_or(0)
    });
    // The last column has what the others leave of the width.
    let room = width.saturating_sub(taken.sum()).max(8);
    names.push(if room < HEAD.len() { "read / write" } else { HEAD });
    let rows = rows.into_iter().zip(runs).map(|(mut row, run)| {
        row.push(result(run, room));
        row
    });
    (names.iter().map(|name| Column::new(name, false)).collect(), rows.collect())
}

/// The head of the last column says which of two speeds is which.
const HEAD: &str = "result (read / write)";

/// The least width at which the list has dates, columns.
const WIDE: usize = 70;

/// How a run ended, unless it is finished, and as many of its numbers as fit.
fn result(run: &Summary, room: usize) -> String {
    let status = End::status(run.end.as_ref());
    let ended = (status != RunStatus::Finished).then(|| status.words().to_owned());
    let ended = run.copy_of.iter().map(|run| format!("copy of {run}")).chain(ended);
    let numbers = run.headline.iter().flatten().cloned();
    let fits = ended.chain(numbers).reduce(|line, next| {
        let longer = format!("{line}, {next}");
        if longer.width() <= room { longer } else { line }
    });
    let mut line = fits.unwrap_or_default();
    let cut = line.width() > room;
    // Half a number would be another number.
    while line.width() + usize::from(cut) > room {
        line.truncate(line.rfind(' ').unwrap_or(0));
    }
    if cut { line.trim_end_matches([' ', '/']).to_owned() + "…" } else { line }
}

/// `22 Nov 07:30`, or `22 Nov 2024` of another year.
fn short_date(at: &str, now: &str) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let part = |range| at.get(range);
    let month = part(5..7).and_then(|month| MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?));
    match (part(0..4), month, part(8..10), part(11..16)) {
        (Some(year), Some(month), Some(day), Some(_)) if now.get(..4) != Some(year) => {
            format!("{day} {month} {year}")
        }
        (_, Some(month), Some(day), Some(time)) => format!("{day} {month} {time}"),
        _ => at.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings::Table,
        record::How,
        report::{Style, table},
        units::Pool,
    };

    fn listed(width: usize) -> String {
        let run = |run: &str, at: &str, experiment: &str, drives: &[&str], headline: &[&str]| Summary {
            run: run.to_owned(),
            at: at.to_owned(),
            experiment: experiment.to_owned(),
            targets: vec!["/mnt/a (Cruzer Blade 4C530001 in bay 1.1)".to_owned()],
            drives: drives.iter().map(|drive| (*drive).to_owned()).collect(),
            pool: None,
            board: None,
            lab: false,
            end: Some(End { how: How::Finished, at: String::new() }),
            written: Default::default(),
            headline: Some(headline.iter().map(|number| (*number).to_owned()).collect()),
            copy_of: None,
        };
        let stopped = Some(End { how: How::Interrupted, at: String::new() });
        let twins = ["Cruzer Blade 4C530001", "Cruzer Blade 4C530002"];
        let raid5 = Some("raid5".to_owned());
        let pool = Pool { kind: "raid5".to_owned(), layout: raid5, members: 4, drives: 4, ..Pool::default() };
        let runs = [
            run("rold", "2024-11-22T07:30:00Z", "baseline", &["/mnt/nas"], &["SEQ4K 28.1 / 8.90 MB/s"]),
            run(
                "r6qj",
                "2026-11-21T07:30:00Z",
                "baseline",
                &twins[..1],
                &["SEQ1M 28.1 / 8.90 MB/s", "RND4K Q1 6.20 / 0.13 MB/s"],
            ),
            run("r7xz", "2026-11-21T08:30:00Z", "smallfiles", &twins, &["write 3.1 ms a file"]),
            Summary {
                end: stopped,
                ..run("r8xz", "2026-11-22T08:30:00Z", "cliff", &twins[..1], &["SEQ4K write 8.90 MB/s"])
            },
            Summary {
                pool: Some(pool),
                ..run("rpoo", "2026-11-22T09:00:00Z", "baseline", &twins[..1], &["SEQ1M 184 / 38.9 MB/s"])
            },
            Summary { end: None, ..run("r9kq", "2026-11-22T09:30:00Z", "sizes", &[], &[]) },
        ];
        let (columns, rows) = lines(&runs, "2026-11-22T10:00:00Z", width);
        table(&Table { title: String::new(), columns, rows }, Style { width, ..Style::PLAIN })
    }

    #[test]
    fn a_run_is_a_line_with_its_most_important_numbers() {
        insta::assert_snapshot!([100, 80, 50].map(listed).join("\n"));
        for width in 40..=120 {
            let lines = listed(width);
            assert!(
                lines.lines().count() == 7 && lines.lines().all(|l| l.width() <= width),
                "{width}: {lines}"
            );
        }
    }
}
