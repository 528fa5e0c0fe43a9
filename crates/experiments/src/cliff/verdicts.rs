//! The results of writing to a directory, and their verdicts: where the speed falls, what ended the search, what a pause restores.

use super::{
    super::common::{self, Group, Series, Summary},
    act::Pause,
    plan::{AGAIN, WRITE},
};
use crate::{
    analyse::{CliffEstimate, Estimate},
    findings::LoadKey,
    plan::Plan,
    record::Run,
    target::Target,
    units::{Caching, Ended, MIB, decimal_bytes, duration, percent, rate, size},
};

/// A fast part smaller than this many chunks is lost in the noise at the beginning.
const LEAST: u64 = 32;
/// No slow-down is found in fewer chunks.
const CHUNKS: u64 = 128;

/// Said of writes for which the filesystem refused direct I/O.
const CACHED: &str = "Direct I/O was refused, and writes through the page cache do not show the drive's own cache: try \
                      another filesystem on that drive.";

pub(super) struct Written<'a> {
    pub target: &'a Target,
    pub first: Writing,
    /// Pause before the second write, s.
    pub pause: Option<f64>,
    pub again: Option<Writing>,
    /// Why the writes don't show the drive, if they don't.
    pub not_its_own: Option<String>,
}

pub(super) struct Writing {
    pub run: Summary,
    pub load: LoadKey,
    /// Where the speed fell, the last time for good.
    pub falls: Vec<CliffEstimate>,
}

/// The write of this label on this target.
fn take(groups: &mut [Group<'_>], at: usize, label: &str) -> Option<Writing> {
    let group = groups.iter_mut().find(|group| group.at == at && group.measure.label == label)?;
    let run = group.runs.pop()?;
    Some(Writing { falls: run.rule.cliff_estimates(), run, load: group.load.clone() })
}

pub(super) fn written<'a>(
    run: &Run<Series>,
    plan: &'a Plan,
    groups: &mut [Group<'_>],
    at: usize,
    target: &'a Target,
) -> Option<Written<'a>> {
    let of_target: Vec<&Group<'_>> = groups.iter().filter(|group| group.at == at).collect();
    let missed = common::not_of_the_drive(&of_target);
    let first = take(groups, at, WRITE)?;
    let cached = first.load.caching != Some(Caching::Direct);
    let not_its_own = if cached { Some(CACHED.to_owned()) } else { missed };
    let mut pauses = plan.steps.iter().filter(|step| step.act.is::<Pause>());
    Some(Written {
        target,
        not_its_own,
        first,
        pause: pauses.find_map(|step| run.acts.get(&(step.id, at))).map(|result| result.seconds),
        again: take(groups, at, AGAIN),
    })
}

pub(super) fn verdicts(written: &Written<'_>) -> Vec<String> {
    let first = &written.first;
    if let Some(why) = &written.not_its_own {
        return vec![why.clone()];
    }
    let mut sentences: Vec<String> = first.falls.iter().map(fell).collect();
    match first.falls.last() {
        Some(fall) => {
            let end = ended(written).filter(|_| first.run.throughput.reason.is_some());
            sentences.extend(end.map(|end| {
                let bytes = decimal_bytes(first.run.bytes);
                format!("The final speed had not settled after {bytes}: {end}.")
            }));
            sentences.extend(recovered(written, fall));
        }
        None => sentences.extend(none(written)),
    }
    if let Some(Ended::Failed { what, offset, message, .. }) = &first.run.ended {
        sentences.push(format!("A {what} at offset {} failed: {message}.", size(*offset)));
    }
    sentences
}

fn fell(fall: &CliffEstimate) -> String {
    let (before, after) = (speed(&fall.before), speed(&fall.after));
    match fall.gradual {
        true => format!("Writes slow down gradually from {before} to {after}, as when a drive gets hot."),
        false => {
            let at = fall.at.sentence(|bytes| decimal_bytes(bytes as u64), "");
            format!("Writes slow down after {at}: from {before} to {after}.")
        }
    }
}

fn speed(e: &Estimate) -> String {
    match e.low > 0.0 {
        true => e.text(rate),
        false => e.sentence(rate, " (too short for an interval)"),
    }
}

/// Whether too little was written to find a slow-down, and how much is needed. Fast drives are measured in larger chunks.
fn too_few(writing: &Writing) -> Option<String> {
    let run = &writing.run;
    let needed = CHUNKS * run.throughput.chunk.max(MIB);
    let [bytes, least] = [run.bytes, needed].map(decimal_bytes);
    (run.bytes < needed)
        .then(|| format!("{bytes} are too few to find a slow-down at this speed: about {least} are needed."))
}

/// What ended the first writing before its rule had enough, and how to write more.
fn ended(written: &Written<'_>) -> Option<&'static str> {
    let run = &written.first.run;
    match &run.ended {
        Some(Ended::Finished) => {
            Some("the file was full; free some space or raise --max-bytes to look further")
        }
        Some(Ended::Stopped) if run.throughput.reason.is_none() => None,
        Some(Ended::Stopped) => {
            Some("a limit of time or bytes ended it; raise --max-time and --max-bytes to look further")
        }
        _ => Some("it was stopped"),
    }
}

/// Whether a sustained speed was said: a last one that was settled.
pub(super) fn sustained(written: &Written<'_>) -> bool {
    let Writing { run, falls, .. } = &written.first;
    let found = !falls.is_empty() || too_few(&written.first).is_none();
    found && run.throughput.sustained && written.not_its_own.is_none()
}

/// No slow-down, and what that does not exclude.
fn none(written: &Written<'_>) -> Vec<String> {
    let run = &written.first.run;
    let end = ended(written);
    if let Some(too_few) = too_few(&written.first) {
        return [too_few].into_iter().chain(end.map(|end| format!("Why: {end}."))).collect();
    }
    let (bytes, least) = (decimal_bytes(run.bytes), size(LEAST * run.throughput.chunk));
    let end = end.unwrap_or("the speed was settled");
    vec![
        format!("No cliff was found within {bytes}; writes {}.", speed(&run.estimate)),
        format!("A cache larger than that or smaller than {least} can't be excluded: {end}."),
    ]
}

/// Whether a writing without a slow-down was fast again; `None` if it is too short to say.
pub(super) fn is_fast(again: &Writing, fall: &CliffEstimate) -> Option<bool> {
    again.run.throughput.unseen.as_ref()?;
    Some(again.run.estimate.value >= (fall.before.value * fall.after.value).sqrt())
}

/// The share of the fast part that a pause restored, if enough was written after it.
fn recovered(written: &Written<'_>, fall: &CliffEstimate) -> Option<String> {
    let (again, pause) = (written.again.as_ref()?, duration(written.pause?));
    let fast = match (again.falls.last(), is_fast(again, fall)) {
        (Some(second), _) => {
            let bytes = second.at.text(|bytes| decimal_bytes(bytes as u64));
            format!("{bytes} were fast again: {} of the first run", percent(second.at.value / fall.at.value))
        }
        (None, Some(true)) => format!("at least {} were fast again", decimal_bytes(again.run.bytes)),
        (None, Some(false)) => format!(
            "less than {} were fast again. Try a longer --pause",
            size(LEAST * again.run.throughput.chunk)
        ),
        (None, None) => return None,
    };
    Some(format!("After a pause of {pause}, {fast}."))
}
