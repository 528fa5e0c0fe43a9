//! Which steps of a plan a record shows as done, so that a run can be resumed.

use std::collections::{BTreeMap, BTreeSet};

use super::{Event, How};
use crate::{
    plan::{Act, Condition, Measure, Plan, Rule, Step, StepId},
    units::Ended,
};

/// The steps done so far, from the lines of a record.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    steps: BTreeSet<StepId>,
    /// Loads that ended well, by step and target, and how many bytes they wrote.
    loads: BTreeMap<(StepId, u32), u64>,
    /// Loads that differ from the plan.
    instead: BTreeMap<StepId, Measure>,
    /// The last load that began.
    last: Option<StepId>,
    finished: bool,
}

/// What a resumed run skips.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    pub steps: BTreeSet<StepId>,
    /// Scratch files that later steps need as earlier ones left them, by the step that makes the file and its target.
    pub refills: BTreeMap<(StepId, u32), Refill>,
}

/// How to fill a scratch file again after the process ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Refill {
    pub by: Measure,
    /// From its start up to so many bytes.
    pub bytes: u64,
}

impl Progress {
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Step { step, instead, .. } => {
                self.loads.retain(|(of, _), _| of != step);
                self.instead.extend(instead.as_deref().map(|m| (*step, m.clone())));
                self.last = Some(*step);
            }
            Event::Outcome { step, target, outcome, .. } => match outcome.ended {
                Ended::Finished | Ended::Stopped => {
                    self.loads.insert((*step, *target), outcome.bytes_written);
                }
                Ended::Cancelled | Ended::Failed { .. } => {
                    self.loads.remove(&(*step, *target));
                }
            },
            Event::Act { step, result, .. } => {
                if result.cut_short {
                    self.steps.remove(step);
                } else {
                    self.steps.insert(*step);
                }
            }
            Event::Skipped { step } => {
                self.steps.insert(*step);
            }
            Event::End(end) => self.finished = end.how == How::Finished,
            _ => {}
        }
    }

    /// What a resumed run skips. A step that needs what an earlier one left in a drive or in the page cache is done
    /// together with it; files are made and filled again.
    pub fn done(&self, plan: &Plan) -> Done {
        if self.finished {
            let steps = plan.steps.iter().map(|step| step.id).collect();
            return Done { steps, ..Done::default() };
        }
        let mut done = Done { steps: self.steps.clone(), ..Done::default() };
        done.steps.extend(plan.measures().filter_map(|(step, m)| {
            // A zone measurement is many loads. It is complete if a later step began.
            let ended = !matches!(m.rule, Rule::Zones { .. }) || self.last.is_some_and(|last| last > step.id);
            let all = step.on.iter().all(|&t| self.loads.contains_key(&(step.id, t)));
            (ended && all).then_some(step.id)
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
                let needed = |s: &&Step| {
                    !matches!(s.act, Act::ScratchFile(_)) && (step.act.continues() || s.act.prepares())
                };
                if let Some(before) = before.filter(needed) {
                    done.steps.remove(&before.id);
                }
            }
        }
        self.files(plan, &mut done);
        done
    }

    /// A scratch file is finished when all steps in it are done. Otherwise it is created again, and filled as the finished loads
    /// left it.
    fn files(&self, plan: &Plan, done: &mut Done) {
        /// A file: the step that creates it, whether all steps in it are done, and what was written into it before the first
        /// step that isn't.
        type File = (StepId, bool, Option<Refill>);
        let ended = done.steps.clone();
        let mut close = |target: u32, (made, whole, refill): File| {
            if whole {
                done.steps.insert(made);
            } else {
                done.steps.remove(&made);
                done.refills.extend(refill.map(|refill| ((made, target), refill)));
            }
        };
        let mut open: BTreeMap<u32, File> = BTreeMap::new();
        for step in &plan.steps {
            for &target in &step.on {
                match &step.act {
                    Act::ScratchFile(_) => {
                        if let Some(before) = open.insert(target, (step.id, true, None)) {
                            close(target, before);
                        }
                    }
                    Act::Load(m) => {
                        let Some((_, whole, refill)) = open.get_mut(&target) else { continue };
                        *whole &= ended.contains(&step.id);
                        let Some(&written) = self.loads.get(&(step.id, target)).filter(|_| *whole) else {
                            continue;
                        };
                        let m = self.instead.get(&step.id).unwrap_or(m);
                        let before = refill.as_ref().map_or(0, |refill| refill.bytes);
                        let bytes = m.filled(m.extent(before), written);
                        if bytes > before {
                            *refill = Some(Refill { by: m.clone(), bytes });
                        }
                    }
                    _ => {}
                }
            }
        }
        open.into_iter().for_each(|(target, file)| close(target, file));
    }
}
