//! Health: SMART, power and heat, and slow-downs since the first measurement. It never predicts a date.

use std::time::Duration;

use super::{
    Answer, Sure, Topic, commands,
    context::Context,
    regression::{self, Trend},
};
use crate::{
    findings::{Quantity, Scope},
    inventory::{Code, Drive},
    units::{capital, decimal_bytes, distinct, duration, listed, rate, shell_word},
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

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let drives = context.drives();
    let bearing = context.inventory.findings().into_iter().filter(|f| BEARING.contains(&f.code));
    let mut all: Vec<Answer> = bearing
        .map(|f| Answer::new(Topic::Health, Sure::Inferred, f.what).because([f.advice]).problem())
        .collect();
    let trends: Vec<(&Drive, Trend<'_>)> = drives
        .iter()
        .flat_map(|d| regression::trends(context, d).into_iter().map(move |t| (*d, t)))
        .collect();
    let mut slower: Vec<&(&Drive, Trend<'_>)> = trends.iter().filter(|(_, t)| t.worse()).collect();
    // Of several loads of a kind, the one that lost most.
    slower.sort_by(|(_, a), (_, b)| a.loss().total_cmp(&b.loss()));
    let mut seen = Vec::new();
    for (drive, trend) in slower {
        if !seen.contains(&(drive.identity(), trend.verb)) {
            seen.push((drive.identity(), trend.verb));
            all.push(worse(context, drive, trend));
        }
    }
    let quiet = all.is_empty();
    all.extend(drives.iter().filter_map(|drive| unproven(context, drive)));
    all.push(rest(context, &drives, &trends, quiet));
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

fn shown(trend: &Trend<'_>, value: f64) -> String {
    if trend.speed { rate(value) } else { duration(value) }
}

fn worse(context: &Context<'_>, drive: &Drive, t: &Trend<'_>) -> Answer {
    let e = &t.ratio.estimate;
    let says = format!(
        "{} {} {}, on {} it was {}: {:.2} times ({}).",
        capital(&context.name(drive)),
        t.verb,
        shown(t, t.new.estimate.value),
        t.old.from.day(),
        shown(t, t.old.estimate.value),
        e.value,
        e.range(|x| format!("{x:.2}"))
    );
    let advice = if !t.same_place() {
        "The drive was connected elsewhere in the first run, which may explain the difference: measure it there again."
    } else if t.far_worse() {
        "Back it up and don't rely on it: a full or worn flash drive slows down like this."
    } else {
        "A fuller drive alone may cause this. Measure again in some weeks."
    };
    let sure = if t.same_place() { Sure::Measured } else { Sure::Inferred };
    let answer = Answer::new(Topic::Health, sure, says).because([advice.to_owned()]);
    answer.rests_on([t.old.from, t.new.from]).problem()
}

/// The answer about all other drives.
fn rest(context: &Context<'_>, drives: &[&Drive], trends: &[(&Drive, Trend<'_>)], quiet: bool) -> Answer {
    let steady: Vec<&(&Drive, Trend<'_>)> =
        trends.iter().filter(|(_, t)| !t.worse() && !t.unbounded()).collect();
    let open = trends.iter().filter(|(_, t)| t.unbounded()).count();
    let new = |drive: &&Drive| context.on_drive(drive).all(|e| is_long_ago(e.day(), context.today));
    let which: Vec<&Drive> = context.for_data_or_all().into_iter().filter(new).collect();
    let command = commands::baseline(context.inventory, &which);
    let mut answer = if steady.is_empty() {
        let which = if trends.iter().any(|(_, t)| t.worse()) { "other drives" } else { "drives" };
        let says = format!(
            "Whether {which} became slower is not known: nothing to compare yet. Measure again in some months."
        );
        Answer::new(Topic::Health, Sure::Unknown, says)
    } else {
        let worse = |drive: &Drive| trends.iter().any(|(d, t)| *d == drive && t.worse());
        let alike = distinct(steady.iter().map(|(drive, _)| *drive).filter(|drive| !worse(drive)));
        let since = steady.iter().map(|(_, t)| t.old.from.day()).min().unwrap_or_default();
        let says = match alike.is_empty() {
            true => format!("No other slow-down found since {since}."),
            false => format!("No slow-down found since {since}: {}.", context.names(&alike)),
        };
        Answer::new(Topic::Health, Sure::Measured, says)
            .rests_on(steady.iter().flat_map(|(_, t)| [t.old.from, t.new.from]))
    }
    .decide(command);
    if open > 0 && steady.is_empty() {
        answer.because.push("Earlier runs have no interval, so a change can't be judged.".to_owned());
    }
    answer.because.push(words(context, drives, quiet));
    answer
}

/// Whether a day is so long ago that a run of `today` settles something.
fn is_long_ago(day: &str, today: &str) -> bool {
    const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
    let time = |text: &str| humantime::parse_rfc3339(&format!("{}T00:00:00Z", text.get(..10)?)).ok();
    let passed = time(today).zip(time(day)).and_then(|(now, then)| now.duration_since(then).ok());
    passed.is_some_and(|passed| passed >= MONTH)
}

/// What drives report of their health; failing drives have their own answers.
fn words(context: &Context<'_>, drives: &[&Drive], quiet: bool) -> String {
    let reporting = drives.iter().filter(|d| d.health.as_ref().is_some_and(|h| h.source.is_some())).count();
    let unknown = context.inventory.unknown_health();
    let reasons: Vec<String> = unknown.iter().map(|(why, of)| format!("{} ({why})", listed(of))).collect();
    match (reporting, &reasons[..]) {
        (0, []) => "To read the drives' own health, use `sudo drivebench advise --health`.".to_owned(),
        (0, reasons) => format!("No drive reports its health: {}.", reasons.join("; ")),
        _ => {
            let problem = if quiet { "problem" } else { "other problem" };
            format!("Drives that report their health report no {problem}.")
        }
    }
}
