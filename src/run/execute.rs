//! Carries a plan out step by step: one executor for every world.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{RunContext, RunError, act};
use crate::{
    conditions::{BytesMoved, Preflight, Snapshot},
    inventory::Drive,
    plan::{Act, Condition, MoveDrives, Plan, Step, StepId},
    record::{ActResult, Done, Event, How, When},
    target::Target,
    units::percent,
};

/// What went wrong on which target, where the step itself could be done.
pub(super) type Troubles = Vec<(usize, String)>;

/// A plan while it is carried out.
pub(super) struct Execution<'a, 'c> {
    pub planned: &'a Plan,
    /// The same with the targets where they are now: they move, and are called otherwise after a reboot.
    pub plan: Plan,
    pub done: &'a Done,
    pub ctx: &'a mut RunContext<'c>,
    /// Of each target whose file is open, how many bytes from its start can be read back.
    pub readable: BTreeMap<usize, u64>,
    /// Loads that fell off a cliff, by step and target.
    pub fell: BTreeSet<(StepId, usize)>,
    /// What was moved on each target.
    pub moved: Vec<BytesMoved>,
    /// Notes that are made once.
    pub noted: BTreeSet<String>,
}

/// Carries a plan out but for what is `done` already. The record gets everything but its end, which the caller adds.
///
/// A target that fails is left alone from then on; the others are still measured.
///
/// # Errors
/// Only where the record can't be written on: then nothing more is measured.
pub fn execute(planned: &Plan, done: &Done, ctx: &mut RunContext<'_>) -> io::Result<How> {
    let mut plan = planned.clone();
    let moves = plan.arrangements().next().is_some();
    let mut failed = Troubles::new();
    if moves || !done.steps.is_empty() {
        for (at, target) in plan.targets.iter_mut().enumerate() {
            match ctx.world.find(target, ctx.inventory) {
                Ok(now) => *target = now,
                // What is at its path now may be on another drive; drives that are moved are waited for.
                Err(e) => failed.extend((!moves).then(|| (at, e.to_string()))),
            }
        }
    }
    let mut run = Execution {
        planned,
        moved: vec![BytesMoved::default(); plan.targets.len()],
        plan,
        done,
        ctx,
        readable: BTreeMap::new(),
        fell: BTreeSet::new(),
        noted: BTreeSet::new(),
    };
    let before = run.look_before()?;
    if failed.is_empty() && !done.steps.is_empty() {
        act::wake(&mut run);
    }
    run.steps(&mut failed)?;
    // Counters of drives that were moved began anew.
    if !moves {
        run.look_after(&before)?;
    }
    for at in 0..run.plan.targets.len() {
        if let Err(e) = run.ctx.world.close(at) {
            failed.push((at, e.to_string()));
        }
    }
    for (target, text) in &failed {
        run.note(Some(*target), format!("{text}."))?;
    }
    Ok(match failed.into_iter().next() {
        _ if run.ctx.cancel.is_set() => How::Interrupted,
        Some((target, text)) => How::Failed(format!("{}: {text}", run.plan.targets[target].label())),
        None => How::Finished,
    })
}

impl Execution<'_, '_> {
    /// Does what is not done yet on targets that have not failed.
    fn steps(&mut self, failed: &mut Troubles) -> io::Result<()> {
        let mut arrangement: Option<&MoveDrives> = None;
        for step in &self.planned.steps {
            if self.ctx.cancel.is_set() {
                break;
            }
            if let Act::MoveDrives(a) = &step.act {
                arrangement = Some(a);
            }
            if self.done.steps.contains(&step.id) {
                continue;
            }
            if let Some(wanted) = arrangement {
                // Drives may be moved at any time, so each step looks where they are; nobody is asked to move any after a
                // failure, as what is compared is not whole any more.
                let asks = matches!(step.act, Act::MoveDrives(_));
                if asks && !failed.is_empty() || !act::settle(self, wanted, asks.then_some(step.id))? {
                    break;
                }
            }
            if step.targets().any(|t| failed.iter().any(|(f, _)| *f == t)) {
                continue;
            }
            if !self.holds(step) {
                self.ctx.emit(Event::Skipped { step: step.id })?;
                continue;
            }
            match act::perform(self, step) {
                Ok(troubles) => failed.extend(troubles),
                Err(RunError::Record(e)) => return Err(e),
                Err(e) => failed.extend(step.targets().map(|t| (t, e.to_string()))),
            }
        }
        Ok(())
    }

    /// Whether what the step needs is so.
    fn holds(&self, step: &Step) -> bool {
        match step.needs {
            None => true,
            Some(Condition::Cliff { of }) => step.targets().all(|t| self.fell.contains(&(of, t))),
        }
    }

    /// Records what came of an act.
    pub fn emit_act(&mut self, step: StepId, target: Option<usize>, result: ActResult) -> io::Result<()> {
        let (target, at) = (target.map(|t| t as u32), self.ctx.world.date());
        self.ctx.emit(Event::Act { step, target, at, result: Box::new(result) })
    }

    /// Records something a reader of the result must know.
    pub fn note(&mut self, target: Option<usize>, text: String) -> io::Result<()> {
        self.ctx.emit(Event::Note { target: target.map(|t| t as u32), text })
    }

    /// Takes account of what was moved on a target.
    pub fn account(&mut self, target: usize, read: u64, written: u64) {
        self.moved[target].read += read;
        self.moved[target].written += written;
    }

    /// Looks at the conditions before the first load and records them.
    fn look_before(&mut self) -> io::Result<Snapshot> {
        /// How long the machine is watched to see what else it does, s.
        const WATCH: f64 = 1.0;
        let earlier = self.snapshot();
        self.ctx.world.wait(WATCH, self.ctx.cancel);
        let now = self.snapshot();
        for (target, on) in self.plan.targets.clone().iter().enumerate() {
            if let Some(share) = self.ctx.world.filled_share(on).filter(|share| *share < 0.99) {
                let (path, share) = (on.path.display(), percent(1.0 - share));
                let text = format!("{share} of {path} are holes, which read faster than any drive.");
                self.note(Some(target), text)?;
            }
            let checks = Preflight::before(self.ctx.inventory, on, &earlier, &now).checks;
            self.ctx.emit(Event::Preflight { target: target as u32, when: When::Before, checks })?;
        }
        Ok(self.snapshot())
    }

    /// Looks at what changed while the loads ran and records it.
    fn look_after(&mut self, before: &Snapshot) -> io::Result<()> {
        let now = self.snapshot();
        for (target, on) in self.plan.targets.iter().enumerate() {
            let shares = |other: &Target| {
                other.drives.iter().any(|d| on.drives.iter().any(|mine| mine.name == d.name))
            };
            let together = self.plan.targets.iter().zip(&self.moved).enumerate();
            let together = together.filter(|(at, (other, _))| *at == target || shares(other));
            let sum = together.fold(BytesMoved::default(), |sum, (_, (_, m))| BytesMoved {
                read: sum.read + m.read,
                written: sum.written + m.written,
            });
            let checks = Preflight::after(self.ctx.inventory, on, before, &now, sum).checks;
            self.ctx.emit(Event::Preflight { target: target as u32, when: When::After, checks })?;
        }
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let mut drives: Vec<&Drive> = self.plan.targets.iter().flat_map(|t| &t.drives).collect();
        drives.sort_by(|a, b| a.name.cmp(&b.name));
        drives.dedup_by(|a, b| a.name == b.name);
        Snapshot::take(self.ctx.world.sysroot(), drives)
    }
}
