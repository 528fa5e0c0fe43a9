//! What a layout survived, in a sentence or two.

use super::{Probe, PullEvent, PullResult, RejoinResult, SecondPullResult, cases::Case};
use crate::{
    test_files::{FilesFound, LedgerFound, Operations},
    units::{Layout, capital, count, decimal_bytes, duration, listed},
};

/// The text of an error without its number.
pub(super) fn errno(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}

/// What is said first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    BrokenPromise,
    WrongData,
    AsPromised,
}

/// What happened to a layout, and how loud that is.
pub(super) fn verdict(layout: Layout, cases: &[&Case<'_>]) -> (Rank, String) {
    if layout.is_redundant() { redundant(layout, cases) } else { without_copies(layout, cases) }
}

/// What is not as the layout promises: nothing is lost, and reading and writing go on.
pub(super) fn broken(case: &Case<'_>) -> Vec<String> {
    let PullResult { files, ledger, before, away, back, .. } = case.pulled;
    let mut broken = Vec::new();
    let mut look = |files: &FilesFound, ledger: &LedgerFound, when: &str| {
        if files.wrong > 0 {
            broken.push(format!("{} silently wrong {when}", count(files.wrong, "file")));
        }
        if files.failed + files.unread > 0 {
            broken.push(format!("{} not readable {when}", count(files.failed + files.unread, "file")));
        }
        if ledger.lost_bytes > 0 {
            broken.push(format!("{} of synced writes lost {when}", decimal_bytes(ledger.lost_bytes)));
        }
        if files.unsteady + ledger.unsteady > 0 {
            let places = count(files.unsteady + ledger.unsteady, "place");
            broken.push(format!("{places} right only when read again {when}"));
        }
    };
    look(files, ledger, "while it was away");
    let second = back.as_ref().and_then(|back| back.second.as_ref());
    if let Some(SecondPullResult { files, ledger, .. }) = second {
        look(files, ledger, "while another one was away, too");
    }
    if let Some(RejoinResult { files, ledger, .. }) = back {
        look(files, ledger, "after it came back");
    }
    // From the pull until the drive is filled again.
    let used = [Some(away), back.as_ref().map(|back| &back.during), second.map(|second| &second.away)];
    let sum = |of: fn(&Operations) -> u64| used.into_iter().flatten().map(of).sum::<u64>();
    let refused = sum(|used| used.failed_writes + used.failed_reads);
    let wrong = sum(|used| used.wrong_reads);
    if before.wrong_reads > 0 {
        broken.push(format!("{} returned wrong data before the pull", count(before.wrong_reads, "read")));
    }
    // With a hand, the kernel notices later than operations do.
    let early = before.failed_reads + before.failed_writes;
    if early > 0 {
        broken.push(format!("{} failed that began before the pull was noticed", count(early, "operation")));
    }
    if wrong > 0 {
        broken.push(format!("{} returned wrong data", count(wrong, "read")));
    }
    if refused > 0 {
        broken.push(format!("{} failed", count(refused, "operation")));
    }
    let hanging = sum(|used| used.hanging);
    if hanging > 0 {
        broken.push(format!("{} did not end within two minutes", count(hanging, "operation")));
    }
    let differ = back.as_ref().and_then(|back| back.mismatches).unwrap_or(0);
    if differ > 0 {
        broken.push(format!("up to {} differ afterwards", count(differ, "sector")));
    }
    broken
}

fn redundant(layout: Layout, cases: &[&Case<'_>]) -> (Rank, String) {
    let bad: Vec<String> = cases
        .iter()
        .map(|case| (&case.drive, broken(case)))
        .filter(|(_, broken)| !broken.is_empty())
        .map(|(drive, broken)| format!("{drive}: {}", listed(&broken)))
        .collect();
    let pulls = count(cases.len() as u64, "pull");
    if !bad.is_empty() {
        let text = format!("{layout} broke its promise in {} of {pulls}. {}.", bad.len(), bad.join("; "));
        return (Rank::BrokenPromise, text);
    }
    // What works without a drive is not known where the array had it all the time.
    let (cases, unnoticed): (Vec<&Case<'_>>, Vec<&Case<'_>>) =
        cases.iter().copied().partition(|case| case.pulled.missing > 0);
    let unnoticed = match unnoticed.len() {
        0 => String::new(),
        n => format!(
            " In {n} of {pulls} the array did not notice that the drive was away: those show nothing."
        ),
    };
    let pulls = count(cases.len() as u64, "pull");
    if cases.is_empty() {
        return (Rank::BrokenPromise, format!("{layout}: nothing is known.{unnoticed}"));
    }
    let cases = &cases[..];
    let files = cases.first().map_or(0, |case| case.pulled.files.whole);
    let kept: u64 = cases.iter().map(|case| case.pulled.ledger.kept_bytes).sum();
    let longest = cases.iter().map(|case| case.pulled.away.longest).fold(0.0, f64::max);
    let filling =
        cases.iter().filter_map(|case| Some(case.pulled.back.as_ref()?.during.longest)).fold(0.0, f64::max);
    let wrote =
        |case: &&Case<'_>| case.pulled.moments.iter().any(|moment| moment.what == PullEvent::WriteWorks);
    let went_on = match cases.iter().all(wrote) {
        true => "; they went on",
        false => "; not all writes went on before the drive was back",
    };
    let text = format!(
        "{layout} survived {pulls} of one drive: all {} and all synced writes, {}, were whole{}. Reads and writes \
         waited at most {} without the drive{}{went_on}. {}{}{unnoticed}",
        count(files, "file"),
        decimal_bytes(kept),
        if cases.len() > 1 { " each time" } else { "" },
        duration(longest),
        if filling > 0.0 { format!(", {} while it was filled", duration(filling)) } else { String::new() },
        second(cases),
        healed(cases)
    );
    (Rank::AsPromised, text)
}

/// What a second pull did, with a space after it.
fn second(cases: &[&Case<'_>]) -> String {
    let all = cases.iter().filter_map(|case| case.pulled.back.as_ref()?.second.as_ref());
    // One that was filled before needed no other.
    let during: Vec<&SecondPullResult> = all.filter(|second| second.filled < 1.0).collect();
    if during.is_empty() {
        return String::new();
    }
    let longest = during.iter().map(|second| second.away.longest).fold(0.0, f64::max);
    format!(
        "In {} of them, another drive was pulled while the first one was filled: all was whole then, too, and the longest wait was {}. ",
        during.len(),
        duration(longest)
    )
}

/// How the drives came back.
fn healed(cases: &[&Case<'_>]) -> String {
    let backs: Vec<&RejoinResult> = cases.iter().filter_map(|case| case.pulled.back.as_ref()).collect();
    let times: Vec<f64> = backs.iter().filter_map(|back| back.healed).collect();
    if times.len() < cases.len() {
        let why = |case: &&Case<'_>| {
            let back = case.pulled.back.as_ref().filter(|back| back.healed.is_none())?;
            Some(format!(" {}: {}.", capital(&case.drive), back.refused.last()?))
        };
        let why: String = cases.iter().filter_map(why).collect();
        return format!("{} of {} came back into it.{why}", times.len(), count(cases.len() as u64, "drive"));
    }
    let (least, most) = times.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), t| (a.min(*t), b.max(*t)));
    let [least, most] = [least, most].map(duration);
    let time = if least == most { most } else { format!("{least} to {most}") };
    match backs.iter().find(|back| !back.by_itself).and_then(|back| back.commands.last()) {
        Some(_) if cases.iter().all(|case| case.has_second()) => {
            let is_during =
                |back: &&RejoinResult| back.second.as_ref().is_some_and(|second| second.filled < 1.0);
            let during = if backs.iter().all(is_during) { ", while the other one was pulled" } else { "" };
            format!("Added as a new one, the first drive was filled in {time}{during}.")
        }
        Some(_) if cases.iter().all(|case| case.built.is_some_and(|built| built.as_new)) => {
            format!("A drive that was wiped and added as a new one was filled in {time}.")
        }
        None => format!("Plugged in again, a drive is taken back by itself, in {time}."),
        Some(command) => {
            format!(
                "Plugged in again, a drive is not taken back by itself: here `{command}` did it, complete after {time}. For a pool of your own, \
                 `drivebench pool status` shows the command, and `drivebench pool replace` puts a new drive in its place."
            )
        }
    }
}

/// Without copies nothing is promised, but what can be read must be what was written.
fn without_copies(layout: Layout, cases: &[&Case<'_>]) -> (Rank, String) {
    let after = |case: &&Case<'_>| case.pulled.back.as_ref().map_or(0, |back| back.files.wrong);
    let wrong = cases.iter().map(|case| case.pulled.files.wrong.max(after(case))).max().unwrap_or(0);
    let loud = match wrong {
        0 => String::new(),
        wrong => format!("{layout} returned wrong data: {} silently wrong. ", count(wrong, "file")),
    };
    let counts = cases.iter().map(|case| case.pulled.files.all() - case.pulled.files.whole);
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let range = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let all = cases.first().map_or(0, |case| case.pulled.files.all());
    let n = cases.len();
    let works = |what: &str| {
        let ok = |case: &&&Case<'_>| {
            let of = |probe: &&Probe| probe.what == what && !probe.cold;
            case.pulled.probes.iter().find(of).is_some_and(|probe| probe.error.is_none())
        };
        cases.iter().filter(ok).count()
    };
    // Of a pool that was not started again, nothing is known.
    let backs =
        cases.iter().filter_map(|case| case.pulled.back.as_ref().filter(|back| back.healed.is_some()));
    let started = backs.clone().count();
    let lost: u64 = backs.clone().map(|back| back.files.all() - back.files.whole).sum();
    let bytes: u64 = backs.map(|back| back.ledger.lost_bytes).sum();
    let lost = if lost == 0 { "no file".to_owned() } else { count(lost, "file") };
    let bytes = if bytes == 0 { "no".to_owned() } else { format!("{} of", decimal_bytes(bytes)) };
    let after = match started {
        0 => "The pool was not started with all its drives again, so what is lost then is not known."
            .to_owned(),
        _ => format!(
            "Plugged in again, a drive does not rejoin; after the pool was stopped and started with all its drives (`drivebench pool \
             status` shows the commands), in {started} of {n}, {lost} and {bytes} synced writes were lost."
        ),
    };
    let text = format!(
        "{loud}{layout} has no copies: with one drive away, {range} of {all} files were not whole. `ls` worked in {} of {n} pulls \
         all the same, fsync in {}. {after}",
        works("ls"),
        works("fsync")
    );
    (if wrong == 0 { Rank::AsPromised } else { Rank::WrongData }, text)
}
