//! Which steps of a plan a record shows as done, so that a run can be resumed.

use std::collections::{BTreeMap, BTreeSet};

use super::{End, How, Run};
use crate::{
    analyse::Stalled,
    conditions::Processors,
    plan::{Condition, Measure, Plan, Rule, ScratchFile, Step, StepId},
    units::{Ended, Histogram, Outcome},
};

/// What a resumed run skips.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    pub steps: BTreeSet<StepId>,
    /// Speeds of loads that ended well, by step and target.
    pub speeds: BTreeMap<(StepId, usize), LoadSpeed>,
    /// Processor time of loads.
    pub processors: BTreeMap<StepId, ProcessorUse>,
}

/// The bytes, seconds and stalls of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSpeed {
    pub bytes: f64,
    pub seconds: f64,
    pub stalled: Stalled,
}

impl LoadSpeed {
    /// `None` if it did not end as planned or moved nothing.
    pub fn of(outcome: &Outcome, latency: &Histogram) -> Option<Self> {
        outcome.speed()?;
        let bytes = (outcome.bytes_read as f64) + outcome.bytes_written as f64;
        Some(Self { bytes, seconds: outcome.seconds, stalled: Stalled::of(latency) })
    }

    /// The mean speed, bytes per second.
    pub fn whole(&self) -> f64 {
        self.bytes / self.seconds
    }

    /// The speed without stalls, bytes per second.
    pub fn even(&self) -> f64 {
        // At a depth above 1, stalls may add up to more than the time of the load.
        self.bytes / (self.seconds - self.stalled.seconds).max(self.seconds * 0.01)
    }
}

/// Processor time of loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessorUse {
    /// Seconds of all processors for each byte.
    pub per_byte: f64,
    /// Number of processors.
    pub cores: usize,
}

impl ProcessorUse {
    /// `None` if a load did not end as planned or moved nothing: the processor time includes more than its bytes.
    pub fn of<'a>(did: &Processors, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<Self> {
        let mut bytes = 0_u64;
        for outcome in outcomes {
            outcome.speed()?;
            bytes = bytes.saturating_add(outcome.bytes_read).saturating_add(outcome.bytes_written);
        }
        (bytes > 0).then(|| Self { per_byte: did.busy_seconds() / bytes as f64, cores: did.cores.len() })
    }
}

impl<T> super::run::Step<T> {
    /// Processor time of its loads on this number of targets; `None` if one was suspended, left out or moved nothing.
    pub fn processor_use(&self, targets: usize) -> Option<ProcessorUse> {
        let all = self.loads.len() == targets && self.loads.values().all(|load| load.suspended_ns == 0);
        let outcomes: Option<Vec<&Outcome>> = self.loads.values().map(|load| load.outcome.as_ref()).collect();
        ProcessorUse::of(self.processors.as_ref()?, outcomes.filter(|_| all)?)
    }
}

fn speeds(run: &Run<Histogram>) -> BTreeMap<(StepId, usize), LoadSpeed> {
    let loads =
        run.steps.iter().flat_map(|(id, step)| step.loads.iter().map(move |(at, load)| ((*id, *at), load)));
    loads.filter_map(|(at, load)| Some((at, LoadSpeed::of(load.outcome.as_ref()?, &load.kept)?))).collect()
}

fn processors(run: &Run<Histogram>, plan: &Plan) -> BTreeMap<StepId, ProcessorUse> {
    let used = |(id, step): (&StepId, &super::run::Step<Histogram>)| {
        Some((*id, step.processor_use(plan.step(*id)?.on.len())?))
    };
    run.steps.iter().filter_map(used).collect()
}

impl Done {
    /// What a resumed run skips. A step that needs what an earlier one left in a drive or in the page cache is done
    /// together with it; files are made again, with the load that fills them.
    pub fn of(run: &Run<Histogram>, plan: &Plan) -> Self {
        if matches!(run.end, Some(End { how: How::Finished, .. })) {
            let steps = plan.steps.iter().map(|step| step.id).collect();
            return Self { steps, ..Self::default() };
        }
        let mut done =
            Self { steps: run.acted.clone(), speeds: speeds(run), processors: processors(run, plan) };
        done.steps.extend(plan.measures().filter_map(|(step, m)| {
            // A zone measurement is many loads. It is complete if a later step began.
            let ended = !matches!(m.rule, Rule::Zones { .. }) || run.last.is_some_and(|last| last > step.id);
            let loads = run.steps.get(&step.id).map(|step| &step.loads)?;
            let is_whole =
                |at: usize| loads.get(&at).and_then(|load| load.ended()).is_some_and(Ended::is_whole);
            (ended && step.targets().all(is_whole)).then_some(step.id)
        }));
        for (at, step) in plan.steps.iter().enumerate().rev() {
            if done.steps.contains(&step.id) {
                continue;
            }
            if let Some(Condition::Cliff { of }) = step.needs {
                done.steps.remove(&of);
            }
            for target in &step.on {
                let before = plan.steps[..at].iter().rev().find(|s| s.on.contains(target));
                let needed =
                    |s: &&Step| !s.act.is::<ScratchFile>() && (step.act.continues() || s.act.prepares());
                if let Some(before) = before.filter(needed) {
                    done.steps.remove(&before.id);
                }
            }
        }
        // What is repeated on one target may be on others, too.
        loop {
            let before = done.steps.len();
            done.pools(plan);
            done.set_ups(plan);
            if done.steps.len() == before {
                return done;
            }
        }
    }

    /// Steps that set up something are repeated if a later step that uses it is left, and so is the first load that fills a file.
    fn set_ups(&mut self, plan: &Plan) {
        for (at, step) in plan.steps.iter().enumerate().filter(|(_, step)| step.act.sets_up()) {
            let shares = |other: &&Step| other.on.iter().any(|target| step.on.contains(target));
            let users =
                || plan.steps[at + 1..].iter().filter(shares).take_while(|other| !other.act.sets_up());
            if users().any(|user| !self.steps.contains(&user.id)) {
                let fills = |user: &&Step| user.act.get().is_some_and(Measure::fills);
                for repeated in users().find(fills).into_iter().chain([step]) {
                    self.steps.remove(&repeated.id);
                }
            }
        }
    }

    /// A pool that was not measured to the end is built again: nothing that was measured of it counts.
    fn pools(&mut self, plan: &Plan) {
        for (at, _) in plan.builds() {
            let steps =
                || plan.steps.iter().filter(|step| step.is_on(at) && !step.act.needs().measures_nothing);
            if steps().any(|step| !self.steps.contains(&step.id)) {
                for step in steps() {
                    self.steps.remove(&step.id);
                }
            }
        }
    }

    /// The rest of a plan, for its cost.
    pub fn left(&self, plan: &Plan) -> Plan {
        // Drives are moved to the next arrangement from the last one.
        let arranged =
            plan.arrangements().map(|(step, _)| step.id).filter(|id| self.steps.contains(id)).last();
        let is_left = |step: &&Step| !self.steps.contains(&step.id) || Some(step.id) == arranged;
        Plan { steps: plan.steps.iter().filter(is_left).cloned().collect(), ..plan.clone() }
    }
}
