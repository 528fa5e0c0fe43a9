//! `results export`: estimates as rows, for other programs.

use std::{
    io::{self, BufWriter},
    process::ExitCode,
};

use super::{args::Export, dataset, output, output::Output, stored};
use crate::{
    record::Store,
    report::{self, RowFormat},
};

pub(super) fn export(args: &Export, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let named = stored::names(store, &args.runs)?;
    stored::each_once(&named)?;
    let (runs, whole) = chosen(args, named, store, output)?;
    match &args.dataset {
        Some(dir) => dataset::add(dir, &runs, whole, store, output),
        None => {
            let done = write(&runs, args.format, store, output).map_err(output::unwritable)?;
            Ok(if whole && done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// The names of the runs to write, and whether all records could be read that might be among them.
fn chosen(
    args: &Export,
    named: Vec<String>,
    store: &Store,
    output: &Output,
) -> anyhow::Result<(Vec<String>, bool)> {
    if !named.is_empty() {
        // Check all names before writing anything.
        named.iter().try_for_each(|run| store.open(run).map(drop))?;
        return Ok((named, true));
    }
    let (runs, unreadable) = stored::matching(store, store.list()?, &args.filter, output);
    unreadable.iter().for_each(|e| output.note(&format!("{e}.")));
    let own = runs.into_iter().filter(|run| run.copy_of.is_none());
    Ok((own.map(|run| run.run).collect(), unreadable.is_empty()))
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
