//! The limit of loads that run at the same time.

use super::{
    cpu_limits::{Level, ProcessorLoad},
    samples::{Group, Set},
    shared_links::Shared,
};
use crate::{
    analyse::{
        Estimate,
        ceiling_fit::{self, fit_ceilings},
        compare, repeat,
    },
    findings::Limiter,
};

pub(super) struct Answer<'a> {
    pub group: &'a Group,
    /// Speed of each member alone and at once, in the order of the members.
    pub alone: Vec<Estimate>,
    pub at_once: Vec<Estimate>,
    pub sum_alone: Estimate,
    pub sum: Estimate,
    /// The sum at once as a share of the sum alone.
    pub share: Estimate,
    pub limits: Vec<Limit>,
    /// Targets that something shared may limit or not: the interval of their share holds both.
    pub open: Vec<Open>,
    /// Processor load while all ran at once; `None` where it wasn't recorded.
    pub processors: Option<ProcessorLoad>,
}

pub(super) struct Open {
    /// The targets, as positions in the plan.
    pub members: Vec<usize>,
    pub share: Estimate,
}

pub(super) struct Limit {
    pub what: Limiter,
    /// Its name: `hub 1`, `drives`, `processor`, `something shared`.
    pub name: String,
    /// The targets that it limits, as positions in the plan.
    pub members: Vec<usize>,
    /// The most that they move, bytes per second.
    pub ceiling: Estimate,
    pub confidence: Confidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Confidence {
    Low,
    Moderate,
    High,
}

impl Confidence {
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Moderate => "moderate",
            Self::High => "high",
        }
    }
}

/// A ceiling that improves chi-square by this much is not chance.
const CLEAR: f64 = 10.0;
/// From this share of the sum alone on, nothing shared limits.
const REACHED: f64 = 0.95;
/// Below this share of the sum alone, something shared limits.
const HELD: f64 = 0.9;
/// A ceiling above this share of the sum alone may not be a ceiling.
const NEAR: f64 = 0.92;
/// With a half width beyond this share the confidence is at most moderate.
const WIDE: f64 = 0.1;

/// The limits of the load; `None` unless it was measured both at once and on each target alone.
pub(super) fn answer<'a>(group: &'a Group, shared: &[Shared]) -> Option<Answer<'a>> {
    let all = group.at_once().filter(|_| group.members.len() > 1)?;
    let singles: Vec<&Set> = group.members.iter().map(|&m| group.alone(m)).collect::<Option<_>>()?;
    let alone = group.members.iter().zip(&singles).map(|(&m, s)| repeat::mean(&s.of(m)));
    let at_once = group.members.iter().map(|&m| repeat::mean(&all.of(m)));
    let sum = repeat::mean(&all.sums(&group.members))?;
    let alone = alone.collect::<Option<Vec<_>>>()?;
    let sum_alone = added(&alone);
    let share = compare::ratio(&sum, &sum_alone)?.estimate;
    let mut answer = Answer {
        group,
        at_once: at_once.collect::<Option<_>>()?,
        alone,
        sum_alone,
        sum,
        share,
        limits: Vec::new(),
        open: Vec::new(),
        processors: ProcessorLoad::of(&all.processors, group.members.len()),
    };
    let trials: Vec<ceiling_fit::Trial> = group.sets.iter().map(|s| s.trial.clone()).collect();
    let mut shared = shared.to_vec();
    if !shared.iter().any(|s| s.members == group.members) {
        shared.push(Shared { members: group.members.clone(), ..Shared::default() });
    }
    let candidates: Vec<Vec<usize>> = shared.iter().map(|s| s.members.clone()).collect();
    let found = fit_ceilings(&trials, &candidates)?;
    for c in &found.ceilings {
        let shared = &shared[c.group];
        let share = answer.share_of(&shared.members, all)?;
        match Held::by(&share) {
            Held::Yes => answer.limits.push(answer.ceiling(c, shared, found.misfit)),
            Held::No => {}
            Held::Unknown => answer.open.push(Open { members: shared.members.clone(), share }),
        }
    }
    answer.limits.sort_by_key(|limit| limit.members.first().copied());
    let known = answer.limits.iter().map(|l| &l.members).chain(answer.open.iter().map(|o| &o.members));
    let known: Vec<usize> = known.flatten().copied().collect();
    let rest: Vec<usize> = group.members.iter().copied().filter(|m| !known.contains(m)).collect();
    let share = answer.share_of(&rest, all);
    match share.as_ref().map(Held::by) {
        None => {}
        Some(Held::Unknown) => answer.open.extend(share.map(|share| Open { members: rest, share })),
        Some(held) => answer.limits.push(answer.without_ceiling(&rest, all, held)),
    }
    Some(answer)
}

/// Whether something shared limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Held {
    Yes,
    No,
    /// The interval holds both answers.
    Unknown,
}

impl Held {
    pub fn by(share: &Estimate) -> Self {
        match share {
            share if share.high < REACHED => Self::Yes,
            share if share.low >= HELD => Self::No,
            _ => Self::Unknown,
        }
    }
}

/// The sum of independent estimates.
pub(in super::super) fn added(all: &[Estimate]) -> Estimate {
    let value: f64 = all.iter().map(|e| e.value).sum();
    let errors = |side: fn(&Estimate) -> f64| all.iter().map(|e| side(e).powi(2)).sum::<f64>().sqrt();
    Estimate {
        value,
        low: (value - errors(|e| e.value - e.low)).max(0.0),
        high: value + errors(|e| e.high - e.value),
        how: "sum of those alone".to_owned(),
        converged: false,
        within: None,
    }
}

impl Answer<'_> {
    fn level(&self) -> Option<Level> {
        self.processors.as_ref().map(|load| load.level)
    }

    /// The limit behind a fitted ceiling.
    fn ceiling(&self, found: &ceiling_fit::FittedCeiling, shared: &Shared, misfit: f64) -> Limit {
        let all = shared.members == self.group.members;
        let level = self.level();
        let mut confidence = if found.margin >= CLEAR { Confidence::High } else { Confidence::Low };
        let mut at_most = |limit: Confidence, when: bool| {
            if when {
                confidence = confidence.min(limit);
            }
        };
        // A poor fit, or a single run, gives low confidence.
        at_most(Confidence::Low, misfit > 6.0 || !found.ceiling.high.is_finite());
        at_most(Confidence::Moderate, misfit > 3.0 || found.ceiling.half_width() > WIDE);
        // A ceiling this near to the sum alone may be interference between the drives.
        at_most(Confidence::Moderate, self.own_sum(&shared.members) * NEAR < found.ceiling.value);
        // The sum that was measured where that is what it limits, so that it has one interval.
        let ceiling = if all { &self.sum } else { &found.ceiling };
        if all && level == Some(Level::Limit) {
            // A fully used processor explains a limit on all of them.
            return self.limit(Limiter::Processor, &shared.members, ceiling, confidence);
        }
        at_most(Confidence::Low, level == Some(Level::Limit));
        at_most(Confidence::Moderate, level != Some(Level::Idle) && !found.others_free);
        at_most(Confidence::Low, level == Some(Level::Busy) && all);

        let passes = found.ceiling.value;
        let impossible = shared.theory().is_some_and(|most| found.ceiling.low > most);
        if shared.name.is_empty() || impossible {
            at_most(if impossible { Confidence::Low } else { Confidence::Moderate }, true);
            return self.limit(Limiter::Unknown, &shared.members, ceiling, confidence);
        }
        let near = shared.usable().is_some_and(|usable| (0.75..=1.05).contains(&(passes / usable)));
        // One set of targets shows that something is shared, but not what.
        at_most(Confidence::Moderate, found.reached < 2 && !found.others_free && !near && !shared.drive);
        let far = shared.usable().is_some_and(|usable| passes < 0.5 * usable);
        at_most(Confidence::Moderate, far && all);
        let what = if shared.drive { Limiter::Drive } else { Limiter::Bus };
        let limit = self.limit(what, &shared.members, ceiling, confidence);
        Limit { name: shared.name.clone(), ..limit }
    }

    /// What these targets move at once, as a share of what they move alone.
    fn share_of(&self, members: &[usize], all: &Set) -> Option<Estimate> {
        if *members == self.group.members {
            return Some(self.share.clone());
        }
        let each = self.group.members.iter().zip(&self.alone);
        let alone: Vec<Estimate> =
            each.filter(|(m, _)| members.contains(m)).map(|(_, e)| e.clone()).collect();
        Some(compare::ratio(&repeat::mean(&all.sums(members))?, &added(&alone))?.estimate)
    }

    /// The sum of these targets alone, bytes per second.
    pub fn own_sum(&self, members: &[usize]) -> f64 {
        let each = self.group.members.iter().zip(&self.alone);
        each.filter(|(m, _)| members.contains(m)).map(|(_, e)| e.value).sum()
    }

    fn limit(&self, what: Limiter, members: &[usize], ceiling: &Estimate, confidence: Confidence) -> Limit {
        let name = match what {
            Limiter::Processor => "processor",
            Limiter::Drives => "drives",
            _ => "something shared",
        };
        let (name, members, ceiling) = (name.to_owned(), members.to_vec(), ceiling.clone());
        Limit { what, name, members, ceiling, confidence }
    }

    /// The limit of targets that no ceiling explains: something unknown where they lose speed at once, else the drives.
    fn without_ceiling(&self, members: &[usize], all: &Set, held: Held) -> Limit {
        let is_all = *members == self.group.members;
        let (what, confidence) = match self.level() {
            Some(Level::Limit) if is_all => (Limiter::Processor, Confidence::Moderate),
            _ if held == Held::Yes => (Limiter::Unknown, Confidence::Low),
            // Others have a ceiling.
            _ if !is_all => {
                let least = self.limits.iter().map(|limit| limit.confidence).min();
                (Limiter::Drives, least.unwrap_or(Confidence::Low))
            }
            Some(Level::Idle) if self.share.low >= REACHED => (Limiter::Drives, Confidence::High),
            _ if self.share.value >= REACHED => (Limiter::Drives, Confidence::Moderate),
            _ => (Limiter::Drives, Confidence::Low),
        };
        let sum = repeat::mean(&all.sums(members));
        self.limit(what, members, sum.as_ref().unwrap_or(&self.sum), confidence)
    }
}
