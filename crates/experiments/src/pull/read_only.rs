//! Findings of a drive that was pulled out of a pool in use: what reading alone shows.

use super::{FilesRead, PullEvent, PullResult, cases::Case, findings::tables, verdicts::broken};
use crate::{
    findings::Findings,
    test_files::FilesFound,
    units::{capital, count, decimal_bytes, duration, listed, shell_word},
};

pub(super) fn results(findings: &mut Findings, case: &Case<'_>) {
    // What md copies back is in no count of bytes.
    findings.spent = None;
    findings.verdicts.push(verdict(case));
    findings.verdicts.extend(next(case));
    findings.details.sentences.extend([LEGEND.to_owned(), chosen(case)]);
    tables(findings, &[case]);
    findings.context.push("reading only: no file was written".to_owned());
}

/// What the columns say.
const LEGEND: &str = "'intact': files that hold what they held before the pull, as far as they are read; 'wrong': files that hold something else, although \
    no program changed them; 'changed': files that other programs changed or removed, of which nothing is said. 'longest wait': the longest read while the drive \
    was away. 'failed reads': of programs; what the kernel says of the drive that is gone, it keeps from them. 'cache emptied': tried again after the memory's copies of files were dropped. 'complete in': from the command that takes the drive back to \
    the last byte copied. 'share written': of what the pool uses of the drive, what other programs wrote included.";

/// The files that were chosen, of all: `8 files of 40 below /srv/data`.
fn sample(case: &Case<'_>) -> String {
    let FilesRead { files, found, more, .. } = case.pulled.read.clone().unwrap_or_default();
    let least = if more { "at least " } else { "" };
    format!("{} of {least}{found} below {}", count(files, "file"), case.pool)
}

fn chosen(case: &Case<'_>) -> String {
    let bytes = decimal_bytes(case.pulled.read.as_ref().map_or(0, |read| read.bytes));
    let left = left_out(case).map(|left| format!("; {left}")).unwrap_or_default();
    format!("{} were read, {bytes} of them{left}.", sample(case))
}

/// Files of which nothing is said.
fn left_out(case: &Case<'_>) -> Option<String> {
    let FilesRead { unreadable, changing, .. } = case.pulled.read.clone()?;
    let of = |n: u64, why: &str| (n > 0).then(|| format!("{} {why}", count(n, "file")));
    let why = [of(unreadable, "could not be read"), of(changing, "changed within the last 3 s")];
    let why: Vec<String> = why.into_iter().flatten().collect();
    (!why.is_empty()).then(|| format!("left out: {}", listed(&why)))
}

fn verdict(case: &Case<'_>) -> String {
    const WRITES: &str =
        "No file was written, so this says nothing about writes, and copies and parity were not compared.";
    let PullResult { files, away, moments, back, read, .. } = case.pulled;
    let head = format!("{} of {} drives in use", case.layout, case.drives);
    let unknown = |why: String| format!("{head}: nothing is known{why}. {}", healed(case));
    // What no layout promises to survive says nothing of it; wrong data does.
    let lost = case.pulled.missing > 1 || case.pulled.lost || back.as_ref().is_some_and(|back| back.lost);
    let is_wrong = files.wrong > 0 || back.as_ref().is_some_and(|back| back.files.wrong > 0);
    let is_read = |files: &FilesFound| files.all() + files.changed > 0;
    let after = back.as_ref().map(|back| &back.files).filter(|files| is_read(files));
    let bad = broken(case);
    match () {
        () if lost && !is_wrong => {
            let drive = &case.drive;
            return unknown(format!(
                " of a pull of one drive, because another drive was lost besides {drive}"
            ));
        }
        () if !bad.is_empty() => {
            return format!(
                "{head} broke its promise when {} was pulled: {}. {} {WRITES}",
                case.drive,
                listed(&bad),
                healed(case)
            );
        }
        () if !is_read(files) => {
            return unknown(", because the run was ended before files were read again".to_owned());
        }
        () if case.pulled.missing == 0 => {
            return unknown(format!(", because the array did not notice that {} was away", case.drive));
        }
        () if files.whole == 0 || after.is_some_and(|after| after.whole == 0) => {
            return unknown(", because other programs changed all files that were read".to_owned());
        }
        () => {}
    }
    let bytes = decimal_bytes(read.as_ref().map_or(0, |read| read.bytes));
    let sample = sample(case);
    let (then, changed) = match after {
        Some(after) if after.whole == files.whole => {
            (" and after it came back".to_owned(), files.changed.max(after.changed))
        }
        Some(after) => {
            (format!(", and {} after it came back", after.whole), files.changed.max(after.changed))
        }
        None => (String::new(), files.changed),
    };
    let changed = match changed {
        0 => String::new(),
        n => format!(
            " Other programs changed or removed {}, of which nothing is said.",
            count(n, "other file")
        ),
    };
    let left = left_out(case).map(|left| format!(" {}.", capital(&left))).unwrap_or_default();
    let reads = match moments.iter().any(|moment| moment.what == PullEvent::ReadWorks) {
        true => format!("Reads waited at most {}, and went on.", duration(away.longest)),
        false if away.reads > 0 => format!("Reads waited at most {}.", duration(away.longest)),
        false => "No read ended while it was away.".to_owned(),
    };
    let (were, they) = if files.whole == 1 { ("was", "it was") } else { ("were", "they were") };
    format!(
        "{head} survived a pull of one drive, reading only: {} {were} whole, as far as {they} read ({bytes} of {sample}), while {} was away{then}.{changed}{left} {reads} {} {WRITES}",
        count(files.whole, "file"),
        case.drive,
        healed(case)
    )
}

fn healed(case: &Case<'_>) -> String {
    let Some(back) = &case.pulled.back else { return "It has not come back into the pool.".to_owned() };
    let Some(seconds) = back.healed else {
        let why = back.refused.last().map_or(String::new(), |why| format!(": {why}"));
        return format!("The pool was not complete when the run ended{why}.");
    };
    let time = duration(seconds);
    match (back.by_itself, back.commands.last()) {
        (false, Some(command)) if command.contains(" --add ") => {
            format!(
                "mdadm refused to take the drive back as it was; `{command}` added it as a new one, and it was filled in {time}."
            )
        }
        (false, Some(command)) => {
            format!("`{command}` took the drive back, and the pool was complete again after {time}.")
        }
        _ => format!("The pool took the drive back by itself, and was complete again after {time}."),
    }
}

/// What a person types when a drive is lost for good, and to compare what reading does not.
fn next(case: &Case<'_>) -> Option<String> {
    let back = case.pulled.back.as_ref().filter(|back| back.healed.is_some())?;
    let own = case.target.pool.as_ref().filter(|pool| pool.ours).and_then(|pool| pool.name.as_deref());
    let (replace, compare) = match own.map(shell_word) {
        Some(name) => (
            format!("drivebench pool replace {name} OLD NEW"),
            format!("`sudo drivebench pool scrub {name}`"),
        ),
        None => {
            let named = back.commands.iter().find_map(|command| command.strip_prefix("mdadm /dev/"));
            let array = named.and_then(|rest| rest.split(' ').next()).unwrap_or("ARRAY");
            (
                format!("mdadm /dev/{array} --add /dev/NEW"),
                format!(
                    "`sudo mdadm --action=check /dev/{array}`, and once that is done `cat /sys/block/{array}/md/mismatch_cnt` should say 0"
                ),
            )
        }
    };
    Some(format!(
        "What to type: if a drive fails for good, `drivebench list` says what the pool lacks; `sudo {replace}` fills a new one, at least as large, and until that is \
         done the pool survives fewer failures. To compare copies and parity: {compare}."
    ))
}
