//! The time that the limits of a plan leave to each step.

use crate::{
    plan::{Plan, Step},
    record::Done,
};

#[derive(Debug)]
pub(super) struct TimeLeft {
    all: Share,
    /// The time of each target.
    each: Vec<Share>,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    left: f64,
    /// Time that the remaining steps need, if each ends at its own limit.
    needed: f64,
}

impl TimeLeft {
    /// For the steps that are not done. A plan without a limit leaves infinite time.
    pub fn new(plan: &Plan, done: &Done) -> Self {
        let left = done.left(plan);
        let to_come = || plan.steps.iter().filter(|step| !done.steps.contains(&step.id));
        let needed = |step: &Step| plan.needed(step);
        let share = |most: Option<f64>, needed| Share {
            left: most.filter(|_| plan.limit.is_some()).unwrap_or(f64::INFINITY),
            needed,
        };
        let each = |at| {
            share(left.cost(at).seconds, to_come().filter(|step| step.is_on(at)).map(needed).sum::<f64>())
        };
        Self {
            all: share(left.seconds(), to_come().map(needed).sum()),
            each: (0..plan.targets.len()).map(each).collect(),
        }
    }

    /// Seconds that are left to a step.
    pub fn left(&self, step: &Step) -> f64 {
        self.of(step).map(|share| share.left).fold(f64::INFINITY, f64::min)
    }

    /// The share of its own limit that a step may take, so that later steps have time; 1 while the run is in time.
    pub fn share(&self, step: &Step) -> f64 {
        let of = self.of(step).filter(|share| share.needed > 0.0);
        of.map(|share| share.left.max(0.0) / share.needed).fold(1.0, f64::min)
    }

    /// Subtracts the seconds of a step that was planned to take at most `needed`.
    pub fn spend(&mut self, step: &Step, needed: f64, seconds: f64) {
        let take = |share: &mut Share| {
            share.left -= seconds;
            share.needed -= needed;
        };
        self.of_targets(step).for_each(take);
        take(&mut self.all);
    }

    /// Subtracts seconds that were spent outside the steps.
    pub fn pass(&mut self, seconds: f64) {
        self.each.iter_mut().chain([&mut self.all]).for_each(|share| share.left -= seconds);
    }

    /// Leaves no time for the steps after this one on its targets.
    pub fn end(&mut self, step: &Step) {
        self.of_targets(step).for_each(|share| share.left = 0.0);
    }

    fn of_targets<'a>(&'a mut self, step: &'a Step) -> impl Iterator<Item = &'a mut Share> {
        let each = self.each.iter_mut().enumerate().filter(|(at, _)| step.is_on(*at));
        each.map(|(_, share)| share)
    }

    fn of(&self, step: &Step) -> impl Iterator<Item = &Share> {
        step.targets().filter_map(|at| self.each.get(at)).chain([&self.all])
    }
}
