//! The verdict on each layout.

use super::{PullResult, RejoinResult, cases::Case};
use crate::{
    test_files::{Operations, losses},
    units::{capital, count, decimal_bytes, duration, listed},
};

/// The order of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    BrokenPromise,
    WrongData,
    AsPromised,
}

/// The verdict on a layout, and its rank.
pub(super) fn verdict(cases: &[Case<'_>]) -> Option<(Rank, String)> {
    let first = cases.first()?;
    Some(if first.layout.is_redundant() { redundant(first, cases) } else { without_copies(first, cases) })
}

/// Violations of what a layout with copies or parity promises: no loss, and reads and writes continue.
fn broken(case: &Case<'_>) -> Vec<String> {
    let PullResult { before, back, .. } = case.pulled;
    let some = |n: u64, noun: &str, what: &str| (n > 0).then(|| format!("{} {what}", count(n, noun)));
    let stages = case
        .pulled
        .found()
        .flat_map(|(when, _, files, ledger)| losses(files, ledger).map(move |what| format!("{what} {when}")));
    // Until the drive is rebuilt.
    let used = case.pulled.found().map(|(_, used, ..)| used).chain([before]);
    let sum = |number: fn(&Operations) -> u64| used.clone().map(number).sum();
    let differ = back.as_ref().and_then(|back| back.mismatches).unwrap_or(0);
    let counts = [
        some(sum(|used| used.wrong_reads), "read", "returned wrong data"),
        some(sum(|used| used.failed_writes + used.failed_reads), "operation", "failed"),
        some(sum(|used| used.hanging), "operation", "did not end within two minutes"),
        some(differ, "sector", "differ afterwards, at most"),
    ];
    stages.chain(counts.into_iter().flatten()).collect()
}

/// Why a pull shows nothing of what a layout promises.
fn unknown(case: &Case<'_>) -> Option<&'static str> {
    let PullResult { away, files, missing, back, .. } = case.pulled;
    let after = back.as_ref().map(|back| &back.files).filter(|files| files.is_read());
    let reasons = [
        (case.pulled.is_other_lost(), "another drive was lost meanwhile"),
        (!files.is_read(), "the run was ended before files were read again"),
        (*missing == 0, "the array did not notice that the drive was away"),
        (away.reads + away.writes == 0, "nothing was read or written meanwhile"),
        (
            files.whole == 0 || after.is_some_and(|after| after.whole == 0),
            "other programs changed all files that were read",
        ),
    ];
    reasons.into_iter().find_map(|(is, why)| is.then_some(why))
}

fn redundant(first: &Case<'_>, cases: &[Case<'_>]) -> (Rank, String) {
    let (name, pulls) = (first.name(), count(cases.len() as u64, "pull"));
    let bad = cases.iter().filter_map(|case| {
        let is_wrong = case.pulled.found().any(|(_, used, files, _)| files.wrong + used.wrong_reads > 0);
        let broken = broken(case);
        let is_broken = !broken.is_empty() && (is_wrong || !case.pulled.is_other_lost());
        is_broken.then(|| format!("{}: {}", case.drive, listed(&broken)))
    });
    let bad: Vec<String> = bad.collect();
    if !bad.is_empty() {
        let text = format!(
            "{name} broke its promise in {} of {pulls}. {}. {}",
            bad.len(),
            bad.join("; "),
            healed(cases)
        );
        return (Rank::BrokenPromise, text);
    }
    let unknowns: Vec<&str> = cases.iter().filter_map(unknown).collect();
    let unknown_pulls = unknowns
        .first()
        .map(|why| format!("{name}: no result for {} of {pulls}, because {why}. ", unknowns.len()));
    let unknown_pulls = unknown_pulls.unwrap_or_default();
    // A pull that the array did not notice shows nothing.
    let known: Vec<&Case<'_>> = cases.iter().filter(|case| unknown(case).is_none()).collect();
    let Some(one) = known.first() else {
        return (Rank::BrokenPromise, unknown_pulls + &healed(cases));
    };
    let files = count(one.pulled.files.whole, "file");
    let whole = match &one.pulled.read {
        None => {
            let kept = known.iter().map(|case| case.pulled.ledger.kept_bytes).sum();
            format!("all {files} and all synced writes, {}, were whole", decimal_bytes(kept))
        }
        Some(read) => format!(
            "{files} were whole, as far as they were read ({} of {} of {} below {})",
            decimal_bytes(read.bytes),
            read.files,
            count(read.found, "file"),
            one.pool
        ),
    };
    let text = format!(
        "{name} survived {} of one drive: {whole}. {}{unknown_pulls}",
        count(known.len() as u64, "pull"),
        healed(cases)
    );
    (Rank::AsPromised, text)
}

/// How the drives came back.
fn healed(cases: &[Case<'_>]) -> String {
    let backs: Vec<&RejoinResult> = cases.iter().filter_map(|case| case.pulled.back.as_ref()).collect();
    let times: Vec<f64> = backs.iter().filter_map(|back| back.healed).collect();
    if times.len() < cases.len() {
        let why = |case: &Case<'_>| {
            let back = case.pulled.back.as_ref().filter(|back| back.healed.is_none())?;
            Some(format!(" {}: {}.", capital(&case.drive), back.refused.last()?))
        };
        let why: String = cases.iter().filter_map(why).collect();
        return format!("{} of {} rejoined the pool.{why}", times.len(), count(cases.len() as u64, "drive"));
    }
    let [least, most] = [f64::min, f64::max].map(|pick| times.iter().copied().reduce(pick).unwrap_or(0.0));
    let [least, most] = [least, most].map(duration);
    let time = if least == most { most } else { format!("{least} to {most}") };
    match backs.iter().find(|back| !back.by_itself).and_then(|back| back.commands.last()) {
        None => format!("A returned drive rejoins by itself, in {time}."),
        Some(command) => format!(
            "A returned drive does not rejoin by itself: after `{command}` it was complete in {time}."
        ),
    }
}

/// Without copies nothing is promised, but what can be read must be what was written.
fn without_copies(first: &Case<'_>, cases: &[Case<'_>]) -> (Rank, String) {
    let found = cases.iter().flat_map(|case| case.pulled.found());
    let wrong = found.map(|(_, _, files, _)| files.wrong).max().unwrap_or(0);
    let (layout, all, n) = (first.layout, first.pulled.files.all(), cases.len());
    let loud = match wrong {
        0 => String::new(),
        wrong => format!("{layout} returned wrong data: {} silently wrong. ", count(wrong, "file")),
    };
    let counts = cases.iter().map(|case| case.pulled.files.all() - case.pulled.files.whole);
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let range = if least == most { most.to_string() } else { format!("{least} to {most}") };
    // A pool that was not restarted has no result.
    let backs =
        cases.iter().filter_map(|case| case.pulled.back.as_ref().filter(|back| back.healed.is_some()));
    let after = match backs.clone().count() {
        0 => "It was not restarted with all its drives.".to_owned(),
        started => {
            let lost = backs.clone().map(|back| back.files.all() - back.files.whole).sum();
            let bytes = backs.map(|back| back.ledger.lost_bytes).sum();
            let lost = if lost == 0 { "no file".to_owned() } else { count(lost, "file") };
            let bytes = if bytes == 0 { "no".to_owned() } else { format!("{} of", decimal_bytes(bytes)) };
            format!(
                "After a restart with all drives ({started} of {n}), {lost} and {bytes} synced writes were lost."
            )
        }
    };
    let text = format!(
        "{loud}{layout} has no copies: with one drive away, {range} of {all} files were not whole. {after}"
    );
    (if wrong == 0 { Rank::AsPromised } else { Rank::WrongData }, text)
}
