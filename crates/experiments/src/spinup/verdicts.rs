//! Verdicts of spinup, in sentences.

use super::{super::common::ONE_RUN, woken::Woken};
use crate::units::{MIB, count, decimal_bytes, duration, signed_duration};

pub(super) fn verdicts(woken: &Woken<'_>) -> Vec<String> {
    let (slept, all) = (woken.wakings().len() as u64, woken.reads.len() as u64);
    let mut sentences = vec![spin_up(woken)];
    if slept == 0 {
        sentences.push(
            "Wait longer for the drive's own timer with --pause, or find what keeps it awake.".to_owned(),
        );
    } else if slept < all {
        let all = count(all, "read");
        sentences.push(format!("Only {slept} of {all} followed a standby; the others are left out."));
    }
    let timeout = woken.direct().filter(|e| e.high.is_finite());
    sentences.extend(timeout.map(|e| format!("Set timeouts to at least {}.", duration(2.0 * e.high))));
    sentences.extend(disturbed(woken));
    sentences
}

/// How long it takes, by both methods.
fn spin_up(woken: &Woken<'_>) -> String {
    let Some(direct) = woken.direct() else {
        return "No standby was seen: no first read took longer than while spinning.".to_owned();
    };
    let direct = direct.sentence(signed_duration, ONE_RUN);
    format!("Spin-up takes {direct} by the first read after standby.")
}

fn disturbed(woken: &Woken<'_>) -> Option<String> {
    let others: u64 = woken.naps.iter().map(|nap| nap.others).sum();
    let (moved, uses) = (decimal_bytes(others), woken.target.uses.join(", "));
    let used = if uses.is_empty() { String::new() } else { format!("; it is used for {uses}") };
    (others > MIB / 16)
        .then(|| format!("Other programs moved {moved} on it during standby, which wakes it{used}."))
}
