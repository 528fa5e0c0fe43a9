//! What a layout survived, in a sentence or two.

use super::findings::Case;
use crate::{
    record::{Back, FilesFound, Pulled, What},
    units::{Layout, count, decimal_bytes, distinct, duration, listed},
};

/// The text of an error without its number.
pub(super) fn errno(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}

/// Whether the layout kept its promise, and what happened.
pub(super) fn verdict(layout: Layout, cases: &[&Case<'_>]) -> (bool, String) {
    if cases.iter().any(|case| case.layout.survives(case.drives) > 0) {
        redundant(layout, cases)
    } else {
        (true, without_copies(layout, cases))
    }
}

/// What is not as the layout promises: nothing is lost, and reading and writing go on.
fn broken(case: &Case<'_>) -> Vec<String> {
    let Pulled { files, ledger, away, back, .. } = case.pulled;
    let mut broken = Vec::new();
    let mut look = |files: &FilesFound, lost: u64, when: &str| {
        if files.wrong > 0 {
            broken.push(format!("{} silently wrong {when}", count(files.wrong, "file")));
        }
        if files.failed + files.unread > 0 {
            broken.push(format!("{} not readable {when}", count(files.failed + files.unread, "file")));
        }
        if lost > 0 {
            broken.push(format!("{} of synced writes lost {when}", decimal_bytes(lost)));
        }
    };
    look(files, ledger.lost_bytes, "while it was away");
    if let Some(Back { files, ledger, .. }) = back {
        look(files, ledger.lost_bytes, "after it came back");
    }
    if away.wrong_reads > 0 {
        broken.push(format!("{} returned wrong data", count(away.wrong_reads, "read")));
    }
    let refused = away.failed_writes + away.failed_reads;
    if refused > 0 {
        broken.push(format!("{} failed", count(refused, "operation")));
    }
    if away.hanging > 0 {
        broken.push(format!("{} did not end within two minutes", count(away.hanging, "operation")));
    }
    let differ = back.as_ref().and_then(|back| back.mismatches).unwrap_or(0);
    if differ > 0 {
        broken.push(format!("up to {} differ afterwards", count(differ, "sector")));
    }
    broken
}

fn redundant(layout: Layout, cases: &[&Case<'_>]) -> (bool, String) {
    let bad: Vec<(&Case<'_>, Vec<String>)> =
        cases.iter().map(|case| (*case, broken(case))).filter(|(_, broken)| !broken.is_empty()).collect();
    let pulls = count(cases.len() as u64, "pull");
    if !bad.is_empty() {
        let each = bad.iter().map(|(case, broken)| format!("{}: {}", case.drive, listed(broken)));
        let text = format!(
            "{layout} broke its promise in {} of {pulls}. {}.",
            bad.len(),
            each.collect::<Vec<_>>().join("; ")
        );
        return (false, text);
    }
    let files: u64 = cases.iter().map(|case| case.pulled.files.whole).sum();
    let kept: u64 = cases.iter().map(|case| case.pulled.ledger.kept_bytes).sum();
    let longest = cases.iter().map(|case| case.pulled.away.longest).fold(0.0, f64::max);
    let mut text = format!(
        "{layout} survived {pulls} of one drive: {} and {} of synced writes are whole. Reads and writes waited \
         at most {}, and went on.",
        count(files, "file"),
        decimal_bytes(kept),
        duration(longest)
    );
    let writes =
        cases.iter().all(|case| case.pulled.moments.iter().any(|moment| moment.what == What::WriteWorks));
    if !writes {
        text = text.replace(", and went on", "; not all writes went on before the drive was back");
    }
    text += &healed(cases);
    (true, text)
}

/// How the drives came back.
fn healed(cases: &[&Case<'_>]) -> String {
    let backs: Vec<&Back> = cases.iter().filter_map(|case| case.pulled.back.as_ref()).collect();
    let times: Vec<f64> = backs.iter().filter_map(|back| back.healed).collect();
    if backs.len() < cases.len() || times.len() < cases.len() {
        return format!(" {} of {} drives came back into it.", times.len(), cases.len());
    }
    let (least, most) = times.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), t| (a.min(*t), b.max(*t)));
    let time = if duration(least) == duration(most) {
        duration(most)
    } else {
        format!("{} to {}", duration(least), duration(most))
    };
    if backs.iter().all(|back| back.by_itself) {
        return format!(" Back in its bay, the drive was taken back by itself, in {time}.");
    }
    let commands = distinct(backs.iter().filter_map(|back| back.commands.last().cloned()));
    let command = commands.first().cloned().unwrap_or_default();
    format!(" Back in its bay, the drive is not taken back by itself; it was after {time} with `{command}`.")
}

fn without_copies(layout: Layout, cases: &[&Case<'_>]) -> String {
    let lost = |files: &FilesFound| files.all() - files.whole;
    let counts: Vec<u64> = cases.iter().map(|case| lost(&case.pulled.files)).collect();
    let (least, most) =
        (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    let all = cases.first().map_or(0, |case| case.pulled.files.all());
    let range = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let mut text =
        format!("{layout} has no copies: with one drive away, {range} of {all} files could not be read.");
    let works = |what: &str, cold: bool| {
        let ok = |case: &&&Case<'_>| {
            case.pulled
                .probes
                .iter()
                .any(|probe| probe.what == what && probe.cold == cold && probe.error.is_none())
        };
        cases.iter().filter(ok).count()
    };
    let (ls, touch, fsync) = (works("ls", false), works("touch", false), works("fsync", false));
    let n = cases.len();
    text += &format!(
        " `ls` worked in {ls} of {n} pulls all the same, `touch` in {touch}, fsync in {fsync}: they do not show what is lost."
    );
    let wrong: u64 = cases.iter().map(|case| case.pulled.files.wrong).sum();
    if wrong > 0 {
        text += &format!(" {} silently wrong.", count(wrong, "file"));
    }
    let back: Vec<&Back> = cases.iter().filter_map(|case| case.pulled.back.as_ref()).collect();
    let started = back.iter().filter(|back| back.healed.is_some()).count();
    let lost: u64 = back.iter().map(|back| back.files.all() - back.files.whole).sum();
    let bytes: u64 = back.iter().map(|back| back.ledger.lost_bytes).sum();
    text += &format!(
        " A drive that is plugged in again does not rejoin; after the pool was stopped and started with all its drives, in \
         {started} of {n}, {} and {} of synced writes was lost.",
        if lost == 0 { "no file".to_owned() } else { count(lost, "file") },
        if bytes == 0 { "none".to_owned() } else { decimal_bytes(bytes) }
    );
    text
}
