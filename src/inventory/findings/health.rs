//! What drives say of their own end, where they were asked.

use super::Finding;
use crate::{
    inventory::Drive,
    units::{count, listed, percent},
};

/// Rated life that is used up to here deserves a word.
const WORN: f64 = 0.9;

pub(super) fn state(drive: &Drive) -> Vec<Finding> {
    let Some(health) = &drive.health else { return Vec::new() };
    let label = drive.label();
    let mut found = Vec::new();
    if health.passed == Some(false) || !health.failing.is_empty() {
        let which = match &health.failing[..] {
            [] => String::new(),
            failing => format!(" ({})", listed(failing)),
        };
        let what = format!("{label} says that it is failing{which}.");
        found.push(Finding::of("failing", [drive], what, "Copy what is on it now, then replace it."));
    }
    let unread = [(health.pending, "sector"), (health.uncorrectable, "error")];
    for (n, noun) in unread.iter().filter_map(|(n, noun)| Some(((*n)?, noun))).filter(|(n, _)| *n > 0) {
        let what = format!("{label} counts {} that it could not read or correct.", count(n, noun));
        found.push(Finding::of(
            "unreadable",
            [drive],
            what,
            "Copy what is on it, and watch whether the count grows.",
        ));
    }
    if let Some(wear) = health.wear.filter(|wear| *wear >= WORN) {
        let what = format!("{label} has used {} of its rated life.", percent(wear));
        let advice =
            "It may work for long yet; plan its replacement, and keep what it alone has elsewhere too.";
        found.push(Finding::of("worn", [drive], what, advice));
    }
    if let Some(n) = health.cable_errors.filter(|n| *n > 0) {
        let what =
            format!("{label} counts {} over its cable since it was made.", count(n, "damaged transfer"));
        found.push(Finding::of("cable", [drive], what, "If the count grows, replace the cable."));
    }
    found
}
