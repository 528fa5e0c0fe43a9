//! Executes a plan step by step, on a real or a modelled machine.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    RunContext, RunError, act,
    execution::{Execution, State, Troubles},
};
use crate::{
    analyse::rounds::{self, Piece},
    conditions::{BytesMoved, Snapshot, check_after, check_before},
    inventory::Drive,
    plan::{Condition, Measure, MoveDrives, Plan, RemovePool, Rule, Step, Uncounted},
    record::{Done, Event, How, When},
    target::Target,
    units::{count, duration},
};

/// Executes a plan except the steps in `done`. Records everything but the end event, which the caller adds.
///
/// After a failure a target is skipped; the others are still measured. If the record can't be written, it ends.
pub fn execute(planned: &Plan, done: &Done, ctx: &mut RunContext<'_>) -> io::Result<How> {
    let mut plan = planned.clone();
    let moves = plan.arrangements().next().is_some();
    let mut failed = Troubles::new();
    for (at, target) in plan.targets.iter_mut().enumerate() {
        if planned.is_found_by_act(at) {
            continue;
        }
        match ctx.world.find(target, ctx.inventory, planned.accepts_missing_drives()) {
            Ok(now) => *target = now,
            // The path may lead to another drive now. Plans that move drives wait for them instead.
            Err(e) => failed.extend((!moves).then(|| (at, e.to_string()))),
        }
    }
    let mut run = Execution {
        planned,
        moved: vec![BytesMoved::default(); plan.targets.len()],
        plan,
        done,
        held: State::default(),
        time: TimeLeft::new(planned, done),
        cancel: ctx.cancel.clone(),
        share: 1.0,
        late: BTreeSet::new(),
        ctx,
        speeds: done.speeds.clone(),
        processors: done.processors.clone(),
        readable: BTreeMap::new(),
        starts: BTreeMap::new(),
        steps_with_cliff: BTreeSet::new(),
        noted: BTreeSet::new(),
    };
    let before = if planned.measures_nothing() { None } else { Some(run.look_before()?) };
    let mut done = run.steps(&mut failed);
    let counts = planned.steps.iter().all(|step| step.act.needs().uncounted != Uncounted::All);
    if let Some(before) = before.filter(|_| counts && done.is_ok()) {
        done = run.look_after(&before);
    }
    // Even if the record can't be written, what was opened and built is removed.
    run.remove_all(&mut failed);
    done?;
    if let (Some(limit), false) = (planned.limit, run.late.is_empty() || run.ctx.cancel.is_asked()) {
        let (late, all) = (run.late.len(), planned.steps.len());
        let limit = duration(limit.seconds);
        let steps = count(all as u64, "step");
        run.note(format!(
            "{late} of {steps} were not measured to the end: the time was up (--max-time {limit})."
        ))?;
    }
    for (_, text) in &failed {
        run.note(format!("{text}."))?;
    }
    Ok(match failed.into_iter().next() {
        _ if run.ctx.cancel.is_set() => How::Interrupted,
        Some((target, text)) => How::Failed(format!("{}: {text}", run.plan.targets[target].label())),
        None if !run.late.is_empty() => How::TimeUp,
        None => How::Finished,
    })
}

/// Minimum time left for beginning a round, which would be cut off otherwise.
fn least_seconds(step: &Step) -> f64 {
    match step.act.get::<Measure>().map(|m| &m.rule) {
        Some(Rule::Round { seconds, .. }) => *seconds,
        _ => 0.0,
    }
}

/// Whether a step is skipped: its target failed before. A pool is always removed.
fn is_skipped(step: &Step, failed: &Troubles) -> bool {
    !step.act.is::<RemovePool>() && step.targets().any(|target| failed.iter().any(|(at, _)| *at == target))
}

impl Execution<'_, '_> {
    /// Releases what acts set up, closes all targets, and removes the pools that were built.
    fn remove_all(&mut self, failed: &mut Troubles) {
        failed.extend(self.held.release_all(self.ctx.world.runner()));
        for at in 0..self.plan.targets.len() {
            let world = &mut self.ctx.world;
            if let Err(e) = world.close(at).and_then(|()| world.remove_pool(at).map(drop)) {
                failed.push((at, e.to_string()));
            }
        }
    }

    fn steps(&mut self, failed: &mut Troubles) -> io::Result<()> {
        let mut arrangement: Option<&MoveDrives> = None;
        let mut over = false;
        for step in &self.planned.steps {
            if self.ctx.cancel.is_set() {
                break;
            }
            let done = self.done.steps.contains(&step.id);
            if !done && (over || self.time.left(step) <= least_seconds(step)) {
                // The failure ended the steps on that target, not the time limit.
                if !is_skipped(step, failed) && self.holds(step) {
                    self.late.insert(step.id);
                }
                // No moves are requested for a comparison that stays incomplete.
                over |= arrangement.is_some();
                continue;
            }
            if let Some(a) = step.act.get() {
                arrangement = Some(a);
            }
            if done {
                continue;
            }
            if let Some(wanted) = arrangement {
                // Drives may be moved at any time, so each step checks the bays. After a failure no more moves are requested,
                // because the comparison is incomplete.
                let asks = step.act.is::<MoveDrives>();
                if asks && !failed.is_empty() || !act::settle(self, wanted, asks.then_some(step.id))? {
                    break;
                }
            }
            let since = self.ctx.world.seconds();
            self.step(step, failed)?;
            let needed = self.planned.needed(step);
            self.time.spend(step, needed, self.ctx.world.seconds() - since);
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, failed: &mut Troubles) -> io::Result<()> {
        if is_skipped(step, failed) {
            return Ok(());
        }
        if !self.holds(step) {
            return self.ctx.emit(Event::Skipped { step: step.id });
        }
        let left = self.time.left(step);
        self.share = self.time.share(step);
        self.cancel = match left.is_finite() {
            true => self.ctx.cancel.within(left, self.ctx.world.clock()),
            false => self.ctx.cancel.clone(),
        };
        match step.act.perform(self, step) {
            Ok(troubles) => failed.extend(troubles),
            Err(RunError::Record(e)) => return Err(e),
            Err(RunError::Interrupted) => {}
            Err(RunError::TimeUp) => {
                self.late.insert(step.id);
                // The steps after it would find no file.
                self.time.end(step);
            }
            Err(e) => failed.extend(step.targets().map(|t| (t, e.to_string()))),
        }
        Ok(())
    }

    fn holds(&self, step: &Step) -> bool {
        match step.needs {
            None => true,
            Some(Condition::Cliff { of }) => step.targets().all(|t| self.steps_with_cliff.contains(&(of, t))),
            Some(Condition::Wide) => step.targets().any(|t| self.is_wide(step, t)),
        }
    }

    /// Whether the rounds without a condition leave the interval of a step's load wider than was aimed at.
    fn is_wide(&self, step: &Step, target: usize) -> bool {
        let load = |m: &Measure| match m.rule {
            Rule::Round { precision, .. } => Some((m.label.clone(), precision)),
            _ => None,
        };
        let Some(of @ (_, precision)) = &step.act.get().and_then(load) else { return true };
        let rounds = self.planned.measures().filter(|(s, _)| s.needs.is_none() && s.is_on(target));
        let same = rounds.filter(|(_, m)| load(m).as_ref() == Some(of));
        let pieces = same.filter_map(|(s, _)| self.speeds.get(&(s.id, target)));
        let pieces: Vec<Piece> =
            pieces.map(|s| Piece { bytes: s.bytes as u64, seconds: s.seconds }).collect();
        rounds::is_wide(&pieces, *precision)
    }

    fn look_before(&mut self) -> io::Result<Snapshot> {
        let earlier = self.snapshot();
        let watched = self.planned.watched();
        self.ctx.world.wait(watched, self.ctx.cancel);
        self.time.pass(watched);
        let now = self.snapshot();
        for (target, on) in self.plan.targets.iter().enumerate() {
            let checks = check_before(self.ctx.inventory, on, &earlier, &now);
            self.ctx.emit(Event::Preflight { target: target as u32, when: When::Before, checks })?;
        }
        Ok(self.snapshot())
    }

    fn look_after(&mut self, before: &Snapshot) -> io::Result<()> {
        let now = self.snapshot();
        for (target, on) in self.plan.targets.iter().enumerate() {
            let shares = |other: &Target| {
                other.drives.iter().any(|d| on.drives.iter().any(|mine| mine.name == d.name))
            };
            let together = self.plan.targets.iter().zip(&self.moved).enumerate();
            let together = together.filter(|(at, (other, _))| *at == target || shares(other));
            let sum = together.fold(BytesMoved::default(), |sum, (_, (_, moved))| sum.and(*moved));
            let counts = |step: &Step| step.act.needs().uncounted == Uncounted::Nothing;
            let is_counted = self.plan.steps.iter().all(|step| !step.is_on(target) || counts(step));
            let sum = is_counted.then_some(sum);
            let checks = check_after(self.ctx.inventory, on, before, &now, sum);
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

/// The time that the limits of a plan leave to each target, and at last to all together.
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
