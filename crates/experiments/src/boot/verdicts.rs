//! Verdicts of boot, in sentences.

use super::{
    media::{Fit, LeftOut, Medium},
    result::{Boot, Boots},
};
use crate::{
    analyse::Estimate,
    units::{count, distinct, duration, listed, percent, signed_duration},
};

pub(super) fn all(this: &Boot, media: &[Medium<'_>], fit: Option<&Fit>, left_out: &[LeftOut]) -> Vec<String> {
    let mut verdicts = vec![took(this)];
    verdicts.extend(at_most(this).map(|text| text + &of_all(media).unwrap_or_default()));
    if let [here, others @ ..] = media {
        verdicts.extend(others.iter().filter_map(|other| beside(here, other)));
    }
    verdicts.extend(fit.map(line));
    verdicts.extend(fit.filter(|fit| fit.depends).and_then(|_| foretold(left_out)));
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
    let until = duration(reads.until);
    Some(match reads.seconds < this.finish {
        true => format!(
            "A drive that reads faster would save at most {}: all reads until {until} after the start of the kernel took that long, \
             added up. Waits for the drive to appear and for writes, and what happens before the kernel, are not in it.",
            duration(reads.seconds)
        ),
        false => format!(
            "How much a drive that reads faster would save does not follow from this boot alone: all reads until {until} took {}, \
             added up, more than the boot.",
            duration(reads.seconds)
        ),
    })
}

/// What the reads of all boots from here took: one boot may be unlike others.
fn of_all(media: &[Medium<'_>]) -> Option<String> {
    let here = media.first().filter(|here| here.boots.len() > 1)?;
    let boots = count(here.boots.len() as u64, "boot");
    Some(format!(" Over {boots}, these reads took {} (median).", here.reads()?.text(duration)))
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

/// What does not depend on the medium.
fn line(fit: &Fit) -> String {
    let media = fit.media;
    if !fit.depends {
        return format!("Over {media} media no dependence of the boot on the time of reads was found.");
    }
    format!(
        "By a line through the medians of {media} media, {} of a boot do not depend on the time of reads; a drive that needs no time \
         for them would save {}.",
        fit.without_reads.with_ends(signed_duration),
        fit.gain.with_ends(signed_duration)
    )
}

/// How well the line foretells a medium that was not tried.
fn foretold(left_out: &[LeftOut]) -> Option<String> {
    let worst = left_out.iter().max_by(|a, b| a.error().total_cmp(&b.error()))?;
    Some(format!(
        "Each medium left out in turn, the line through the others is off by at most {} ({}: {} instead of {}).",
        percent(worst.error()),
        worst.label,
        duration(worst.line),
        duration(worst.took)
    ))
}

/// Where not only the drive differs.
pub(super) fn unlike(boots: &Boots) -> Vec<String> {
    let all = || boots.earlier.iter().chain([&boots.this]);
    let different = |of: fn(&Boot) -> &Option<String>| {
        let names = distinct(all().filter_map(|boot| of(boot).clone()));
        (names.len() > 1).then(|| listed(&names))
    };
    let systems =
        [different(|boot| &boot.computer), different(|boot| &boot.system), different(|boot| &boot.linux)]
            .into_iter()
            .flatten();
    let said =
        |names: String| format!("The boots are of {names}: differences need not be those of the drives.");
    systems.map(said).collect()
}
