//! Verdicts of boot, in sentences.

use super::{media::Medium, result::Boot};
use crate::{
    analyse::Estimate,
    units::{count, duration, signed_duration},
};

pub(super) fn all(this: &Boot, media: &[Medium<'_>]) -> Vec<String> {
    let mut verdicts = vec![took(this)];
    verdicts.extend(at_most(this));
    if let [here, others @ ..] = media {
        verdicts.extend(others.iter().filter_map(|other| beside(here, other)));
    }
    verdicts
}

fn took(this: &Boot) -> String {
    let (from, time) = (this.drive_and_link(), duration(this.finish));
    format!("Booted from {from} in {time}, from kernel start until startup finished.")
}

/// The most that a faster drive would save: a boot can't wait for reads longer than all of them took.
fn at_most(this: &Boot) -> Option<String> {
    let reads = this.reads?;
    Some(match reads.seconds < this.finish {
        true => format!(
            "A faster drive would save at most {}: the sum of all reads since the kernel started.",
            duration(reads.seconds)
        ),
        false => "What a faster drive would save is not known: reads overlapped, and their sum is longer than the boot."
            .to_owned(),
    })
}

/// The boots from another drive beside those from the drive of this boot.
fn beside(here: &Medium<'_>, other: &Medium<'_>) -> Option<String> {
    let (a, b) = (here.whole()?.value, other.whole()?.value);
    let longer = other.longer_than(here)?;
    let of = match (other.boots.len() as u64, here.boots.len() as u64) {
        (1, 1) => "one boot each".to_owned(),
        (a, b) if a == b => format!("medians of {a} boots each"),
        (a, b) => format!("medians of {} and {b}", count(a, "boot")),
    };
    let medians = format!("{} from {}, {} from {} ({of})", duration(b), other.label, duration(a), here.label);
    let text = difference(&longer);
    Some(match () {
        () if !longer.high.is_finite() => {
            format!("{medians}; one boot is too few to show a difference.")
        }
        () if longer.low > 0.0 => format!("{medians}: {} takes {text} longer.", other.label),
        () if longer.high < 0.0 => {
            let shorter = difference(&here.longer_than(other)?);
            format!("{medians}: {} takes {shorter} less.", other.label)
        }
        () => format!("{medians}: no difference found, {text}."),
    })
}

/// A difference of times with its interval, which may hold 0.
pub(super) fn difference(longer: &Estimate) -> String {
    if longer.high.is_finite() { longer.with_ends(signed_duration) } else { signed_duration(longer.value) }
}
