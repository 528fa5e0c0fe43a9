//! The verdict on each layout.

use super::{PullResult, RejoinResult, findings::Case};
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
    // A pull that the array did not notice shows nothing.
    let unknowns: Vec<&str> = cases.iter().filter_map(unknown).collect();
    let unknown_pulls = match unknowns.first() {
        None => String::new(),
        Some(why) => format!("{name}: no result for {} of {pulls}, because {why}. ", unknowns.len()),
    };
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
            "{files} were whole, as far as they were read ({} of {} below {})",
            decimal_bytes(read.bytes),
            count(read.files, "file"),
            one.pool
        ),
    };
    let survived = count(known.len() as u64, "pull");
    let text = format!("{name} survived {survived} of one drive: {whole}. {}{unknown_pulls}", healed(cases));
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
    let time = duration(times.into_iter().fold(0.0, f64::max));
    match backs.iter().find(|back| !back.by_itself).and_then(|back| back.commands.last()) {
        None => format!("A returned drive rejoins by itself, within {time}."),
        Some(command) => format!(
            "A returned drive does not rejoin by itself: after `{command}` it was complete within {time}."
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
    let most = cases.iter().map(|case| case.pulled.files.all() - case.pulled.files.whole).max().unwrap_or(0);
    let backs = cases.iter().filter_map(|case| case.pulled.back.as_ref());
    let started: Vec<&RejoinResult> = backs.filter(|back| back.healed.is_some()).collect();
    let files: u64 = started.iter().map(|back| back.files.all() - back.files.whole).sum();
    let bytes: u64 = started.iter().map(|back| back.ledger.lost_bytes).sum();
    let lost = match files + bytes {
        _ if started.is_empty() => "what is lost is not known".to_owned(),
        0 => "no file and no synced writes were lost".to_owned(),
        _ => format!("{} and {} of synced writes were lost", count(files, "file"), decimal_bytes(bytes)),
    };
    let text = format!(
        "{loud}{layout} has no copies: with one drive away, up to {most} of {all} files were not whole. \
         After a restart with all drives ({} of {n}), {lost}.",
        started.len()
    );
    (if wrong == 0 { Rank::AsPromised } else { Rank::WrongData }, text)
}
