//! Verdicts of together, in sentences.

use super::{
    super::common::ONE_RUN,
    bottleneck::{Answer, Confidence, Limit},
};
use crate::{
    findings::Limiter,
    target::Target,
    units::{Direction, Pattern, capital, listed, percent, rate},
};

/// The verdict on one limit of a load.
pub(super) fn verdict(answer: &Answer<'_>, limit: &Limit, targets: &[Target]) -> String {
    let (what, verb) = match answer.group.direction {
        Direction::Read => ("Reads", "read"),
        Direction::Write => ("Writes", "write"),
        Direction::Mixed { .. } => ("Mixed reads and writes", "move"),
    };
    let random = answer.group.load.pattern == Some(Pattern::Random);
    let what = if random { format!("Random {}", what.to_lowercase()) } else { what.to_owned() };
    let who = listed(&limit.members.iter().map(|&m| targets[m].given.as_str()).collect::<Vec<_>>());
    let passes = limit.ceiling.sentence(rate, ONE_RUN);
    let own = rate(answer.own_sum(&limit.members));
    let share = percent(answer.share.value);
    let several = answer.limits.len() > 1;
    let sentences = match limit.what {
        Limiter::Drives if several => {
            format!("the drives limit {who}: they {verb} {passes} at once and {own} alone.")
        }
        Limiter::Drives => format!(
            "the drives are the limit: at once they {verb} {passes}, {share} of their sum alone. A faster drive would help."
        ),
        Limiter::Bus | Limiter::Drive => {
            let advice = match limit.what {
                Limiter::Drive => "They are on the same drive and share its speed.",
                _ => "Faster drives would not help there; spreading the drives over several buses would.",
            };
            format!("{} limits {who} to {passes}; their sum alone is {own}. {advice}", limit.name)
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
