//! Verdicts of boot, in sentences.

use super::{
    media::Medium,
    result::{Boot, Boots},
};
use crate::{
    analyse::Estimate,
    units::{count, distinct, duration, listed, signed_duration},
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
    let (kernel, userspace) = (duration(this.kernel_seconds()), duration(this.userspace_seconds()));
    let initrd = this.initrd_seconds().map(|s| format!(", initrd {}", duration(s))).unwrap_or_default();
    format!(
        "Booted from {} in {}, from the start of the kernel until all was started: kernel {kernel}{initrd}, userspace {userspace}.",
        this.from(),
        duration(this.finish)
    )
}

/// What a faster drive would save: a boot waits for reads no longer than all of them took.
fn at_most(this: &Boot) -> Option<String> {
    let reads = this.reads?;
    Some(match reads.seconds < this.finish {
        true => format!(
            "A drive that reads faster would save at most {}: all reads since the start of the kernel took that long, added up.",
            duration(reads.seconds)
        ),
        false => "How much a drive that reads faster would save does not follow from this boot: all its reads took longer than it, added up."
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
            format!("{medians}; one boot of a drive does not show whether they differ.")
        }
        () if longer.low > 0.0 => format!("{medians}: from {} it takes {text} longer.", other.label),
        () if longer.high < 0.0 => {
            let shorter = difference(&here.longer_than(other)?);
            format!("{medians}: from {} it takes {shorter} less.", other.label)
        }
        () => format!("{medians}: no difference found, {text}."),
    })
}

/// A difference of times with its interval, which may hold 0.
pub(super) fn difference(longer: &Estimate) -> String {
    if longer.high.is_finite() { longer.with_ends(signed_duration) } else { signed_duration(longer.value) }
}

/// Where not only the drive differs.
pub(super) fn unlike(boots: &Boots) -> Vec<String> {
    let parts: [fn(&Boot) -> &Option<String>; 3] =
        [|boot| &boot.computer, |boot| &boot.system, |boot| &boot.linux];
    let names = parts.map(|part| {
        distinct(boots.earlier.iter().chain([&boots.this]).filter_map(|boot| part(boot).clone()))
    });
    let several = names.iter().filter(|names| names.len() > 1);
    let said = |names: &Vec<String>| {
        format!("The boots are of {}: differences need not be those of the drives.", listed(names))
    };
    several.map(said).collect()
}
