//! Slow-downs of a drive: the oldest run against the newest under the same load.

use super::{
    context::{Context, Number},
    evidence::{Evidence, Key},
};
use crate::{
    analyse::{
        Estimate,
        compare::{Ratio, across_runs, ratio},
    },
    findings::LoadKey,
    inventory::Drive,
    units::{Direction, Pattern},
};

/// Below this share of the earlier speed, data should be moved off the drive.
pub(super) const FAR_SLOWER: f64 = 0.8;

pub(super) struct Trend<'a> {
    /// `writes`, `reads at random`, `wakes`.
    pub verb: &'static str,
    pub old: Number<'a>,
    pub new: Number<'a>,
    /// New as a multiple of old.
    pub ratio: Ratio,
    /// More is better.
    pub speed: bool,
}

impl Trend<'_> {
    pub fn worse(&self) -> bool {
        self.ratio.different && (self.ratio.estimate.value < 1.0) == self.speed
    }

    /// The smaller, the worse: what is left of the speed.
    pub fn loss(&self) -> f64 {
        if self.speed { self.ratio.estimate.value } else { 1.0 / self.ratio.estimate.value }
    }

    pub fn far_worse(&self) -> bool {
        self.worse() && self.speed && self.same_place() && self.ratio.estimate.value < FAR_SLOWER
    }

    pub fn same_place(&self) -> bool {
        let place = |n: &Number<'_>| (n.from.board.clone(), n.from.bays.clone());
        place(&self.old) == place(&self.new)
    }

    /// The ratio has no interval, so the change may be chance.
    pub fn unbounded(&self) -> bool {
        !self.ratio.estimate.is_bounded()
    }
}

/// All figures of a drive that were measured in the same way on two days at least; short runs, without latencies, don't
/// count.
pub(super) fn trends<'a>(context: &Context<'a>, drive: &Drive) -> Vec<Trend<'a>> {
    let mut seen: Vec<(Key<'_>, &str)> = Vec::new();
    let mut trends = Vec::new();
    let long = |e: &&Evidence| !e.at.is_empty() && (e.load.is_none() || e.worst().is_some());
    for old in context.runs_of(drive).filter(long) {
        let kind = (old.key(), old.experiment.as_str());
        let same = |e: &&Evidence| e.key() == kind.0 && e.experiment == kind.1;
        if seen.contains(&kind) {
            continue;
        }
        let newest = context.runs_of(drive).rev().find(same).filter(|new| new.day() != old.day());
        trends.extend(newest.and_then(|new| between(old, new)));
        seen.push(kind);
    }
    trends
}

fn between<'a>(old: &'a Evidence, new: &'a Evidence) -> Option<Trend<'a>> {
    let (number, verb, speed): (fn(&Evidence) -> Option<&Estimate>, _, _) = match &old.load {
        Some(load) => (Evidence::speed, verb(load)?, true),
        None => (Evidence::wake_time, "wakes in", false),
    };
    let (a, b) = (number(old)?, number(new)?);
    let ratio = ratio(&across_runs(b, None), &across_runs(a, None))?;
    let of = |estimate, from| Number { estimate, from };
    Some(Trend { verb, old: of(a, old), new: of(b, new), ratio, speed })
}

fn verb(load: &LoadKey) -> Option<&'static str> {
    Some(match (load.direction?, load.pattern?) {
        (Direction::Read, Pattern::Sequential) => "reads",
        (Direction::Write, Pattern::Sequential) => "writes",
        (Direction::Read, Pattern::Random) => "reads at random",
        (Direction::Write, Pattern::Random) => "writes at random",
        (Direction::Mixed { .. }, _) => return None,
    })
}
