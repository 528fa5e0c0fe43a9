//! `drivebench results`: list, show, compare, export, remove.

use std::{path::PathBuf, process::ExitCode};

use super::{
    args::{Results, ResultsAction, Which},
    export,
    output::Output,
    stored,
};
use crate::{
    compare::compare,
    findings::Column,
    open_loop,
    record::{End, Store, Summary},
    report::render,
    units::shortened,
};

pub(super) fn results(args: &Results, dir: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(dir)?;
    match args.action.as_ref().unwrap_or(&ResultsAction::List(Which::default())) {
        ResultsAction::List(which) => list(&store, which, output),
        ResultsAction::Show { runs, format, full, waiting } => {
            for run in runs {
                let mut findings = stored::findings(&store, run)?;
                if *waiting {
                    findings.tables.push(open_loop::waiting(|| store.open(run))?);
                }
                output.result(&render(&findings, *format, output.style, *full || *waiting))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        ResultsAction::Compare { first, second, format } => {
            let (first, target) = stored::side(&store, first)?;
            let second = second.as_ref().map(|second| stored::side(&store, second)).transpose()?;
            let second = second.as_ref().map(|(findings, target)| (findings, *target));
            let findings = compare((&first, target), second)?;
            output.result(&render(&findings, *format, output.style, false))?;
            Ok(ExitCode::SUCCESS)
        }
        ResultsAction::Export(args) => export::export(args, &store, output),
        ResultsAction::Rm { runs } => {
            let mut runs = runs.clone();
            runs.sort();
            runs.dedup();
            // Check all names before removing any record.
            runs.iter().try_for_each(|run| store.removable(run))?;
            runs.iter().try_for_each(|run| store.remove(run))?;
            output.note(&format!("Removed {}.", runs.join(", ")));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(store: &Store, which: &Which, output: &Output) -> anyhow::Result<ExitCode> {
    let (runs, unreadable) = stored::matching(store, which, output)?;
    if !runs.is_empty() {
        let row = |run: &Summary| {
            let at = run.at.get(..16).unwrap_or(&run.at).replace('T', " ");
            let ended = End::status(run.end.as_ref()).words().to_owned();
            vec![run.run.clone(), at, run.experiment.clone(), ended, run.targets.join(", ")]
        };
        let names = ["run", "started (UTC)", "experiment", "ended", "on"];
        let mut rows: Vec<Vec<String>> = runs.iter().map(row).collect();
        // The last column has what the others leave of the width.
        let width = |at: usize| {
            let cells = rows.iter().map(|row| row[at].as_str()).chain([names[at]]);
            cells.map(|cell| cell.chars().count() + 2).max().unwrap_or(0)
        };
        let room = output.style.width.saturating_sub((0..4).map(width).sum()).max(16);
        rows.iter_mut().for_each(|row| row[4] = shortened(&row[4], room));
        let columns = names.map(|name| (name, false));
        output.table(Column::all(columns), rows)?;
    }
    unreadable.iter().for_each(|e| output.note(&format!("{e}.")));
    Ok(ExitCode::SUCCESS)
}
