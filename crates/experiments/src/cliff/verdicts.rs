//! Verdicts of cliff, in sentences.

use super::written::{Writing, Written, places};
use crate::{
    analyse::{Cliff, CliffEstimate, Estimate, Position, Reason, Zoned},
    plan::CutBy,
    units::{Ended, MIB, capital, decimal_bytes, duration, percent, rate, size},
};

/// A fast part smaller than this many chunks is lost in the noise at the beginning.
const LEAST: u64 = 32;
/// No slow-down is found in fewer chunks.
const CHUNKS: u64 = 128;

pub(super) fn written(written: &Written<'_>) -> String {
    let first = &written.first;
    if written.cached {
        return "Direct writing was refused, and writes through the page cache do not show the drive's own cache. Try a \
                directory on another filesystem of that drive."
            .to_owned();
    }
    let mut sentences: Vec<String> = first.falls.iter().map(fell).collect();
    match first.falls.last() {
        Some(fall) => {
            let most = decimal_bytes(fall.at.value as u64);
            let limit =
                || format!("Up to {most} written at once run at the first speed, all beyond at the last.");
            let once = first.falls.len() == 1 && !fall.gradual;
            sentences.extend((once && sustained(written)).then(limit));
            sentences.extend(unsettled(written));
            sentences.extend(restored(written, fall));
        }
        None => sentences.extend(none(written)),
    }
    if let Some(Ended::Failed { what, offset, message, .. }) = &first.run.ended {
        sentences.push(format!("A {what} at offset {} failed: {message}.", size(*offset)));
    }
    sentences.join(" ")
}

fn fell(fall: &CliffEstimate) -> String {
    let at = fall.at.sentence(|bytes| decimal_bytes(bytes as u64), "");
    let (before, after) = (speed(&fall.before), speed(&fall.after));
    if fall.gradual {
        format!(
            "Writes slow down gradually, from {before} to {after}, as from heat; no cache was used up at a certain \
             point."
        )
    } else {
        format!("Writes slow down after {at}: from {before} to {after}.")
    }
}

fn speed(e: &Estimate) -> String {
    match e.low > 0.0 {
        true => e.text(rate),
        false => e.sentence(rate, " (too short for an interval)"),
    }
}

/// Whether too little was written to find a slow-down, and how much is needed. Fast drives are measured in larger chunks.
pub(super) fn too_few(writing: &Writing) -> Option<String> {
    let run = &writing.run;
    let needed = CHUNKS * run.throughput.chunk.max(MIB);
    let [bytes, least] = [run.bytes, needed].map(decimal_bytes);
    (run.bytes < needed)
        .then(|| format!("{bytes} are too few to find a slow-down at this speed: about {least} are needed."))
}

/// What ended the first writing before its rule had enough.
#[derive(Clone, Copy, PartialEq)]
enum Limit {
    FreeSpace,
    LargestFile,
    MaxBytes,
    MaxTime,
    /// What is allowed is too little for a sustained speed.
    OutOfReach,
    /// A person, or an error.
    Stopped,
}

impl Limit {
    fn why(self) -> &'static str {
        match self {
            Self::FreeSpace => "the free space ended it",
            Self::LargestFile => "the largest file ended it",
            Self::MaxBytes => "--max-bytes ended it",
            Self::MaxTime => "--max-time ended it",
            Self::OutOfReach => "that takes more bytes or time than are allowed",
            Self::Stopped => "it was stopped",
        }
    }

    /// How to write more.
    fn remedy(self) -> &'static str {
        match self {
            Self::FreeSpace => " Free some space to look further.",
            Self::LargestFile => " Choose another filesystem to look further.",
            Self::MaxBytes => " Raise --max-bytes to look further.",
            Self::MaxTime => " Raise --max-time to look further.",
            Self::OutOfReach | Self::Stopped => "",
        }
    }
}

fn ended(written: &Written<'_>) -> Option<Limit> {
    let run = &written.first.run;
    match (&run.ended, written.cut.map(|cut| &cut.by)) {
        (Some(Ended::Finished), Some(CutBy::FreeSpace { .. })) => Some(Limit::FreeSpace),
        (Some(Ended::Finished), Some(CutBy::LargestFile { .. })) => Some(Limit::LargestFile),
        (Some(Ended::Finished), None) => Some(Limit::MaxBytes),
        (Some(Ended::Stopped), _) if run.throughput.reason.is_none() => None,
        (Some(Ended::Stopped), _) if run.rule.is_out_of_reach() => Some(Limit::OutOfReach),
        (Some(Ended::Stopped), _) => Some(Limit::MaxTime),
        _ => Some(Limit::Stopped),
    }
}

/// Whether a sustained speed was said: a last one that was settled.
pub(super) fn sustained(written: &Written<'_>) -> bool {
    let Writing { run, falls, .. } = &written.first;
    let found = !falls.is_empty() || too_few(&written.first).is_none();
    found && run.throughput.sustained && !written.cached
}

/// The last speed may change, because the writing ended too early.
fn unsettled(written: &Written<'_>) -> Option<String> {
    let why = ended(written).filter(|_| written.first.run.throughput.reason.is_some())?;
    let bytes = decimal_bytes(written.first.run.bytes);
    Some(format!("The writing ended after {bytes}, before the last speed was settled: {}.", why.why()))
}

/// No slow-down, and what that does not exclude.
fn none(written: &Written<'_>) -> Vec<String> {
    let first = &written.first;
    let run = &first.run;
    if let Some(too_few) = too_few(first) {
        let why = ended(written).map(|why| format!("{}.", capital(why.why())));
        return [Some(too_few), why].into_iter().flatten().collect();
    }
    let bytes = decimal_bytes(run.bytes);
    let ended = ended(written);
    let (why, further) = ended.map_or(("the speed was settled", ""), |limit| (limit.why(), limit.remedy()));
    let (step, writes) = (percent(Cliff::STEP), speed(&run.estimate));
    let seen = match run.throughput.reason {
        Some(Reason::Drifting) => "No cliff was found, but the speed drifts",
        // A mean that is known no better than a step excludes none.
        _ if !run.estimate.is_bounded() || run.estimate.half_width() > Cliff::STEP => {
            "No cliff was found, but the speed varies"
        }
        _ => &format!("No lasting step of {step} or more"),
    };
    vec![
        format!("{seen} within {bytes}; {why}. Writes: {writes}."),
        format!(
            "A fast part larger than that or smaller than {} can't be excluded: SSDs have some of tens of GB.{further}",
            size(LEAST * run.throughput.chunk)
        ),
    ]
}

/// Whether a writing without a slow-down was fast again; `None` if it is too short to say.
pub(super) fn is_fast(again: &Writing, fall: &CliffEstimate) -> Option<bool> {
    again.run.throughput.unseen.as_ref()?;
    Some(again.run.estimate.value >= (fall.before.value * fall.after.value).sqrt())
}

fn restored(written: &Written<'_>, fall: &CliffEstimate) -> Option<String> {
    let (Some(pause), Some(again)) = (written.pause, &written.again) else {
        return Some("Recovery after a pause was not measured.".to_owned());
    };
    let rest = duration(pause);
    let bytes = decimal_bytes(again.run.bytes);
    let Some(second) = again.falls.last() else {
        return Some(match is_fast(again, fall) {
            None => format!("After a pause of {rest}, {bytes} were written: too few to measure recovery."),
            Some(true) => {
                format!("After a pause of {rest}, {bytes} were fast again: at least that much recovered.")
            }
            Some(false) => {
                let least = size(LEAST * again.run.throughput.chunk);
                format!(
                    "After a pause of {rest}, writes were slow from the start: less than {least} recovered. Try a longer --pause."
                )
            }
        });
    };
    let bytes = |bytes: f64| decimal_bytes(bytes as u64);
    let fast = format!("After a pause of {rest}, {} were fast again", second.at.text(bytes));
    Some(if second.at.high >= fall.at.low {
        format!("{fast}: all of it recovered.")
    } else {
        let (share, gain) = (percent(second.at.value / fall.at.value), rate(second.at.value / pause));
        let gain = gain.trim_end_matches("/s");
        format!("{fast}, {share} of the first time: {gain} for each second of the pause.")
    })
}

pub(super) fn sweep(positions: &[Position], zoned: Option<&Zoned>) -> String {
    let [(_, first), (_, middle), (_, last)] = places(positions)[..] else {
        return "Too few positions were read to show how the speed changes over the disk.".to_owned();
    };
    let [start, half, end] = [first, middle, last].map(|place| speed(&place.speed));
    let share = percent(last.speed.value / first.speed.value);
    let mut sentences =
        vec![format!("Reads: {start} at the beginning of the disk, {half} in its middle, {end} at its end.")];
    sentences.push(if last.speed.high < first.speed.low {
        format!(
            "The end has {share} of the speed at the beginning: put data that must be fast into the first partition."
        )
    } else if first.speed.is_bounded() && last.speed.is_bounded() {
        "No difference found between beginning and end.".to_owned()
    } else {
        "Without intervals it can't be judged whether the end is slower.".to_owned()
    });
    sentences.extend(zoned.map(|zoned| format!("Reading the whole disk: {}.", speed(&zoned.estimate))));
    sentences.join(" ")
}
