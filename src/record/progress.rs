//! Which steps of a plan a record shows as done, so that a run can be resumed.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use super::{End, How, Run};
use crate::{
    plan::{Act, Condition, FILL, Measure, Plan, Rule, Step, StepId},
    units::Ended,
};

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

impl Refill {
    pub fn measure(&self) -> Measure {
        let rule = Rule::Fixed { bytes: self.bytes, seconds: None };
        let label = FILL.to_owned();
        Measure { label, rule, only_written: false, cold: false, again: None, ..self.by.clone() }
    }
}

/// The bytes that a load wrote, if it ended well.
fn wrote(run: &Run<()>, step: StepId, target: u32) -> Option<u64> {
    let outcome = run.steps.get(&step)?.loads.get(&(target as usize))?.outcome.as_ref()?;
    matches!(outcome.ended, Ended::Finished | Ended::Stopped).then_some(outcome.bytes_written)
}

impl Done {
    /// What a resumed run skips. A step that needs what an earlier one left in a drive or in the page cache is done
    /// together with it; files are made and filled again.
    pub fn of(run: &Run<()>, plan: &Plan) -> Self {
        if matches!(run.end, Some(End { how: How::Finished, .. })) {
            let steps = plan.steps.iter().map(|step| step.id).collect();
            return Self { steps, ..Self::default() };
        }
        let mut done = Self { steps: run.acted.clone(), ..Self::default() };
        done.steps.extend(plan.measures().filter_map(|(step, m)| {
            // A zone measurement is many loads. It is complete if a later step began.
            let ended = !matches!(m.rule, Rule::Zones { .. }) || run.last.is_some_and(|last| last > step.id);
            (ended && step.on.iter().all(|&t| wrote(run, step.id, t).is_some())).then_some(step.id)
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
        done.files(run, plan);
        done
    }

    /// What is left of a plan, for its cost: unfinished steps, and the filling of scratch files as steps of their own.
    pub fn left(&self, plan: &Plan) -> Plan {
        let all = plan.steps.len() as u32;
        // The moves to the next arrangement begin at the last one.
        let arranged =
            plan.arrangements().map(|(step, _)| step.id).filter(|id| self.steps.contains(id)).last();
        let is_left = |step: &&Step| !self.steps.contains(&step.id) || Some(step.id) == arranged;
        let steps = plan.steps.iter().filter(is_left).flat_map(|step| {
            let fills = step.on.iter().filter_map(move |&target| {
                let act = self.refills.get(&(step.id, target))?.measure().into();
                let id = StepId(step.id.0.saturating_add(all.saturating_mul(target + 1)));
                Some(Step { id, on: vec![target], needs: None, act })
            });
            iter::once(step.clone()).chain(fills)
        });
        Plan { steps: steps.collect(), ..plan.clone() }
    }

    /// A scratch file is finished when all steps in it are done. Otherwise it is created again, and filled as the finished loads
    /// left it.
    fn files(&mut self, run: &Run<()>, plan: &Plan) {
        /// A file: the step that creates it, whether all steps in it are done, and what was written into it before the first
        /// step that isn't.
        type File = (StepId, bool, Option<Refill>);
        let ended = self.steps.clone();
        let mut close = |target: u32, (made, whole, refill): File| {
            if whole {
                self.steps.insert(made);
            } else {
                self.steps.remove(&made);
                self.refills.extend(refill.map(|refill| ((made, target), refill)));
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
                        let Some(written) = wrote(run, step.id, target).filter(|_| *whole) else { continue };
                        let m = run.steps.get(&step.id).map_or(m, |step| &step.measure);
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
