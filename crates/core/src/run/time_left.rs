//! The time that the limits of a plan leave to each step.

use crate::{
    plan::{Plan, Step},
    record::Done,
};

#[derive(Debug)]
pub(super) struct TimeLeft {
    all: f64,
    /// The time of each target.
    each: Vec<f64>,
}

impl TimeLeft {
    /// For the steps that are not done. A plan without a limit leaves infinite time.
    pub fn new(plan: &Plan, done: &Done) -> Self {
        let left = done.left(plan);
        let limit = |most: Option<f64>| most.filter(|_| plan.limit.is_some()).unwrap_or(f64::INFINITY);
        let each = (0..plan.targets.len()).map(|at| limit(left.cost(at).seconds)).collect();
        Self { all: limit(left.seconds()), each }
    }

    /// Seconds that are left to a step.
    pub fn left(&self, step: &Step) -> f64 {
        step.targets().filter_map(|at| self.each.get(at)).copied().fold(self.all, f64::min)
    }

    /// Subtracts the seconds of a step.
    pub fn spend(&mut self, step: &Step, seconds: f64) {
        self.all -= seconds;
        self.of_targets(step).for_each(|left| *left -= seconds);
    }

    /// Subtracts seconds that were spent outside the steps.
    pub fn pass(&mut self, seconds: f64) {
        self.each.iter_mut().chain([&mut self.all]).for_each(|left| *left -= seconds);
    }

    /// Leaves no time for the steps after this one on its targets.
    pub fn end(&mut self, step: &Step) {
        self.of_targets(step).for_each(|left| *left = 0.0);
    }

    fn of_targets<'a>(&'a mut self, step: &'a Step) -> impl Iterator<Item = &'a mut f64> {
        self.each.iter_mut().enumerate().filter(|(at, _)| step.is_on(*at)).map(|(_, left)| left)
    }
}
