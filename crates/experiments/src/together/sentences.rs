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
pub(super) fn open(answer: &Answer<'_>, open: &Open, shared: &[Shared], targets: &[Target]) -> String {
    let ((what, verb), who) = (load(answer), names(&open.members, targets));
    let share = percent(open.share.value);
    let runs = answer.group.at_once().map_or(0, |set| set.trial.runs.len());
    let more = (2 * runs).max(3);
    let on_it = |s: &&Shared| s.drive && open.members.iter().all(|m| s.members.contains(m));
    if shared.iter().any(|s| on_it(&s)) {
        let interval = match open.share.high.is_finite() {
            true => open.share.range(percent),
            false => "one run, no interval".to_owned(),
        };
        return format!(
            "{what}: {who} share one drive. At once they {verb} {share} of their sum alone ({interval}): too noisy to \
             say whether they slow each other down. Measure longer: --runs {more}."
        );
    }
    let why = if open.share.high.is_finite() {
        format!(
            "the interval, {}, holds both answers: something shared limits them, or nothing does",
            open.share.range(percent)
        )
    } else {
        "one run has no interval".to_owned()
    };
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
            format!(
                "{who} share one drive, which does not slow them down: at once they {verb} {passes}, {share} of their sum alone."
            )
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

#[cfg(test)]
mod tests {
    use super::{super::samples::Group, *};
    use crate::{analyse::Estimate, findings::LoadKey};

    #[test]
    fn targets_on_one_drive_are_said_to_share_it() {
        let given = |given: &str| Target { given: given.to_owned(), ..Target::default() };
        let targets = [given("a"), given("mntb")];
        let (load, direction) = (LoadKey::default(), Direction::Write);
        let group = Group { load, direction, members: vec![0, 1], sets: Vec::new() };
        let share = Estimate { low: 0.0, high: 3.37, ..Estimate::unbounded(1.18, "") };
        let answer = Answer {
            group: &group,
            alone: Vec::new(),
            at_once: Vec::new(),
            sum_alone: share.clone(),
            sum: share.clone(),
            share: share.clone(),
            limits: Vec::new(),
            open: Vec::new(),
            one_drive: true,
            strain: None,
        };
        let open_on = |shared: &[Shared]| {
            let of = Open { members: vec![0, 1], share: share.clone() };
            open(&answer, &of, shared, &targets)
        };
        let drive = Shared { members: vec![0, 1], drive: true, ..Shared::default() };
        let said = open_on(std::slice::from_ref(&drive));
        assert!(said.starts_with("Writes: a and mntb share one drive. At once they write 118 %"), "{said}");
        assert!(
            said.contains("whether they slow each other down") && !said.contains("nothing does"),
            "{said}"
        );
        assert!(
            open_on(&[Shared { drive: false, ..drive }]).contains("something shared limits them, or nothing")
        );
    }
}
