//! Health: pools that lack drives, SMART, power and heat. `check` tells what became slower.

use super::{Answer, Sure, Topic, context::Context};
use crate::{
    findings::{Quantity, Scope},
    inventory::{Code, Drive},
    units::{decimal_bytes, listed, shell_word},
};

/// Findings of the inventory about pools that lack drives, about failing drives, and about conditions that change their numbers.
const BEARING: [Code; 11] = [
    Code::Broken,
    Code::Inactive,
    Code::Degraded,
    Code::Failing,
    Code::SelfTest,
    Code::DriveTemperature,
    Code::Unreadable,
    Code::Worn,
    Code::Undervoltage,
    Code::Throttled,
    Code::UsbPower,
];

const NOT_READ: &str = "To read the drives' own health, use `sudo drivebench advise --health`.";

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let drives = context.drives();
    let bearing = context.inventory.findings().into_iter().filter(|f| BEARING.contains(&f.code));
    let mut all: Vec<Answer> = bearing
        .map(|f| Answer::new(Topic::Health, Sure::Inferred, f.what).because([f.advice]).problem())
        .collect();
    let problem = if all.is_empty() { "problem" } else { "other problem" };
    all.extend(drives.iter().filter_map(|drive| unproven(context, drive)));
    let slower = "`drivebench check` tells whether drives became slower.".to_owned();
    let says = reported(context, &drives, problem).or_else(|| all.is_empty().then(|| NOT_READ.to_owned()));
    all.extend(says.map(|says| Answer::new(Topic::Health, Sure::Inferred, says).because([slower])));
    all
}

/// A drive that may hold less than it claims, until a test found its size.
fn unproven(context: &Context<'_>, drive: &Drive) -> Option<Answer> {
    let why = drive.unproven_size()?;
    if context.runs_of(drive).any(|e| e.number(Quantity::RealSize, Scope::Whole).is_some()) {
        return None;
    }
    let (name, size) = (context.name(drive), decimal_bytes(drive.bytes()));
    let says = format!("Whether {name} holds the {size} it claims is not known: {why}.");
    let command = format!("run capacity {}", shell_word(&drive.node()));
    Some(Answer::new(Topic::Health, Sure::Unknown, says).decide(Some(command)))
}

/// What drives report of their health, if that was asked; failing drives have their own answers.
fn reported(context: &Context<'_>, drives: &[&Drive], problem: &str) -> Option<String> {
    let reporting = drives.iter().filter(|d| d.health.as_ref().is_some_and(|h| h.source.is_some())).count();
    let unknown = context.inventory.unknown_health();
    let reasons: Vec<String> = unknown.iter().map(|(why, of)| format!("{} ({why})", listed(of))).collect();
    match (reporting, &reasons[..]) {
        (0, []) => None,
        (0, reasons) => Some(format!("No drive reports its health: {}.", reasons.join("; "))),
        _ => Some(format!("Drives that report their health report no {problem}.")),
    }
}
