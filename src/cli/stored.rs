//! Finds stored runs, reads them, and computes their findings.

use std::{borrow::Borrow, io, path::PathBuf};

use super::{
    args::{Filter, LAST},
    errors::Usage,
    output::Output,
    results::day,
};
use crate::{
    experiments::{
        self,
        pool_commands::{self, is_pool_command},
    },
    findings::Findings,
    import,
    record::{End, Event, ReadError, Reader, Store, Summary},
    report::{Format, render},
    units::{RunStatus, shell_word},
    watch,
};

pub(super) fn store(dir: &Option<PathBuf>) -> anyhow::Result<Store> {
    Ok(dir.clone().map_or_else(Store::of_user, |dir| Ok(Store::at(dir)))?)
}

/// The names of runs, each with `:TARGET` if it has one, where people may write `last` for the newest run.
pub(super) fn names(store: &Store, given: &[String]) -> anyhow::Result<Vec<String>> {
    let name = |given: &String| {
        let target = given.strip_prefix(LAST).filter(|rest| rest.is_empty() || rest.starts_with(':'));
        let Some(target) = target else { return Ok(given.clone()) };
        let newest = store.list()?.0.pop();
        let newest =
            newest.ok_or_else(|| Usage(format!("there are no runs in {}", store.dir().display())))?;
        Ok(newest.run + target)
    };
    given.iter().map(name).collect()
}

pub(super) fn findings(store: &Store, run: &str) -> anyhow::Result<Findings> {
    Ok(read(store, run)?.0)
}

/// The findings of a stored run, and damage in its record.
pub(super) fn read(store: &Store, run: &str) -> anyhow::Result<(Findings, Option<String>)> {
    of(store.open(run)?, Some(run))
}

/// The findings of a record, and damage in it; `run` is its name in a store.
pub(super) fn of(mut record: Reader, run: Option<&str>) -> anyhow::Result<(Findings, Option<String>)> {
    let Some(Event::Start(mut start)) = record.next() else {
        anyhow::bail!("the record{} has no start", run.map(|run| format!(" of {run}")).unwrap_or_default());
    };
    // Files of reports are named after the run, so the name inside the record is not trusted.
    if let Some(run) = run {
        run.clone_into(&mut start.run);
    }
    let run = start.run.clone();
    let name = start.experiment.clone();
    let mut events = std::iter::once(Event::Start(start)).chain(record.by_ref());
    let mut findings = if name == import::EXPERIMENT {
        import::findings(&mut events)
    } else if name == watch::EXPERIMENT {
        watch::findings(&mut events)
    } else if is_pool_command(&name) {
        pool_commands::findings(&mut events)
    } else if let Some(experiment) = experiments::find(&name) {
        experiment.findings(&mut events)
    } else {
        anyhow::bail!(
            "{run} is a run of '{name}', which this version of drivebench doesn't know: use a newer one"
        );
    };
    findings.flags.extend(record.cut_off());
    Ok((findings, record.damage().map(str::to_owned)))
}

/// Matching runs of a list, oldest first, and unreadable records. If there are none, prints a note that says why.
pub(super) fn matching(
    store: &Store,
    listed: (Vec<Summary>, Vec<ReadError>),
    filter: &Filter,
    output: &Output,
) -> (Vec<Summary>, Vec<ReadError>) {
    let (mut runs, unreadable) = listed;
    let all = runs.len();
    runs.retain(|run| matches(run, filter));
    if all == 0 && unreadable.is_empty() {
        let dir = store.dir().display();
        let make = command(store, "run baseline .");
        output.note(&format!("No results in {dir}. Make some with `{make}`."));
    } else if all > 0 && runs.is_empty() {
        output.note("No matching runs.");
    }
    (runs, unreadable)
}

fn matches(run: &Summary, filter: &Filter) -> bool {
    let holds = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    let mut names = run.targets.iter().chain(run.written.keys());
    let day = day(&run.at);
    filter.drive.as_ref().is_none_or(|part| names.any(|name| holds(name, part)))
        && filter.board.as_ref().is_none_or(|part| run.board.as_ref().is_some_and(|b| holds(b, part)))
        && filter.host.as_ref().is_none_or(|name| run.host.as_ref() == Some(name))
        && filter.experiment.as_ref().is_none_or(|name| *name == run.experiment)
        && filter.since.as_deref().is_none_or(|since| day >= since)
}

pub(super) fn each_once(runs: &[String]) -> Result<(), Usage> {
    let twice = runs.iter().enumerate().find(|(i, run)| runs[..*i].contains(run));
    twice.map_or(Ok(()), |(_, run)| Err(Usage(format!("{run} is named twice"))))
}

/// Compresses the record of a run that has ended; failure only costs space.
pub(super) fn pack(store: &Store, run: &str, output: &Output) {
    if let Err(e) = store.pack(run) {
        output.note(&format!("The record was not compressed: {e}."));
    }
}

/// Prints findings, what the run cost, its name, and commands for what to do next.
pub(super) fn show(
    store: &Store,
    findings: &Findings,
    (format, full): (Format, bool),
    output: &Output,
) -> io::Result<()> {
    let shown = output.result(&render(findings, format, output.style, full));
    let run = &findings.run;
    let spent = findings.spent.map(|spent| spent.describe() + " ").unwrap_or_default();
    output.note(&format!("{spent}Saved as {run}."));
    let own = [format!("show {run} --full"), format!("report {run}")].map(|words| command(store, &words));
    let next = findings.next.iter().map(|n| (command(store, &n.command), n.question.as_str()));
    own.iter().for_each(|command| output.command(command, None));
    next.for_each(|(command, question)| output.command(&command, Some(question)));
    // A closed pipe, such as `| head`, does not change the exit code.
    shown.or_else(|e| if e.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })
}

/// A command for this store, as it must be typed.
pub(super) fn command(store: &Store, command: &str) -> String {
    let usual = Store::of_user().is_ok_and(|usual| usual.dir() == store.dir());
    let dir = shell_word(store.dir());
    if usual { format!("drivebench {command}") } else { format!("drivebench {command} --store {dir}") }
}

/// The newest other finished runs of the same experiment on the drives of these: they tell how much runs differ. A record that
/// can't be read tells nothing.
pub(super) fn others(store: &Store, compared: &[impl Borrow<Findings>]) -> anyhow::Result<Vec<Findings>> {
    const NEWEST: usize = 16;
    let is_comparable = |run: &&Summary| {
        compared.iter().map(Borrow::borrow).any(|findings| {
            let mut drives = findings.origin.carriers.iter().flat_map(|carrier| &carrier.drives);
            findings.experiment == run.experiment
                && drives.any(|drive| run.written.contains_key(&drive.identity))
        }) && !compared.iter().any(|findings| findings.borrow().run == run.run)
            && End::status(run.end.as_ref()) == RunStatus::Finished
    };
    let runs = store.list()?.0;
    let others = runs.iter().rev().filter(is_comparable).take(NEWEST);
    Ok(others.filter_map(|run| findings(store, &run.run).ok()).collect())
}

/// `RUN` or `RUN:TARGET`.
pub(super) fn side<'a>(store: &Store, text: &'a str) -> anyhow::Result<(Findings, Option<&'a str>)> {
    let (run, target) = text.split_once(':').map_or((text, None), |(run, target)| (run, Some(target)));
    Ok((findings(store, run)?, target))
}
