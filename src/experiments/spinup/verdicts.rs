//! What spinup's numbers mean, in sentences.

use super::{super::common::ONE_RUN, woken::Woken};
use crate::units::{MIB, Power, count, decimal_bytes, duration};

pub(super) fn woken(woken: &Woken<'_>) -> String {
    let (slept, all) = (woken.wakings().len() as u64, woken.reads.len() as u64);
    let mut said = Vec::new();
    if slept == 0 {
        said.push(
            "It was not seen to sleep: no first read took longer than while spinning. Give its own timer longer with \
             --pause, or see what keeps it awake."
                .to_owned(),
        );
    } else {
        said.push(both(woken));
        if slept < all {
            said.push(format!(
                "It slept before {slept} of {} only; the others are left out.",
                count(all, "read")
            ));
        }
        if let Some(e) = woken.direct().filter(|e| e.high.is_finite()) {
            said.push(format!(
                "Whoever asks it after a rest waits that long; allow for {} in time limits.",
                duration(2.0 * e.high)
            ));
        }
    }
    said.extend(how(woken));
    said.extend(disturbed(woken));
    said.join(" ")
}

/// By both methods, and why one is wider.
pub(super) fn both(woken: &Woken<'_>) -> String {
    let Some(direct) = woken.direct() else { return "It was not seen to sleep.".to_owned() };
    let direct =
        format!("It takes {} to wake, by the first read after standby.", direct.sentence(seconds, ONE_RUN));
    match woken.by_copies() {
        Some(copies) => format!(
            "{direct} By the difference of copies it would be {}: wider, as what one copy differs from the next comes in, \
             and twice.",
            copies.sentence(seconds, ONE_RUN)
        ),
        None => direct,
    }
}

/// Below zero too, which differences may be.
fn seconds(s: f64) -> String {
    if s < 0.0 { format!("−{}", duration(-s)) } else { duration(s) }
}

/// How it was brought to sleep.
fn how(woken: &Woken<'_>) -> Option<String> {
    let naps = &woken.naps;
    let told = naps.iter().filter(|(nap, _)| nap.told).count();
    let longest = naps.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let said = |power| naps.iter().filter(|(nap, _)| nap.power == power).count();
    let mut text = match told {
        _ if naps.is_empty() => return None,
        n if n == naps.len() => "It was sent to sleep with hdparm -y".to_owned(),
        0 => format!(
            "It can't be sent to sleep, so its own timer was waited for, up to {} each time",
            duration(longest)
        ),
        n => format!("It was sent to sleep {n} of {} times; else its own timer was waited for", naps.len()),
    };
    if said(Power::Standby) == naps.len() {
        text += ", and said that it slept.";
    } else if said(Power::Standby) > 0 {
        text += &format!(", and said {} of {} times that it slept.", said(Power::Standby), naps.len());
    } else if said(Power::Awake) > 0 {
        text += "; it never said that it slept, the reads alone tell.";
    } else {
        text += "; it can't be asked whether it sleeps, the reads alone tell.";
    }
    Some(text)
}

/// Others at work on it while it was to sleep.
fn disturbed(woken: &Woken<'_>) -> Option<String> {
    let others: u64 = woken.naps.iter().map(|(nap, _)| nap.others).sum();
    let used = woken.target.uses.join(", ");
    let (moved, least) = (decimal_bytes(others), MIB / 16);
    match (others > least, used.is_empty()) {
        (false, _) => None,
        (true, true) => Some(format!("Others moved {moved} on it while it was to sleep, which wakes it.")),
        (true, false) => Some(format!(
            "Others moved {moved} on it while it was to sleep, which wakes it; it is used for {used}."
        )),
    }
}
