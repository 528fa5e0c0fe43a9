//! What the numbers mean, in sentences.

use super::{
    super::common::ONE_RUN,
    bottleneck::{Answer, Confidence, Limit},
};
use crate::{
    findings::Limiter,
    target::Target,
    units::{Direction, Pattern, capital, listed, percent, rate},
};

/// What limits one load, the answer first.
pub(super) fn verdict(answer: &Answer<'_>, targets: &[Target]) -> Vec<String> {
    answer.limits.iter().map(|limit| one(answer, limit, targets)).collect()
}

fn one(answer: &Answer<'_>, limit: &Limit, targets: &[Target]) -> String {
    let (what, verb) = match answer.group.direction {
        Direction::Read => ("Reads", "read"),
        Direction::Write => ("Writes", "write"),
        Direction::Mixed { .. } => ("Mixed reads and writes", "move"),
    };
    let random = answer.group.load.pattern == Some(Pattern::Random);
    let what = if random { format!("{what} at random") } else { what.to_owned() };
    let who = names(&limit.members, targets);
    let passes = limit.ceiling.sentence(rate, ONE_RUN);
    let own = rate(answer.own_sum(&limit.members));
    let share = percent(answer.share.value);
    let several = answer.limits.len() > 1;
    let said = match limit.what {
        Limiter::Drives if several => {
            format!("{who} are their own limit: at once they {verb} {passes}, alone {own}.")
        }
        Limiter::Drives => format!(
            "the drives are the limit: at once they {verb} {passes}, {share} of what they {verb} alone. A faster drive would be felt."
        ),
        Limiter::Bus | Limiter::Drive => format!(
            "{} is the limit of {who}: {passes} pass, where alone they add up to {own}. {}",
            limit.name,
            if limit.what == Limiter::Drive {
                "They are on the same drive, which does one thing at a time."
            } else {
                "Faster drives there gain nothing; the same drives on different buses would."
            }
        ),
        Limiter::Processor => format!(
            "the processor is the limit: at once they {verb} {passes}, {share} of what they {verb} alone."
        ),
        Limiter::Unknown => format!(
            "something shared that can't be seen limits {who}: {passes} pass, where alone they add up to {own}."
        ),
    };
    let because = limit.because.join(" ");
    let space = if because.is_empty() { "" } else { " " };
    let hint = match limit.confidence {
        Confidence::High => "",
        _ if limit.what == Limiter::Processor => "",
        Confidence::Moderate => "",
        Confidence::Low => "; more --runs may tell",
    };
    format!("{}: {said}{space}{because} Confidence: {}{hint}.", capital(&what), limit.confidence.word())
}

/// The targets by their names, or how many they are.
fn names(members: &[usize], targets: &[Target]) -> String {
    let names: Vec<&str> = members.iter().map(|&m| targets[m].given.as_str()).collect();
    listed(&names)
}
