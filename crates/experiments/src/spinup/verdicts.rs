//! Verdicts of spinup, in sentences.

use super::{super::common::ONE_RUN, woken::Woken};
use crate::units::{MIB, Power, count, decimal_bytes, duration, signed_duration};

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
            let all = count(all, "read");
            sentences
                .push(format!("It was in standby before only {slept} of {all}; the others are left out."));
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
    let direct = format!(
        "Spin-up takes {}, by the first read after standby.",
        direct.sentence(signed_duration, ONE_RUN)
    );
    match woken.by_copies() {
        Some(copies) => format!(
            "{direct} By the difference of copies it is {}; this interval is wider because the variation of both copies \
             adds to it.",
            copies.sentence(signed_duration, ONE_RUN)
        ),
        None => direct,
    }
}

fn how(woken: &Woken<'_>) -> Option<String> {
    let naps = &woken.naps;
    let by_command = naps.iter().filter(|(nap, _)| nap.told).count();
    let longest = naps.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let (all, longest) = (naps.len(), duration(longest));
    let reported = |power| naps.iter().filter(|(nap, _)| nap.power == power).count();
    let set = match by_command {
        _ if all == 0 => return None,
        n if n == all => "Standby was set with hdparm -y".to_owned(),
        0 => format!(
            "Standby can't be set, so the run waited for the drive's own timer, up to {longest} each time"
        ),
        n => format!(
            "Standby was set with hdparm -y {n} of {all} times; otherwise the run waited for the drive's own timer"
        ),
    };
    let seen = match reported(Power::Standby) {
        n if n == all => "reported standby each time".to_owned(),
        0 if reported(Power::Awake) > 0 => "never reported standby, so only the reads show it".to_owned(),
        0 => "can't report its power state, so only the reads show it".to_owned(),
        n => format!("reported standby {n} of {all} times"),
    };
    Some(format!("{set}; the drive {seen}."))
}

fn disturbed(woken: &Woken<'_>) -> Option<String> {
    let others: u64 = woken.naps.iter().map(|(nap, _)| nap.others).sum();
    let (moved, uses) = (decimal_bytes(others), woken.target.uses.join(", "));
    let used = if uses.is_empty() { String::new() } else { format!("; it is used for {uses}") };
    (others > MIB / 16)
        .then(|| format!("Other programs moved {moved} on it during standby, which wakes it{used}."))
}
