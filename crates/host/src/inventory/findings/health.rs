//! Failing and worn drives, from SMART and eMMC registers.

use super::{Code, Finding};
use crate::{
    inventory::{Drive, Inventory},
    units::{Warning, count, listed, percent},
};

/// Share of the rated life from which wear is reported.
const WORN: f64 = 0.9;

pub(super) fn state(drive: &Drive) -> Vec<Finding> {
    let Some(health) = &drive.health else { return Vec::new() };
    let mut found = Vec::new();
    let mut report = |code, what: String, advice: &str| {
        found.push(Finding::of(code, [drive], format!("{} {what}.", drive.label()), advice));
    };
    if health.is_failing() {
        let warnings = health.warnings.iter().map(|warning| warning.words().to_owned());
        let reasons: Vec<String> = health.failing.iter().cloned().chain(warnings).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", listed(&reasons)) };
        let what = format!("reports that it is failing{reasons}");
        report(Code::Failing, what, "Back up its data now, then replace it.");
    }
    if let Some(how) = &health.self_test {
        let advice = "Back up its data now. Replace it if another test fails.";
        report(Code::SelfTest, format!("failed its last self-test ({how})"), advice);
    }
    if health.is_only_hot() {
        let advice = "Improve its cooling before measuring: hot drives slow down.";
        report(Code::DriveTemperature, format!("reports a {}", Warning::Temperature.words()), advice);
    }
    for (n, noun) in [(health.pending, "sector"), (health.uncorrectable, "error")] {
        if let Some(n @ 1..) = n {
            let what = format!("reports {} that it could not read or correct", count(n, noun));
            report(Code::Unreadable, what, "Back up its data, and check whether the count grows.");
        }
    }
    if let Some(wear) = health.wear.filter(|wear| *wear >= WORN) {
        let advice = "It may keep working for a long time. Plan its replacement and back up its data.";
        report(Code::Worn, format!("has used {} of its rated life", percent(wear)), advice);
    }
    if let Some(n @ 1..) = health.cable_errors {
        let what = format!("reports {} over its cable in its lifetime", count(n, "damaged transfer"));
        report(Code::Cable, what, "If the count grows, replace the cable.");
    }
    found
}

impl Inventory {
    /// Reasons why health is unknown, each with its drives.
    pub fn unknown_health(&self) -> Vec<(&str, Vec<&str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for drive in &self.drives {
            let health = drive.health.as_ref();
            let Some(reason) = health.and_then(|health| health.unknown.as_deref()) else { continue };
            match reasons.iter_mut().find(|(listed, _)| *listed == reason) {
                Some((_, drives)) => drives.push(&drive.name),
                None => reasons.push((reason, vec![&drive.name])),
            }
        }
        reasons
    }
}
