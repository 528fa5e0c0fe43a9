//! `drivebench results export`: estimates as rows, for other programs.

use std::{
    collections::HashSet,
    fs,
    io::{self, BufWriter, Write},
    path::Path,
    process::ExitCode,
};

use super::{
    args::Export,
    dataset,
    errors::Usage,
    output::{self, Output},
    signals::Signals,
    stored,
};
use crate::{
    record::{AtomicFile, How, Store, Summary},
    report::{self, RowFormat},
    units::{count, decimal_bytes},
};

pub(super) fn export(args: &Export, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let named = stored::names(store, &args.runs)?;
    stored::each_once(&named)?;
    if let Some(path) = &args.out {
        may_write(path, args.force)?;
    }
    let format = args.format.map_or_else(|| format_of(args.out.as_deref()), Ok)?;
    let (runs, whole) = chosen(args, named, format, store, output)?;
    if let Some(dir) = &args.dataset {
        return dataset::add(dir, &runs, whole, store, output);
    }
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(io::stdout());
        let done = write(&runs, format, store, &mut out, None, output).map_err(output::unwritable)?;
        return Ok(code(whole && done.whole));
    };
    let name = path.display();
    let unwritable = |e: io::Error| anyhow::anyhow!("{name} can't be written: {e}");
    let signals = Signals::listen()?;
    // Links are replaced, not followed; what is there stays without --force.
    let file = AtomicFile::create(path, 0o666).map_err(unwritable)?;
    let mut out = BufWriter::new(file.file());
    let done = write(&runs, format, store, &mut out, Some(&signals), output).map_err(unwritable)?;
    drop(out);
    if let Some(code) = signals.code() {
        output.note(&format!("Stopped: {name} was not written."));
        return Ok(ExitCode::from(code));
    }
    let bytes = file.file().metadata().map_err(unwritable)?.len();
    let saved = if args.force { file.keep() } else { file.keep_new().map(drop) };
    saved.map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => Usage(format!("{name} {EXISTS}")).into(),
        _ => unwritable(e),
    })?;
    let (rows, runs) = (count(done.rows, "estimate"), count(done.runs, "run"));
    output.note(&format!("Wrote {name}: {rows} of {runs}, {}.", decimal_bytes(bytes)));
    if format == RowFormat::OpenMetrics && path.extension().is_none_or(|end| end != "prom") {
        output.note("node_exporter reads only files whose names end in .prom.");
    }
    Ok(code(whole && done.whole))
}

fn code(whole: bool) -> ExitCode {
    if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The format for a file of this name, unless `--format` is given.
fn format_of(path: Option<&Path>) -> Result<RowFormat, Usage> {
    let Some(path) = path else { return Ok(RowFormat::Csv) };
    match path.extension().and_then(|end| end.to_str()) {
        Some("csv") => Ok(RowFormat::Csv),
        Some("json") => Ok(RowFormat::Json),
        Some("prom") => Ok(RowFormat::OpenMetrics),
        _ => Err(Usage(format!(
            "{} ends in none of .csv, .json and .prom: choose the format with --format",
            path.display()
        ))),
    }
}

const EXISTS: &str = "already exists: replace it with --force, or choose another name";

/// Refuses paths at which no file can be created, and without `--force` those of files.
fn may_write(path: &Path, force: bool) -> Result<(), Usage> {
    let problem = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => "is a directory: name a file in it",
        Ok(data) if !data.is_file() && !data.is_symlink() => {
            "is not a regular file: leave out --out and redirect the output with >"
        }
        Ok(_) if !force => EXISTS,
        _ => return Ok(()),
    };
    Err(Usage(format!("{} {problem}", path.display())))
}

/// The names of the runs to write, and whether all records could be read that might be among them.
fn chosen(
    args: &Export,
    named: Vec<String>,
    format: RowFormat,
    store: &Store,
    output: &Output,
) -> anyhow::Result<(Vec<String>, bool)> {
    if !named.is_empty() {
        // Check all names before writing anything.
        named.iter().try_for_each(|run| store.open(run).map(drop))?;
        return Ok((named, true));
    }
    let (mut runs, unreadable) = stored::matching(store, store.list()?, &args.filter, output);
    unreadable.iter().for_each(|e| output.note(&format!("{e}.")));
    runs.retain(|run| run.copy_of.is_none());
    if format == RowFormat::OpenMetrics {
        runs = latest(runs);
    }
    Ok((runs.into_iter().map(|run| run.run).collect(), unreadable.is_empty()))
}

/// Runs that may be the latest finished one of a drive and experiment. Records of other runs need not be read.
fn latest(mut runs: Vec<Summary>) -> Vec<Summary> {
    let mut seen = HashSet::new();
    runs.retain(|run| matches!(run.end.as_ref().map(|end| &end.how), Some(How::Finished)));
    runs.sort_by(|a, b| (&b.at, &b.run).cmp(&(&a.at, &a.run)));
    runs.retain(|run| {
        let names = run.targets.iter().chain(run.written.keys());
        names.filter(|name| seen.insert((run.experiment.clone(), (*name).clone()))).count() > 0
    });
    runs
}

struct Done {
    rows: u64,
    runs: u64,
    /// Every record could be read to its end.
    whole: bool,
}

/// Writes the rows of runs, one run at a time, so that memory use stays constant.
fn write(
    runs: &[String],
    format: RowFormat,
    store: &Store,
    out: &mut impl Write,
    signals: Option<&Signals>,
    output: &Output,
) -> io::Result<Done> {
    let mut done = Done { rows: 0, runs: 0, whole: true };
    let mut rows = report::export(format, out)?;
    for run in runs {
        if signals.is_some_and(|signals| signals.code().is_some()) {
            return Ok(done);
        }
        let problem = match stored::read(store, run) {
            Ok((findings, damage)) => {
                for row in report::rows(&findings) {
                    rows.row(&row)?;
                    done.rows += 1;
                }
                done.runs += 1;
                damage
                    .map(|why| format!("{run} is damaged, and only a part of it was read. The record {why}."))
            }
            Err(e) => Some(format!("Skipped {run}: {e}.")),
        };
        done.whole &= problem.is_none();
        problem.iter().for_each(|problem| output.note(problem));
    }
    rows.finish()?;
    Ok(done)
}
