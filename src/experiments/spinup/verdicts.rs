//! Verdicts of spinup, in sentences.

use super::{super::common::ONE_RUN, woken::Woken};
use crate::units::{MIB, Power, count, decimal_bytes, duration};

pub(super) fn woken(woken: &Woken<'_>) -> String {
    let (slept, all) = (woken.wakings().len() as u64, woken.reads.len() as u64);
    let mut sentences = Vec::new();
    if slept == 0 {
        sentences.push(
            "No standby was seen: no first read took longer than while spinning. Allow its own timer more time with \
             --pause, or find what keeps it awake."
                .to_owned(),
        );
    } else {
        sentences.push(both(woken));
        if slept < all {
            sentences.push(format!(
                "It was in standby before only {slept} of {}; the others are left out.",
                count(all, "read")
            ));
        }
        if let Some(e) = woken.direct().filter(|e| e.high.is_finite()) {
            sentences.push(format!("Set timeouts to at least {}.", duration(2.0 * e.high)));
        }
    }
    sentences.extend(how(woken));
    sentences.extend(disturbed(woken));
    sentences.join(" ")
}

pub(super) fn both(woken: &Woken<'_>) -> String {
    let Some(direct) = woken.direct() else { return "No standby was seen.".to_owned() };
    let direct =
        format!("Spin-up takes {}, by the first read after standby.", direct.sentence(seconds, ONE_RUN));
    match woken.by_copies() {
        Some(copies) => format!(
            "{direct} By the difference of copies it is {}; this interval is wider because the variation of both copies \
             adds to it.",
            copies.sentence(seconds, ONE_RUN)
        ),
        None => direct,
    }
}

/// Differences may be below zero.
fn seconds(s: f64) -> String {
    if s < 0.0 { format!("−{}", duration(-s)) } else { duration(s) }
}

fn how(woken: &Woken<'_>) -> Option<String> {
    let naps = &woken.naps;
    let by_command = naps.iter().filter(|(nap, _)| nap.told).count();
    let longest = naps.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let reported = |power| naps.iter().filter(|(nap, _)| nap.power == power).count();
    let mut text = match by_command {
        _ if naps.is_empty() => return None,
        n if n == naps.len() => "Standby was set with hdparm -y".to_owned(),
        0 => format!(
            "Standby can't be set, so the run waited for the drive's own timer, up to {} each time",
            duration(longest)
        ),
        n => format!(
            "Standby was set with hdparm -y {n} of {} times; otherwise the run waited for the drive's own timer",
            naps.len()
        ),
    };
    if reported(Power::Standby) == naps.len() {
        text += "; the drive reported standby each time.";
    } else if reported(Power::Standby) > 0 {
        text +=
            &format!("; the drive reported standby {} of {} times.", reported(Power::Standby), naps.len());
    } else if reported(Power::Awake) > 0 {
        text += "; the drive never reported standby, so only the reads show it.";
    } else {
        text += "; the drive can't report its power state, so only the reads show it.";
    }
    Some(text)
}

fn disturbed(woken: &Woken<'_>) -> Option<String> {
    let others: u64 = woken.naps.iter().map(|(nap, _)| nap.others).sum();
    let used = woken.target.uses.join(", ");
    let (moved, least) = (decimal_bytes(others), MIB / 16);
    match (others > least, used.is_empty()) {
        (false, _) => None,
        (true, true) => Some(format!("Other programs moved {moved} on it during standby, which wakes it.")),
        (true, false) => Some(format!(
            "Other programs moved {moved} on it during standby, which wakes it; it is used for {used}."
        )),
    }
}
