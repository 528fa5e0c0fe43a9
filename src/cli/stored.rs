//! Stored runs: found, read, and worked out into findings.

use std::path::PathBuf;

use super::{args::Which, output::Output};
use crate::{
    experiments::{self, Reading, Side},
    findings::Findings,
    record::{Brief, Event, ReadError, Reader, Store},
};

pub(super) fn store(dir: &Option<PathBuf>) -> anyhow::Result<Store> {
    Ok(match dir {
        Some(dir) => Store::at(dir.clone()),
        None => Store::of_user()?,
    })
}

/// What a stored run found, worked out from its record.
pub(super) fn findings(store: &Store, run: &str) -> anyhow::Result<Findings> {
    Ok(read(store, run)?.0)
}

/// What a stored run found, and what is damaged in its record.
pub(super) fn read(store: &Store, run: &str) -> anyhow::Result<(Findings, Option<String>)> {
    let (reading, mut reader, start) = open(store, run)?;
    let mut findings = reading.findings(&mut std::iter::once(start).chain(reader.by_ref()));
    findings.flags.extend(reader.cut_off());
    Ok((findings, reader.damage().map(str::to_owned)))
}

/// A record with its first event, and who can read it.
fn open(store: &Store, run: &str) -> anyhow::Result<(Reading, Reader, Event)> {
    let mut reader = store.open(run)?;
    let Some(Event::Start(start)) = reader.next() else {
        anyhow::bail!("the record of {run} has no start");
    };
    let Some(reading) = Reading::of(&start.experiment) else {
        anyhow::bail!(
            "{run} is a run of '{}', which this version of drivebench doesn't know: use a newer one",
            start.experiment
        );
    };
    Ok((reading, reader, Event::Start(start)))
}

/// Matching runs, oldest first, and records that can't be read. A note says why there are none.
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
            "No results in {}. Make some with `drivebench run baseline .`.",
            store.dir().display()
        ));
    } else if all > 0 && runs.is_empty() {
        output.note("No matching runs.");
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

/// Two runs, compared as `results compare` does.
pub(super) fn compared(store: &Store, first: &str, second: &str) -> anyhow::Result<Findings> {
    let (first, second) = (side(store, first)?, side(store, second)?);
    Ok(experiments::compare((&first.0, None), Some((&second.0, None)))?)
}

/// `RUN` or `RUN:TARGET`.
pub(super) fn side<'a>(store: &Store, text: &'a str) -> anyhow::Result<(Side, Option<&'a str>)> {
    let (run, target) = text.split_once(':').map_or((text, None), |(run, target)| (run, Some(target)));
    let (reading, mut reader, start) = open(store, run)?;
    Ok((Side::read(reading, std::iter::once(start).chain(reader.by_ref())), target))
}
