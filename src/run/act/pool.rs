//! Builds pools for loads, removes them, and predicts what they will do.

use super::{Execution, RunError, Troubles};
use crate::{
    analyse::{
        Estimate,
        ceiling_fit::{self, fit_ceilings},
        pool_model::{Cost, Planned, Queue, Shared, Speeds, Transfer},
        repeat,
    },
    inventory::Drive,
    plan::{BuildPool, Measure, Predict, Prediction, Step},
    record::ActResult,
    units::{Direction, Layout, Load, MIB, Parity, Pattern, PredictedLoad},
};

pub(super) fn build(
    run: &mut Execution<'_, '_>,
    step: &Step,
    build: &BuildPool,
) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let cancel = run.cancel.clone();
        let built = run.ctx.world.build_pool(target, &run.plan.targets[target], build, &cancel)?;
        let given = std::mem::take(&mut run.plan.targets[target].given);
        run.plan.targets[target] = crate::target::Target { given, ..built.target };
        run.readable.remove(&target);
        let seconds = run.ctx.world.seconds() - since;
        let (commands, filled_seconds) = (built.commands, built.filled_seconds);
        let result = ActResult { seconds, commands, filled_seconds, ..ActResult::default() };
        run.emit_act(step.id, Some(target), result)?;
    }
    Ok(Troubles::new())
}

pub(super) fn remove(run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        run.ctx.world.close(target)?;
        let commands = run.ctx.world.remove_pool(target)?;
        run.readable.remove(&target);
        let seconds = run.ctx.world.seconds() - since;
        run.emit_act(step.id, Some(target), ActResult { seconds, commands, ..ActResult::default() })?;
    }
    Ok(Troubles::new())
}

/// Writes the predictions into the record and brings them to the drive, before anything is built.
pub(super) fn predict(
    run: &mut Execution<'_, '_>,
    step: &Step,
    predict: &Predict,
) -> Result<Troubles, RunError> {
    let members: Vec<usize> = step.targets().collect();
    let computes = |pool: &u32| run.planned.build(*pool as usize).is_some_and(|b| b.layout.has_parity());
    let parity = if predict.pools.iter().any(computes) { run.ctx.world.parity() } else { Parity::default() };
    let known = Known { run, members: &members, parity };
    let predictions = predict.pools.iter().filter_map(|pool| known.of(*pool)).collect();
    let result = ActResult { predictions, parity, ..ActResult::default() };
    run.emit_act(step.id, members.first().copied(), result)?;
    run.ctx.log.sync()?;
    Ok(Troubles::new())
}

/// Which end of the intervals counts.
#[derive(Debug, Clone, Copy)]
enum End {
    Low,
    Value,
    High,
}

/// What is known of the drives.
struct Known<'r, 'a, 'c> {
    run: &'r Execution<'a, 'c>,
    members: &'r [usize],
    parity: Parity,
}

impl<'r, 'a, 'c> Known<'r, 'a, 'c> {
    fn of(&self, pool: u32) -> Option<Prediction> {
        let build = self.run.planned.build(pool as usize)?;
        let mut loads: Vec<&Measure> = Vec::new();
        for (_, m) in self.measured_on(&[pool as usize]) {
            if loads.iter().all(|other| other.label != m.label) {
                loads.push(m);
            }
        }
        let predicted = loads.iter().filter_map(|m| {
            let speed = |end| self.speed(build, &m.load, end);
            let (low, value, high) = (speed(End::Low)?, speed(End::Value)?, speed(End::High)?);
            let high = high.is_finite().then_some(high);
            let transfer = transfer(&m.load)?;
            let used = |pool: Planned<'_>| pool.processor(transfer, m.load.pattern, m.load.block);
            let processor = self.planned(build, m.load.pattern, End::Value, used).filter(|used| *used > 0.0);
            Some(PredictedLoad { label: m.label.clone(), speed: value, low, high, processor })
        });
        let fill = |pool: Planned<'_>| pool.fill_seconds(build.most);
        let fill_seconds = self.planned(build, Pattern::Sequential, End::Value, fill);
        Some(Prediction { pool, fill_seconds: fill_seconds.flatten(), loads: predicted.collect() })
    }

    fn speed(&self, build: &BuildPool, load: &Load, end: End) -> Option<f64> {
        let transfer = transfer(load)?;
        let speed = |pool: Planned<'_>| {
            // Any drive of a small linear pool may have the file: from the slowest to the fastest.
            let each = pool.singles().map(|one| one.speed(transfer, load.pattern, load.block));
            match (pool.layout, end) {
                (Layout::Linear, End::Low) => each.fold(f64::INFINITY, f64::min),
                (Layout::Linear, End::High) => each.fold(0.0, f64::max),
                _ => pool.speed(transfer, load.pattern, load.block),
            }
        };
        self.planned(build, load.pattern, end, speed).filter(|_| is_plain(load))
    }

    fn planned<T>(
        &self,
        build: &BuildPool,
        pattern: Pattern,
        end: End,
        with: impl Fn(Planned<'_>) -> T,
    ) -> Option<T> {
        let both = [Transfer::Read, Transfer::Write];
        let of = |at: &usize| {
            let cost = |transfer| self.cost(*at, transfer, pattern, end);
            let processor = both.map(|transfer| self.processor(*at, transfer, pattern));
            let (read, write) = (cost(Transfer::Read)?, cost(Transfer::Write)?);
            let rotates = self.drive(*at).is_some_and(|drive| drive.rotational);
            Some(Speeds { read, write, queue: self.queue(*at), rotates, processor })
        };
        let is = |at: &&usize, drive: &String| self.drive(**at).is_some_and(|d| d.identity() == *drive);
        let find = |drive: &String| self.members.iter().find(|at| is(at, drive)).copied();
        let on: Vec<usize> = build.drives.iter().map(find).collect::<Option<_>>()?;
        let members: Vec<Speeds> = on.iter().map(of).collect::<Option<_>>()?;
        let cores = self.run.processors.values().map(|used| used.cores).max().unwrap_or(1).max(1);
        let shared: Vec<Shared> =
            both.into_iter().flat_map(|transfer| self.shared(&on, transfer, end)).collect();
        let (layout, chunk) = (build.layout, build.chunk);
        let pool = Planned { layout, chunk, members: &members, shared: &shared, cores, parity: self.parity };
        let first = on.first().and_then(|at| self.drive(*at)).map_or(0, Drive::bytes).min(build.most);
        // The file has a quarter of what is used of a drive.
        if layout == Layout::Linear && first >= BEFORE_FILE + build.most / 4 {
            return pool.singles().next().map(with);
        }
        Some(with(pool))
    }

    /// What the kernel sends to a drive, as far as it is known.
    fn queue(&self, at: usize) -> Queue {
        let known = self.drive(at).map(|drive| drive.queue.clone()).unwrap_or_default();
        Queue::of(known.max_request, known.requests, known.writes)
    }

    fn drive(&self, at: usize) -> Option<&Drive> {
        self.run.planned.targets[at].drives.first()
    }

    /// What a request costs a drive.
    fn cost(&self, at: usize, transfer: Transfer, pattern: Pattern, end: End) -> Option<Cost> {
        let speed = |pattern, block| Some(end.of(&self.estimate(&[at], transfer, pattern, block)?));
        self.through(at, transfer, pattern, speed)
    }

    /// What it takes of a processor; nothing where that was not recorded.
    fn processor(&self, at: usize, transfer: Transfer, pattern: Pattern) -> Cost {
        let speed = |pattern, block| {
            let steps = self.measured_on(&[at]).filter(|(_, m)| is(m, transfer, pattern, block));
            let used = steps.filter_map(|(step, _)| Some(self.run.processors.get(&step.id)?.per_byte));
            Some(1.0 / repeat::middle(&used.collect::<Vec<f64>>())?.value)
        };
        self.through(at, transfer, pattern, speed).unwrap_or(Cost::NOTHING)
    }

    /// From bytes per second with the smallest blocks of the pattern, and with the largest sequential ones.
    fn through(
        &self,
        at: usize,
        transfer: Transfer,
        pattern: Pattern,
        speed: impl Fn(Pattern, u64) -> Option<f64>,
    ) -> Option<Cost> {
        let blocks = |wanted: Pattern| {
            let all = self.measured_on(&[at]);
            all.filter(move |(_, m)| is(m, transfer, wanted, m.load.block)).map(|(_, m)| m.load.block)
        };
        let (small, large) = (blocks(pattern).min()?, blocks(Pattern::Sequential).max()?);
        Some(Cost::through(
            self.queue(at),
            (small, speed(pattern, small)?),
            (large, speed(Pattern::Sequential, large)?),
        ))
    }

    /// What these drives, or those behind one of their hubs, move at once, where that is less than they do alone.
    fn shared(&self, on: &[usize], transfer: Transfer, end: End) -> Vec<Shared> {
        let all = self.measured_on(on).filter(|(_, m)| self::transfer(&m.load) == Some(transfer));
        let largest = all.map(|(_, m)| (m.load.pattern, m.load.block)).max_by_key(|(_, block)| *block);
        let Some((pattern, block)) = largest else { return Vec::new() };
        let trial = |members: Vec<usize>| {
            let targets: Vec<usize> = members.iter().map(|position| on[*position]).collect();
            ceiling_fit::Trial { runs: self.runs(&targets, transfer, pattern, block).collect(), members }
        };
        let everyone: Vec<usize> = (0..on.len()).collect();
        let drives: Vec<&Drive> = on.iter().filter_map(|at| self.drive(*at)).collect();
        let mut groups: Vec<Vec<usize>> =
            self.run.ctx.inventory.shared_buses(&drives).into_iter().map(|(_, group)| group).collect();
        // What the inventory does not know of, such as a processor.
        if !groups.contains(&everyone) {
            groups.push(everyone.clone());
        }
        let alone = everyone.iter().map(|position| vec![*position]);
        let trials: Vec<_> = alone.chain(groups.iter().cloned()).map(trial).collect();
        let found = fit_ceilings(&trials, &groups).unwrap_or_default().ceilings;
        let shared = |c: &ceiling_fit::FittedCeiling| Shared {
            members: groups[c.group].clone(),
            transfer,
            rate: end.of(&c.ceiling),
        };
        found.iter().map(shared).collect()
    }

    fn measured_on<'s>(
        &'s self,
        on: &[usize],
    ) -> impl Iterator<Item = (&'s Step, &'s Measure)> + use<'s, 'r, 'a, 'c> {
        let on = on.to_vec();
        let same = move |step: &Step| step.targets().eq(on.iter().copied());
        self.run.planned.measures().filter(move |(step, m)| same(step) && m.label != crate::plan::FILL)
    }

    /// The sum over these targets, from the repetitions.
    fn estimate(&self, on: &[usize], transfer: Transfer, pattern: Pattern, block: u64) -> Option<Estimate> {
        let sums = self.runs(on, transfer, pattern, block).map(|speeds| speeds.iter().sum());
        repeat::middle(&sums.collect::<Vec<f64>>())
    }

    /// The speed of each of these targets, in each repetition.
    fn runs(
        &self,
        on: &[usize],
        transfer: Transfer,
        pattern: Pattern,
        block: u64,
    ) -> impl Iterator<Item = Vec<f64>> {
        let steps = self.measured_on(on).filter(move |(_, m)| is(m, transfer, pattern, block));
        steps.filter_map(|(step, _)| {
            on.iter().map(|at| self.run.speeds.get(&(step.id, *at)).copied()).collect::<Option<_>>()
        })
    }
}

/// An empty ext4 has no more before its first file (Linux 6.1 and 6.18).
const BEFORE_FILE: u64 = 128 * MIB;

impl End {
    fn of(self, e: &Estimate) -> f64 {
        match self {
            // Student's interval over few runs may reach below zero.
            Self::Low => e.low.max(e.value * 0.01),
            Self::Value => e.value,
            Self::High => e.high,
        }
    }
}

fn is(m: &Measure, transfer: Transfer, pattern: Pattern, block: u64) -> bool {
    let same = m.load.pattern == pattern && m.load.block == block;
    self::transfer(&m.load) == Some(transfer) && same && is_plain(&m.load)
}

/// One operation at a time.
fn is_plain(load: &Load) -> bool {
    load.depth == 1 && load.streams == 1 && !load.sync
}

fn transfer(load: &Load) -> Option<Transfer> {
    match load.direction {
        Direction::Read => Some(Transfer::Read),
        Direction::Write => Some(Transfer::Write),
        Direction::Mixed { .. } => None,
    }
}
