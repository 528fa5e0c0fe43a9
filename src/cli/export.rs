//! `results export`: estimates as rows, for other programs.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{anyhow, bail};
use flate2::{Compression, write::GzEncoder};

use super::{args::Export, errors::Usage, output, output::Output, stored};
use crate::{
    findings::Findings,
    record::{AtomicFile, Event, Start, Store, make_dir},
    report::{self, RowFormat},
    units::{RunStatus, count},
};

pub(super) fn export(args: &Export, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let named = stored::names(store, &args.runs)?;
    stored::each_once(&named)?;
    let (runs, unreadable) = chosen(args, named, store, output)?;
    let whole = match &args.dataset {
        Some(dir) => add_to_dataset(dir, &runs, unreadable, store, output)?,
        None => write(&runs, args.format, store, output).map_err(output::unwritable)? && unreadable == 0,
    };
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of the runs to write, and how many records can't be read that might be among them.
fn chosen(
    args: &Export,
    named: Vec<String>,
    store: &Store,
    output: &Output,
) -> anyhow::Result<(Vec<String>, u64)> {
    if !named.is_empty() {
        // Check all names before writing anything.
        named.iter().try_for_each(|run| store.open(run).map(drop))?;
        return Ok((named, 0));
    }
    let (runs, unreadable) = stored::matching(store, store.list()?, &args.filter, output);
    unreadable.iter().for_each(|e| output.note(&format!("{e}.")));
    let own = runs.into_iter().filter(|run| run.copy_of.is_none());
    Ok((own.map(|run| run.run).collect(), unreadable.len() as u64))
}

/// Writes the rows of runs, one run at a time, so that memory use stays constant. Returns whether every record could be read to
/// its end.
fn write(runs: &[String], format: RowFormat, store: &Store, output: &Output) -> io::Result<bool> {
    let mut whole = true;
    let mut rows = report::export(format, BufWriter::new(io::stdout()))?;
    for run in runs {
        let problem = match stored::read(store, run) {
            Ok((findings, damage)) => {
                report::rows(&findings).try_for_each(|row| rows.row(&row))?;
                damage
                    .map(|why| format!("{run} is damaged, and only a part of it was read. The record {why}."))
            }
            Err(e) => Some(format!("Skipped {run}: {e}.")),
        };
        whole &= problem.is_none();
        problem.iter().for_each(|problem| output.note(problem));
    }
    rows.finish()?;
    Ok(whole)
}

/// Adds a file of estimates, in Hive's partitions, for each run that the dataset does not have yet, if it is finished or its time
/// was up. `unreadable`: records that could not be read before. Returns whether all could be read.
fn add_to_dataset(
    dir: &Path,
    runs: &[String],
    unreadable: u64,
    store: &Store,
    output: &Output,
) -> anyhow::Result<bool> {
    if dir.exists() && !dir.is_dir() {
        return Err(Usage(format!("{} is a file: name a directory", dir.display())).into());
    }
    let (mut new, mut left, mut whole) = (0, unreadable, unreadable == 0);
    for run in runs {
        let read = || {
            let Some(Event::Start(start)) = store.open(run)?.next() else { bail!("it has no start") };
            let path = dir.join(part(run, &start));
            if path.exists() { Ok(None) } else { Ok(Some((path, stored::read(store, run)?))) }
        };
        let problem = match read() {
            Ok(None) => continue,
            Ok(Some((path, (findings, None)))) if ENDED.contains(&findings.origin.ended) => {
                write_part(&path, &findings)
                    .map_err(|e| anyhow!("{} can't be written: {e}", path.display()))?;
                new += 1;
                continue;
            }
            Ok(Some((_, (_, damage)))) => damage.map(|why| format!("the record {why}")),
            Err(e) => Some(e.to_string()),
        };
        left += 1;
        whole &= problem.is_none();
        problem.iter().for_each(|why| output.note(&format!("Skipped {run}: {why}.")));
    }
    let (new, left) = (count(new, "run"), count(left, "unfinished or unreadable run"));
    output.note(&format!("{}: {new} added, {left} left out.", dir.display()));
    Ok(whole)
}

/// How the runs of a dataset ended. A time limit must not leave out the slow drives.
const ENDED: [RunStatus; 2] = [RunStatus::Finished, RunStatus::TimeUp];

/// Where the rows of a run are. Names of runs are unique in a store only, and cloned machines have the same id: the time
/// tells their runs apart.
fn part(run: &str, start: &Start) -> PathBuf {
    // What a record says can't lead out of the dataset.
    let safe = |text: Option<&str>| -> String {
        let text = text.filter(|text| !text.is_empty()).unwrap_or("unknown").chars().take(64);
        text.map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
    };
    let (month, machine) = (safe(start.at.get(..7)), safe(start.host.machine_id.as_deref()));
    let time: String = start.at.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
    format!("month={month}/machine={machine}/part-{run}-{time}.csv.gz").into()
}

fn write_part(path: &Path, findings: &Findings) -> io::Result<()> {
    make_dir(path.parent().unwrap_or(path))?;
    let file = AtomicFile::create(path, 0o666)?;
    let mut packed = GzEncoder::new(BufWriter::new(file.file()), Compression::default());
    let mut rows = report::export(RowFormat::Csv, &mut packed)?;
    report::rows(findings).try_for_each(|row| rows.row(&row))?;
    rows.finish()?;
    packed.finish()?.flush()?;
    // Another export may have added the same run.
    file.keep_new()
        .map(drop)
        .or_else(|e| if e.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(e) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Reader;

    #[test]
    fn no_record_leads_out_of_the_dataset() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/records/rbase1.jsonl.gz"));
        let Some(Event::Start(mut start)) = Reader::open(path).expect("a fixture").next() else {
            panic!("a start")
        };
        let mut at = |at: &str, machine: Option<&str>| {
            start.at = at.to_owned();
            start.host.machine_id = machine.map(str::to_owned);
            part("r2k4", &start).to_str().expect("UTF-8").to_owned()
        };
        let usual = at("2026-11-21T07:30:00Z", Some("5f1c"));
        assert_eq!(usual, "month=2026-11/machine=5f1c/part-r2k4-20261121T073000Z.csv.gz");
        assert_eq!(at("", Some("")), "month=unknown/machine=unknown/part-r2k4-.csv.gz");
        let hostile = at("../../../etc", Some(&format!("/../é=\n{}", "x".repeat(999))));
        let long = "x".repeat(57);
        assert_eq!(hostile, format!("month=_______/machine=_______{long}/part-r2k4-etc.csv.gz"));
    }
}
