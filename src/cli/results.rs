//! `drivebench show`, and `drivebench results`: list, compare, export, remove.

use std::{
    iter,
    path::{Path, PathBuf},
    process::ExitCode,
    slice,
};

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{
    args::{ListFormat, ListRuns, Results, ResultsAction, Show},
    digest::{self, Digest},
    errors::Usage,
    export,
    output::Output,
    pack, stored,
};
use crate::{
    compare::compare,
    findings::{Column, Findings},
    record::{End, Store, Summary},
    report::{self, Format, render},
    run,
    units::{RunStatus, shortened},
};

pub(super) fn results(args: &Results, dir: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(dir)?;
    let Some(action) = &args.action else { return list(&store, &args.list, output) };
    if args.list != ListRuns::default() {
        return Err(Usage("put options of the list after `results list`".to_owned()).into());
    }
    match action {
        ResultsAction::List(args) => list(&store, args, output),
        ResultsAction::Compare { first, second: Some(dir), force: false, full, format }
            if Path::new(dir).is_dir() && store.open(dir).is_err() =>
        {
            let side = stored::names(&store, slice::from_ref(first))?.remove(0);
            pack::compare(&side, Path::new(dir), (*format, *full), &store, output)
        }
        ResultsAction::Compare { first, second, force, full, format } => {
            let sides: Vec<String> = iter::once(first).chain(second).cloned().collect();
            let sides = stored::names(&store, &sides)?;
            stored::each_once(&sides)?;
            let (first, target) = stored::side(&store, &sides[0])?;
            let second = sides.get(1).map(|second| stored::side(&store, second)).transpose()?;
            let second = second.as_ref().map(|(findings, target)| (findings, *target));
            let compared: Vec<&Findings> = iter::once(&first).chain(second.map(|s| s.0)).collect();
            let others = stored::others(&store, &compared)?;
            let findings = compare((&first, target), second, &others, *force)?;
            output.result(&render(&findings, *format, output.style, *full))?;
            Ok(ExitCode::SUCCESS)
        }
        ResultsAction::Export(args) => export::export(args, &store, output),
        ResultsAction::Pack { run, out, identities, sign } => {
            let run = stored::names(&store, slice::from_ref(run))?.remove(0);
            pack::pack(&run, out.as_deref(), *identities, sign.as_deref(), &store, output)
        }
        ResultsAction::Verify { file, signers } => pack::verify(file, signers.as_deref(), output),
        ResultsAction::Rm { runs } => {
            let mut runs = stored::names(&store, runs)?;
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
    for (at, run) in stored::names(store, &args.runs)?.iter().enumerate() {
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

fn list(store: &Store, args: &ListRuns, output: &Output) -> anyhow::Result<ExitCode> {
    let (runs, unreadable) = stored::matching(store, digest::list(store)?, &args.filter, output);
    let digests: Vec<Digest> = runs.iter().map(|run| Digest::of_listed(store, run)).collect();
    if args.format == ListFormat::Json {
        let listed = runs.iter().zip(&digests).map(|(run, digest)| {
            json!({
                "run": run.run,
                "started_at": run.at,
                "experiment": run.experiment,
                "targets": digest.targets,
                "drives": run.drives,
                "board": run.board,
                "host": run.host,
                "suite": digest.suite,
                "rounds": digest.rounds,
                "quick": digest.quick,
                "ended": End::status(run.end.as_ref()).words(),
                "copy_of": run.copy_of,
                "numbers": digest.numbers,
            })
        });
        output.result(&report::json(&listed.collect::<Vec<_>>()))?;
    } else if !runs.is_empty() {
        let (columns, rows) = lines(&runs, &digests, &run::now(), output.style.width);
        output.table(columns, rows)?;
    }
    unreadable.iter().for_each(|e| output.note(&format!("{e}.")));
    Ok(ExitCode::SUCCESS)
}

impl Digest {
    /// What was measured, such as `/mnt/a +1`.
    fn on(&self) -> String {
        match &self.targets[..] {
            [] => String::new(),
            [one] => one.clone(),
            [first, others @ ..] => format!("{first} +{}", others.len()),
        }
    }

    /// The suite with its rounds, such as `mark ×7, quick`.
    fn suite_and_rounds(&self) -> String {
        let rounds = self.rounds.map(|rounds| format!("×{rounds}"));
        let suite = self.suite.clone().into_iter().chain(rounds).collect::<Vec<_>>().join(" ");
        let quick = self.quick.then(|| "quick".to_owned());
        [suite].into_iter().filter(|suite| !suite.is_empty()).chain(quick).collect::<Vec<_>>().join(", ")
    }
}

/// A line for each run, `width` columns at most. `now` is the time of the list, as RFC 3339.
fn lines(runs: &[Summary], digests: &[Digest], now: &str, width: usize) -> (Vec<Column>, Vec<Vec<String>>) {
    let medium = width >= MEDIUM;
    let room = if medium { 14 } else { 8 };
    // Instead of the suites, which are mostly the same.
    let hosts = runs.windows(2).any(|two| two[0].host != two[1].host);
    let cells = |(run, digest): (&Summary, &Digest)| {
        let mut cells = vec![run.run.clone()];
        cells.extend(medium.then(|| short_date(&run.at, now)));
        cells.extend([run.experiment.clone(), shortened(&digest.on(), room)]);
        cells.extend(medium.then(|| match hosts {
            true => shortened(run.host.as_deref().unwrap_or_default(), room),
            false => digest.suite_and_rounds(),
        }));
        cells
    };
    let rows: Vec<Vec<String>> = runs.iter().zip(digests).map(cells).collect();
    let mut names = match medium {
        true => vec!["run", "when (UTC)", "experiment", "on", if hosts { "host" } else { "suite" }],
        false => vec!["run", "experiment", "on"],
    };
    let taken = (0..names.len()).map(|at| {
        let cells = rows.iter().map(|row| row[at].as_str()).chain([names[at]]);
        cells.map(|cell| cell.width() + 2).max().unwrap_or(0)
    });
    // The last column has what the others leave of the width.
    let room = width.saturating_sub(taken.sum()).max(8);
    names.push(if room < HEAD.len() { "read / write" } else { HEAD });
    let rows = rows.into_iter().zip(runs).zip(digests).map(|((mut row, run), digest)| {
        row.push(result(run, &digest.numbers, room));
        row
    });
    (names.iter().map(|name| Column::new(name, false)).collect(), rows.collect())
}

/// The head of the last column says which of two speeds is which.
const HEAD: &str = "result (read / write)";

/// The least width at which the list has dates and suites, columns.
const MEDIUM: usize = 70;

/// How a run ended, unless it is finished, and as many of its numbers as fit.
fn result(run: &Summary, numbers: &[String], room: usize) -> String {
    let status = End::status(run.end.as_ref());
    let ended = (status != RunStatus::Finished).then(|| status.words().to_owned());
    let ended = run.copy_of.iter().map(|run| format!("copy of {run}")).chain(ended);
    let fits = ended.chain(numbers.iter().cloned()).reduce(|line, next| {
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

/// `2024-11-22`.
pub(super) fn day(at: &str) -> &str {
    at.get(..10).unwrap_or(at)
}

/// `11-22 07:30`, or `2024-11-22` of another year.
pub(super) fn short_date(at: &str, now: &str) -> String {
    let range = if at.get(..4) == now.get(..4) { 5..16 } else { 0..10 };
    at.get(range).unwrap_or(at).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings::Table,
        record::How,
        report::{Style, table},
    };

    fn listed(width: usize, host: Option<&str>) -> String {
        let run = |run: &str, at: &str, experiment: &str, drives: &[&str]| Summary {
            run: run.to_owned(),
            at: at.to_owned(),
            experiment: experiment.to_owned(),
            drives: drives.iter().map(|drive| (*drive).to_owned()).collect(),
            end: Some(End { how: How::Finished, at: String::new() }),
            ..Summary::default()
        };
        let stopped = Some(End { how: How::Interrupted, at: String::new() });
        let twins = ["Cruzer Blade 4C530001", "Cruzer Blade 4C530002"];
        let runs = [
            run("rold", "2024-11-22T07:30:00Z", "baseline", &["/mnt/nas"]),
            run("r6qj", "2026-11-21T07:30:00Z", "baseline", &twins[..1]),
            run("r7xz", "2026-11-21T08:30:00Z", "smallfiles", &twins),
            Summary { end: stopped, ..run("r8xz", "2026-11-22T08:30:00Z", "cliff", &twins[..1]) },
            run("rpoo", "2026-11-22T09:00:00Z", "baseline", &twins[..1]),
            Summary { end: None, ..run("r9kq", "2026-11-22T09:30:00Z", "sizes", &[]) },
        ];
        let numbers: [&[&str]; 6] = [
            &["SEQ4K 28.1 / 8.90 MB/s"],
            &["SEQ1M 28.1 / 8.90 MB/s", "RND4K Q1 6.20 / 0.13 MB/s"],
            &["write 3.1 ms a file"],
            &["SEQ4K write 8.90 MB/s"],
            &["SEQ1M 184 / 38.9 MB/s"],
            &[],
        ];
        let runs = runs.map(|run| match &run.run[..] {
            "rold" => run,
            _ => Summary { host: host.map(str::to_owned), ..run },
        });
        let digests = numbers.map(|numbers| Digest {
            targets: ["/mnt/a", "/mnt/b"].map(str::to_owned).into(),
            suite: Some("mark".to_owned()),
            rounds: Some(7),
            numbers: numbers.iter().map(|&number| number.to_owned()).collect(),
            ..Digest::default()
        });
        let (columns, rows) = lines(&runs, &digests, "2026-11-22T10:00:00Z", width);
        table(&Table { title: String::new(), columns, rows }, Style { width, ..Style::PLAIN })
    }

    #[test]
    fn a_run_is_a_line_with_its_most_important_numbers() {
        let of_hosts = listed(80, Some("raspberrypi-kitchen"));
        let lists = [listed(100, None), listed(80, None), listed(50, None), of_hosts];
        insta::assert_snapshot!(lists.join("\n"));
        for (width, host) in (40..=120).zip([None, Some("pi5")].into_iter().cycle()) {
            let lines = listed(width, host);
            assert!(
                lines.lines().count() == 7 && lines.lines().all(|l| l.width() <= width),
                "{width}: {lines}"
            );
        }
    }
}
