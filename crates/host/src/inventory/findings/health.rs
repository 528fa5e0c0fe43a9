//! Failing and worn drives, from SMART and eMMC registers.

use super::{Code, Finding};
use crate::{
    inventory::Drive,
    units::{Warning, count, listed, percent},
};

/// Share of the rated life from which wear is reported.
const WORN: f64 = 0.9;

pub(super) fn state(drive: &Drive) -> Vec<Finding> {
    let Some(health) = &drive.health else { return Vec::new() };
    let label = drive.label();
    let mut found = Vec::new();
    if health.is_failing() {
        let warnings = health.warnings.iter().map(|warning| warning.words().to_owned());
        let reasons: Vec<String> = health.failing.iter().cloned().chain(warnings).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", listed(&reasons)) };
        let what = format!("{label} reports that it is failing{reasons}.");
        found.push(Finding::of(Code::Failing, [drive], what, "Back up its data now, then replace it."));
    }
    if let Some(how) = &health.self_test {
        let what = format!("{label} failed its last self-test ({how}).");
        let advice = "Back up its data now. Replace it if another test fails.";
        found.push(Finding::of(Code::SelfTest, [drive], what, advice));
    }
    if health.is_only_hot() {
        let what = format!("{label} reports a {}.", Warning::Temperature.words());
        let advice = "Improve its cooling before measuring: hot drives slow down.";
        found.push(Finding::of(Code::DriveTemperature, [drive], what, advice));
    }
    let unread = [(health.pending, "sector"), (health.uncorrectable, "error")];
    for (n, noun) in unread.iter().filter_map(|(n, noun)| Some(((*n)?, noun))).filter(|(n, _)| *n > 0) {
        let what = format!("{label} reports {} that it could not read or correct.", count(n, noun));
        let advice = "Back up its data, and check whether the count grows.";
        found.push(Finding::of(Code::Unreadable, [drive], what, advice));
    }
    if let Some(wear) = health.wear.filter(|wear| *wear >= WORN) {
        let what = format!("{label} has used {} of its rated life.", percent(wear));
        let advice = "It may keep working for a long time. Plan its replacement and back up its data.";
        found.push(Finding::of(Code::Worn, [drive], what, advice));
    }
    if let Some(n) = health.cable_errors.filter(|n| *n > 0) {
        let n = count(n, "damaged transfer");
        let what = format!("{label} reports {n} over its cable in its lifetime.");
        found.push(Finding::of(Code::Cable, [drive], what, "If the count grows, replace the cable."));
    }
    found
}
