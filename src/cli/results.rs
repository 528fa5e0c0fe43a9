//! `drivebench results`: list, show, compare, export, remove.

use std::{path::PathBuf, process::ExitCode};

use super::{
    Output,
    args::{Results, ResultsAction, Which},
    export,
};
use crate::{
    compare::compare,
    experiments,
    findings::{Column, Findings, Table},
    import, open_loop,
    record::{Brief, End, Event, ReadError, Store},
    report::{Format, render, table},
    units::count,
};

pub(super) fn store(dir: &Option<PathBuf>) -> anyhow::Result<Store> {
    Ok(match dir {
        Some(dir) => Store::at(dir.clone()),
        None => Store::of_user()?,
    })
}

pub(super) fn results(args: &Results, dir: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = store(dir)?;
    match args.action.as_ref().unwrap_or(&ResultsAction::List(Which::default())) {
        ResultsAction::List(which) => list(&store, which, output),
        ResultsAction::Show { runs, format, waiting } => {
            for run in runs {
                let mut findings = findings(&store, run)?;
                if *waiting {
                    findings.tables.push(open_loop::waiting(|| store.open(run))?);
                }
                output.result(&render(&findings, Format::from(*format), output.style))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        ResultsAction::Compare { first, second, format } => {
            let (first, second) =
                (side(&store, first)?, second.as_ref().map(|s| side(&store, s)).transpose()?);
            let second = second.as_ref().map(|(findings, target)| (findings, *target));
            let findings = compare((&first.0, first.1), second)?;
            output.result(&render(&findings, Format::from(*format), output.style))?;
            Ok(ExitCode::SUCCESS)
        }
        ResultsAction::Export(args) => export::export(args, &store, output),
        ResultsAction::Rm { runs } => {
            // All names are looked at before the first record goes.
            runs.iter().try_for_each(|run| store.open(run).map(drop))?;
            runs.iter().try_for_each(|run| store.remove(run))?;
            output.note(&format!("Removed {}.", runs.join(", ")));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// `RUN` or `RUN:TARGET`.
fn side<'a>(store: &Store, text: &'a str) -> anyhow::Result<(Findings, Option<&'a str>)> {
    let (run, target) = text.split_once(':').map_or((text, None), |(run, target)| (run, Some(target)));
    Ok((findings(store, run)?, target))
}

/// What a stored run found, worked out from its record.
pub(super) fn findings(store: &Store, run: &str) -> anyhow::Result<Findings> {
    let mut record = store.open(run)?;
    let mut findings = of_record(run, &mut record)?;
    findings.flags.extend(record.cut_off());
    Ok(findings)
}

/// What a record shows: that of a run by its experiment, or what was imported.
pub(super) fn of_record(run: &str, record: &mut dyn Iterator<Item = Event>) -> anyhow::Result<Findings> {
    let Some(Event::Start(start)) = record.next() else {
        anyhow::bail!("the record of {run} does not begin with its start");
    };
    let name = start.experiment.clone();
    let mut record = std::iter::once(Event::Start(start)).chain(record);
    if name == import::EXPERIMENT {
        return Ok(import::findings(&mut record));
    }
    let Some(experiment) = experiments::find(&name) else {
        anyhow::bail!("{run} is a run of '{name}', which this drivebench doesn't know: use a newer one");
    };
    Ok(experiment.findings(&mut record))
}

fn list(store: &Store, which: &Which, output: &Output) -> anyhow::Result<ExitCode> {
    let (runs, unreadable) = matching(store, which, output)?;
    let rows = runs.iter().map(row).collect::<Vec<_>>();
    if !rows.is_empty() {
        let columns = ["run", "started (UTC)", "experiment", "ended", "on"]
            .map(|name| Column::new(name, false))
            .to_vec();
        output.result(&table(&Table { title: String::new(), columns, rows }, output.style))?;
    }
    unreadable.iter().for_each(|e| output.note(&format!("{e}.")));
    Ok(ExitCode::SUCCESS)
}

/// Runs that are like this, oldest first, and records that can't be read; where there are none it says why.
pub(super) fn matching(
    store: &Store,
    which: &Which,
    output: &Output,
) -> anyhow::Result<(Vec<Brief>, Vec<ReadError>)> {
    let (mut runs, unreadable) = store.list()?;
    let all = runs.len();
    runs.retain(|run| asked_for(run, which));
    if all == 0 && unreadable.is_empty() {
        output.note(&format!(
            "No results in {} yet: `drivebench run baseline .` makes one.",
            store.dir().display()
        ));
    } else if all > 0 && runs.is_empty() {
        output.note(&format!("None of {} is like that.", count(all as u64, "run")));
    }
    Ok((runs, unreadable))
}

fn asked_for(run: &Brief, which: &Which) -> bool {
    let holds = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    let mut names = run.targets.iter().chain(run.written.keys());
    let day = run.at.get(..10).unwrap_or_default();
    which.drive.as_ref().is_none_or(|part| names.any(|name| holds(name, part)))
        && which.board.as_ref().is_none_or(|part| run.board.as_ref().is_some_and(|b| holds(b, part)))
        && which.experiment.as_ref().is_none_or(|name| *name == run.experiment)
        && which.since.as_deref().is_none_or(|since| day >= since)
        && which.until.as_deref().is_none_or(|until| day <= until)
}

fn row(run: &Brief) -> Vec<String> {
    let at = run.at.get(..16).unwrap_or(&run.at).replace('T', " ");
    vec![
        run.run.clone(),
        at,
        run.experiment.clone(),
        End::status(run.end.as_ref()).words().to_owned(),
        run.targets.join(", "),
    ]
}
