//! The time that the limits of a plan leave to each step.

use crate::{
    plan::{Plan, Step},
    record::Done,
};

/// The time of each target, and at last that of all together.
#[derive(Debug)]
pub(super) struct TimeLeft(Vec<Share>);

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
        let share = |most: Option<f64>, is_on: &dyn Fn(&Step) -> bool| {
            let to_come = plan.steps.iter().filter(|step| !done.steps.contains(&step.id) && is_on(step));
            let left = most.filter(|_| plan.limit.is_some()).unwrap_or(f64::INFINITY);
            Share { left, needed: to_come.map(|step| plan.needed(step)).sum() }
        };
        let each = (0..plan.targets.len()).map(|at| share(left.cost(at).seconds, &|step| step.is_on(at)));
        Self(each.chain([share(left.seconds(), &|_| true)]).collect())
    }

    /// Seconds that are left to a step.
    pub fn left(&self, step: &Step) -> f64 {
        self.of(step).map(|at| self.0[at].left).fold(f64::INFINITY, f64::min)
    }

    /// The share of its own limit that a step may take, so that later steps have time; 1 while the run is in time.
    pub fn share(&self, step: &Step) -> f64 {
        let of = self.of(step).map(|at| self.0[at]).filter(|share| share.needed > 0.0);
        of.map(|share| share.left.max(0.0) / share.needed).fold(1.0, f64::min)
    }

    /// Subtracts the seconds of a step that was planned to take at most `needed`.
    pub fn spend(&mut self, step: &Step, needed: f64, seconds: f64) {
        for at in self.of(step).collect::<Vec<_>>() {
            self.0[at].left -= seconds;
            self.0[at].needed -= needed;
        }
    }

    /// Subtracts seconds that were spent outside the steps.
    pub fn pass(&mut self, seconds: f64) {
        self.0.iter_mut().for_each(|share| share.left -= seconds);
    }

    /// Leaves no time for the steps after this one on its targets.
    pub fn end(&mut self, step: &Step) {
        step.targets().for_each(|at| self.0[at].left = 0.0);
    }

    /// The positions of the shares that a step is part of.
    fn of(&self, step: &Step) -> impl Iterator<Item = usize> {
        step.targets().chain([self.0.len() - 1])
    }
}
