//! Verdicts of together, in sentences.

use super::{
    super::common::ONE_RUN,
    bottleneck::{Answer, Confidence, Limit, Open},
    shared_links::Shared,
};
use crate::{
    findings::Limiter,
    target::Target,
    units::{Direction, Pattern, capital, listed, percent, rate},
};

/// The load, and what drives do under it: `Random reads`, `read`.
fn load(answer: &Answer<'_>) -> (String, &'static str) {
    let (what, verb) = match answer.group.direction {
        Direction::Read => ("Reads", "read"),
        Direction::Write => ("Writes", "write"),
        Direction::Mixed { .. } => ("Mixed reads and writes", "move"),
    };
    let random = answer.group.load.pattern == Some(Pattern::Random);
    (if random { format!("Random {}", what.to_lowercase()) } else { what.to_owned() }, verb)
}

fn names(members: &[usize], targets: &[Target]) -> String {
    listed(&members.iter().map(|&m| targets[m].given.as_str()).collect::<Vec<_>>())
}

/// Why there is no verdict on these targets, and how to get one.
pub(super) fn open(answer: &Answer<'_>, open: &Open, targets: &[Target]) -> String {
    let ((what, verb), who) = (load(answer), names(&open.members, targets));
    let share = percent(open.share.value);
    let runs = answer.group.at_once().map_or(0, |set| set.trial.runs.len());
    let why = if open.share.high.is_finite() {
        format!(
            "the interval, {}, holds both answers: something shared limits them, or nothing does",
            open.share.range(percent)
        )
    } else {
        "one run has no interval".to_owned()
    };
    let more = (2 * runs).max(3);
    format!(
        "{what}: what limits {who} is not known. At once they {verb} {share} of their sum alone, and {why}. Measure \
         longer: --runs {more}."
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
    let several = answer.limits.len() > 1;
    let sentences = match limit.what {
        Limiter::Drives if several => {
            format!("the drives limit {who}: they {verb} {passes} at once and {own} alone.")
        }
        Limiter::Drives if answer.one_drive => {
            format!("nothing shared limits: at once they {verb} {passes}, {share} of their sum alone.")
        }
        Limiter::Drives => format!(
            "the drives are the limit: at once they {verb} {passes}, {share} of their sum alone. A faster drive would help."
        ),
        Limiter::Bus | Limiter::Drive => {
            let advice = match limit.what {
                Limiter::Drive => "",
                _ => " Faster drives would not help there; spreading the drives over several buses would.",
            };
            format!("{} limits {who} to {passes}; their sum alone is {own}.{advice}", limit.name)
        }
        Limiter::Processor => {
            format!("the processor is the limit: at once they {verb} {passes}, {share} of their sum alone.")
        }
        Limiter::Unknown => format!(
            "a shared limit that the inventory does not show holds {who} to {passes}; their sum alone is {own}."
        ),
    };
    let because = limit.because.join(" ");
    let space = if because.is_empty() { "" } else { " " };
    let unsure = limit.confidence == Confidence::Low && limit.what != Limiter::Processor;
    let hint = if unsure { "; more --runs may raise it" } else { "" };
    format!("{}: {sentences}{space}{because} Confidence: {}{hint}.", capital(&what), limit.confidence.word())
}
