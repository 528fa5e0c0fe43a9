//! What limits loads that run at the same time.

use super::{
    cpu_limits::{Level, Strain},
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
    units::{Percentile, capital, duration, rate},
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
    /// All targets are on one drive.
    pub one_drive: bool,
    /// Processor load while all ran at once; `None` where it wasn't recorded.
    pub strain: Option<Strain>,
}

pub(super) struct Open {
    /// The targets, as positions in the plan.
    pub members: Vec<usize>,
    pub share: Estimate,
}

pub(super) struct Limit {
    pub what: Limiter,
    /// What it is called: `hub 1`, `drives`, `processor`, `something shared`.
    pub name: String,
    /// The targets that it limits, as positions in the plan.
    pub members: Vec<usize>,
    /// The most that they move, bytes per second.
    pub ceiling: Estimate,
    pub confidence: Confidence,
    /// Why this limit and no other; whole sentences.
    pub because: Vec<String>,
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

/// What limits the load; `None` where it wasn't measured at once and each alone.
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
        one_drive: shared.iter().any(|s| s.drive && s.members == group.members),
        strain: Strain::of(&all.processors, group.members.len()),
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
        Some(Held::Yes) => answer.limits.push(answer.unexplained(&rest, all)),
        Some(_) if known.is_empty() => answer.limits.push(answer.own()),
        Some(_) => answer.limits.push(answer.free(&rest, all)),
    }
    Some(answer)
}

/// Whether something shared limits.
pub(super) enum Held {
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

    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown)
    }
}

/// The sum of independent estimates.
fn added(all: &[Estimate]) -> Estimate {
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

impl Limit {
    fn new(
        what: Limiter,
        name: &str,
        members: &[usize],
        ceiling: &Estimate,
        confidence: Confidence,
        because: Vec<String>,
    ) -> Self {
        let (name, members, ceiling) = (name.to_owned(), members.to_vec(), ceiling.clone());
        Self { what, name, members, ceiling, confidence, because }
    }
}

impl Answer<'_> {
    /// Whether the processors limit, and a whole sentence about it.
    fn processors(&self) -> (Option<Level>, String) {
        let Some((level, sign)) = self.strain.as_ref().map(Strain::level) else {
            return (None, "Processor load was not recorded.".to_owned());
        };
        let sentences = match level {
            Level::Idle => format!("The processor had time to spare: {sign}."),
            Level::Busy => format!("The processor may contribute: {sign}."),
            Level::Limit => format!("{}.", capital(&sign)),
        };
        (Some(level), sentences)
    }

    /// The limit behind a fitted ceiling.
    fn ceiling(&self, found: &ceiling_fit::FittedCeiling, shared: &Shared, misfit: f64) -> Limit {
        let all = shared.members == self.group.members;
        let (level, sign) = self.processors();
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
            return self.processor(ceiling, confidence, sign);
        }
        at_most(Confidence::Low, level == Some(Level::Limit));
        at_most(Confidence::Moderate, level != Some(Level::Idle) && !found.others_free);
        at_most(Confidence::Low, level == Some(Level::Busy) && all);

        let passes = found.ceiling.value;
        let impossible = shared.theory().is_some_and(|most| found.ceiling.low > most);
        if shared.name.is_empty() || impossible {
            at_most(Confidence::Moderate, true);
            at_most(Confidence::Low, impossible);
            let because = vec![self.excluded(shared)];
            let name = "something shared";
            return Limit::new(Limiter::Unknown, name, &shared.members, ceiling, confidence, because);
        }
        let near = shared.usable().is_some_and(|usable| (0.75..=1.05).contains(&(passes / usable)));
        // One set of targets shows that something is shared, but not what.
        at_most(Confidence::Moderate, found.reached < 2 && !found.others_free && !near && !shared.drive);
        let far = shared.usable().filter(|usable| passes < 0.5 * usable);
        at_most(Confidence::Moderate, far.is_some() && all);
        let mut because: Vec<String> = self.waiting(shared).into_iter().chain([sign]).collect();
        if found.others_free {
            because.push("Other targets that ran at the same time were not slowed.".to_owned());
        }
        if let Some(known) = shared.ceiling.as_ref().filter(|_| near || far.is_some()) {
            let usable = rate(shared.usable().unwrap_or_default());
            let fits = if near { "near" } else { "far below" };
            let kind = if known.practical.is_some() { "typical speed" } else { "signalling rate" };
            let of = format!("{kind} of {}, {usable} ({})", shared.name, known.source);
            because.push(format!("The limit is {fits} the {of}."));
        }
        let what = if shared.drive { Limiter::Drive } else { Limiter::Bus };
        Limit::new(what, &shared.name, &shared.members, ceiling, confidence, because)
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

    fn processor(&self, ceiling: &Estimate, confidence: Confidence, sign: String) -> Limit {
        Limit::new(Limiter::Processor, "processor", &self.group.members, ceiling, confidence, vec![sign])
    }

    /// No shared limit was found: the drives limit.
    fn own(&self) -> Limit {
        let (level, sign) = self.processors();
        if level == Some(Level::Limit) {
            return self.processor(&self.sum, Confidence::Moderate, sign);
        }
        let confidence = match level {
            Some(Level::Idle) if self.share.low >= REACHED => Confidence::High,
            _ if self.share.value >= REACHED => Confidence::Moderate,
            _ => Confidence::Low,
        };
        Limit::new(Limiter::Drives, "drives", &self.group.members, &self.sum, confidence, vec![sign])
    }

    /// Targets that lose speed at once, where no ceiling explains it.
    fn unexplained(&self, members: &[usize], all: &Set) -> Limit {
        let (level, sign) = self.processors();
        let sum = repeat::mean(&all.sums(members));
        let sum = sum.as_ref().unwrap_or(&self.sum);
        if level == Some(Level::Limit) && *members == self.group.members {
            return self.processor(sum, Confidence::Moderate, sign);
        }
        let because = vec!["It is too small or too irregular to identify.".to_owned()];
        Limit::new(Limiter::Unknown, "something shared", members, sum, Confidence::Low, because)
    }

    /// Targets without a ceiling where others have one.
    fn free(&self, members: &[usize], all: &Set) -> Limit {
        let sum = repeat::mean(&all.sums(members));
        let confidence = self.limits.iter().map(|l| l.confidence).min().unwrap_or(Confidence::Low);
        let ceiling = sum.as_ref().unwrap_or(&self.sum);
        Limit::new(Limiter::Drives, "drives", members, ceiling, confidence, Vec::new())
    }

    /// How much longer operations took at once; drives that wait for a bus are idle in between.
    fn waiting(&self, shared: &Shared) -> Option<String> {
        let all = self.group.at_once()?;
        let median = |set: &Set, member: usize| {
            let at = set.trial.members.iter().position(|m| *m == member)?;
            Some(set.latency[at].quantile(Percentile::P50.share())? as f64 / 1e9)
        };
        let each =
            shared.members.iter().filter_map(|&m| Some((median(self.group.alone(m)?, m)?, median(all, m)?)));
        let (alone, at_once) = each.max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))?;
        let (alone, at_once) = (duration(alone), duration(at_once));
        let idle = if shared.drive { "" } else { ": the drives waited in between" };
        Some(format!("The median operation took {alone} alone and {at_once} at once{idle}."))
    }

    /// What was excluded where the limit is unknown.
    fn excluded(&self, shared: &Shared) -> String {
        let mut not = vec!["the drives, which are faster alone".to_owned()];
        if shared.name.is_empty() {
            not.push("a single bus, because the inventory shows none that carries all of them".to_owned());
        } else {
            not.push(format!("{}, because its signalling rate is below the measured speed", shared.name));
        }
        if let Some((Level::Idle, sign)) = self.strain.as_ref().map(Strain::level) {
            not.push(format!("the processor ({sign})"));
        }
        format!("Excluded: {}.", not.join("; "))
    }
}
