//! Verdicts of together, in sentences.

use super::{
    super::common::ONE_RUN,
    bottleneck::{Answer, Limit, Open},
    cpu_limits::{Level, ProcessorLoad},
    shared_links::Shared,
};
use crate::{
    findings::Limiter,
    target::Target,
    units::{Direction, Pattern, capital, listed, percent, rate},
};

/// The load, and what drives do under it: `Random reads`, `read`.
fn load(answer: &Answer<'_>) -> (String, &'static str) {
    let (what, verb) = match answer.group.load.direction {
        Some(Direction::Read) => ("reads", "read"),
        Some(Direction::Write) => ("writes", "write"),
        _ => ("mixed reads and writes", "move"),
    };
    let random = answer.group.load.pattern == Some(Pattern::Random);
    (capital(&if random { format!("random {what}") } else { what.to_owned() }), verb)
}

fn names(members: &[usize], targets: &[Target]) -> String {
    listed(&members.iter().map(|&m| targets[m].given.as_str()).collect::<Vec<_>>())
}

/// Why there is no verdict on these targets, and how to get one.
pub(super) fn open(answer: &Answer<'_>, open: &Open, targets: &[Target]) -> String {
    let ((what, verb), who) = (load(answer), names(&open.members, targets));
    let runs = answer.group.at_once().map_or(0, |set| set.trial.runs.len());
    let interval = match open.share.high.is_finite() {
        true => open.share.range(percent),
        false => "one run has no interval".to_owned(),
    };
    format!(
        "{what}: the limit of {who} is not known: at once they {verb} {} ({interval}) of their sum alone. Measure longer: \
         --runs {}.",
        percent(open.share.value),
        (2 * runs).max(3)
    )
}

/// Targets on one drive, where no bus between them can be measured.
pub(super) fn on_one_drive(shared: &Shared, targets: &[Target]) -> String {
    let who = names(&shared.members, targets);
    format!("{who} are on one drive and share its speed. To measure what a bus carries, name other drives.")
}

/// The verdict on one limit of a load.
pub(super) fn verdict(answer: &Answer<'_>, limit: &Limit, targets: &[Target]) -> String {
    let (what, verb) = load(answer);
    let who = names(&limit.members, targets);
    let passes = limit.ceiling.sentence(rate, ONE_RUN);
    let own = rate(answer.own_sum(&limit.members));
    let share = percent(answer.share.value);
    let at_once = format!("at once they {verb} {passes}, {share} of their sum alone");
    let sentence = match limit.what {
        Limiter::Drives if answer.limits.len() > 1 => {
            format!("the drives limit {who}: they {verb} {passes} at once and {own} alone.")
        }
        Limiter::Drives => format!("the drives are the limit: {at_once}."),
        Limiter::Bus => format!(
            "{} limits {who} to {passes}; their sum alone is {own}. Spread the drives over several buses.",
            limit.name
        ),
        Limiter::Drive => format!("{} limits {who} to {passes}; their sum alone is {own}.", limit.name),
        Limiter::Processor => format!("the processor is the limit: {at_once}."),
        Limiter::Unknown => format!(
            "a shared limit that the inventory does not show limits {who} to {passes}; their sum alone is {own}."
        ),
    };
    format!("{what}: {sentence} Confidence: {}.", limit.confidence.word())
}

/// What the processors did while all ran.
pub(super) fn processors(answer: &Answer<'_>) -> String {
    format!("{}: {}.", load(answer).0, processor_words(answer.processors))
}

fn processor_words(load: Option<ProcessorLoad>) -> String {
    let Some(ProcessorLoad { level, sign, share }) = load else {
        return "processor load was not recorded".to_owned();
    };
    let sign = sign.replace("{}", &percent(share));
    match level {
        Level::Idle => format!("the processor had time to spare ({sign})"),
        Level::Busy => format!("the processor may contribute ({sign})"),
        Level::Limit => sign,
    }
}
