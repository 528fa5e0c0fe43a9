//! Predicts what layouts will do, from what their drives did.

use serde::{Deserialize, Serialize};

use crate::{
    analyse::{
        Estimate, Stalled,
        ceiling_fit::{self, fit_ceilings},
        pool_model::{
            Cost, End, MOST_MEMBERS, Planned, Queue, Shared, Speeds, Stalls, Transfer, jumps, seeks,
        },
        repeat,
    },
    inventory::Drive,
    plan::{Act, BuildPool, Changes, Measure, Needs, Step},
    record::{ActResult, LoadSpeed, Observation},
    run::{Execution, RunError, Troubles},
    units::{Direction, Layout, Load, MIB, Parity, Pattern, PredictedLoad},
};

/// Predicts what the loads of this plan will do on pools, from what they did on each of the step's targets alone and on
/// all of them at once. It comes before any of the pools is built, and is saved before the next step begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Predict {
    /// Positions of the pools in the plan's targets.
    pub pools: Vec<u32>,
    /// Number of drives that may fail.
    pub survive: u32,
}

/// The prediction for one pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Prediction {
    /// Its position in the plan's targets.
    pub pool: u32,
    /// The loads that follow from the speeds of single drives.
    pub loads: Vec<PredictedLoad>,
}

/// What was predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Predictions {
    pub pools: Vec<Prediction>,
}

crate::kind!("predictions", Predictions as Observation);

impl Observation for Predictions {}

crate::kind!("predict", Predict as Act);

impl Act for Predict {
    fn label(&self) -> String {
        "predict".to_owned()
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn needs(&self) -> Needs {
        Needs { measures_nothing: true, ..Needs::default() }
    }

    /// The predictions are synced before anything is built.
    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        let members: Vec<usize> = step.targets().collect();
        let computes = |pool: &u32| run.planned.build(*pool as usize).is_some_and(|b| b.layout.has_parity());
        let parity = if self.pools.iter().any(computes) { run.ctx.world.parity() } else { Parity::default() };
        let inputs = ModelInputs { run, members: &members, parity };
        let all = Predictions { pools: self.pools.iter().filter_map(|pool| inputs.predict(*pool)).collect() };
        let result = ActResult { observed: Some(all.into()), ..ActResult::default() };
        run.emit_act(step.id, members.first().copied(), result)?;
        run.ctx.log.sync()?;
        Ok(Troubles::new())
    }
}

/// The measurements of the drives.
struct ModelInputs<'r, 'a, 'c> {
    run: &'r Execution<'a, 'c>,
    members: &'r [usize],
    parity: Parity,
}

impl<'r, 'a, 'c> ModelInputs<'r, 'a, 'c> {
    fn predict(&self, pool: u32) -> Option<Prediction> {
        let build = self.run.planned.build(pool as usize)?;
        let mut loads: Vec<&Measure> = Vec::new();
        for (_, m) in self.measured_on(&[pool as usize]) {
            if loads.iter().all(|other| other.label != m.label) {
                loads.push(m);
            }
        }
        let predict = |m: &Measure| {
            let transfer = transfer(&m.load).filter(|_| is_plain(&m.load))?;
            if self.seeks(build, (transfer, &m.load)) {
                return None;
            }
            let same = self.measured_on(&[pool as usize]).filter(|(_, other)| other.label == m.label);
            let starts: Vec<u64> = same.filter(|(_, m)| m.aligned > 0).map(|(_, m)| m.from).collect();
            let of = |end| self.speed(build, (transfer, &m.load), &starts, end);
            // With one run of each load, a speed has no interval.
            let ends = [of(End::Low).unwrap_or(0.0), of(End::High).unwrap_or(f64::INFINITY)];
            Some(PredictedLoad::new(&m.label, of(End::Value)?, ends))
        };
        let loads = loads.into_iter().filter_map(predict).collect();
        Some(Prediction { pool, loads })
    }

    /// Whether a drive moves a head between distant places in this pool.
    fn seeks(&self, build: &BuildPool, (transfer, load): (Transfer, &Load)) -> bool {
        let moves = |at: &usize| {
            let [(pattern, block), _] = self.blocks(*at, Transfer::Read, Pattern::Random)?;
            Some(seeks(block, self.estimate(*at, Transfer::Read, pattern, block)?.value))
        };
        let on = self.on(build).filter(|_| jumps(build.layout, transfer, load.pattern));
        on.is_some_and(|on| on.iter().any(|at| moves(at) == Some(true)))
    }

    /// Speed of operations that begin at each of these places, or anywhere if none are given.
    fn speed(
        &self,
        build: &BuildPool,
        (transfer, load): (Transfer, &Load),
        starts: &[u64],
        end: End,
    ) -> Option<f64> {
        let both = [Transfer::Read, Transfer::Write];
        let is_write = transfer == Transfer::Write;
        // The file takes a quarter of the used part of a drive.
        let is_on_first = build.layout != Layout::Linear || build.most - build.most / 4 >= BEFORE_FILE;
        let one_drive = build.layout.is_of_one_drive(load.direction) && is_on_first;
        let on = self.on(build)?;
        if on.len() > MOST_MEMBERS {
            return None;
        }
        let of = |at: &usize| {
            let cost = |way: Transfer| {
                let is_done = match way {
                    Transfer::Read => !is_write || build.layout.has_parity(),
                    Transfer::Write => is_write,
                };
                match is_done && (!one_drive || *at == on[0]) {
                    true => self.cost(*at, way, load, end),
                    false => Some(Cost::NOTHING),
                }
            };
            let (read, write) = (cost(Transfer::Read)?, cost(Transfer::Write)?);
            let processor = both.map(|way| self.processor(*at, way, load.pattern));
            let rotates = self.drive(*at).is_some_and(|drive| drive.rotational);
            let stalls = both.map(|way| self.stalls(*at, way, load, end));
            Some(Speeds { read, write, stalls, queue: self.queue(*at), rotates, processor })
        };
        let members: Vec<Speeds> = on.iter().map(of).collect::<Option<_>>()?;
        let shared: Vec<Shared> = both.into_iter().flat_map(|way| self.shared(&on, way, end)).collect();
        let whole = Planned {
            layout: build.layout,
            chunk: build.chunk,
            members: &members,
            shared: &shared,
            cores: self.run.processors.values().map(|used| used.cores).max().unwrap_or(1).max(1),
            parity: self.parity,
        };
        let is_single = build.layout == Layout::Linear && one_drive;
        let pool = if is_single { whole.singles().next()? } else { whole };
        // In a small linear pool, any drive may have the file, so the slowest and the fastest drive are the limits.
        let each = pool.singles().map(|one| one.speed(transfer, load.pattern, load.block));
        match (pool.layout, end) {
            (Layout::Linear, End::Low) => Some(each.fold(f64::INFINITY, f64::min)),
            (Layout::Linear, End::High) => Some(each.fold(0.0, f64::max)),
            _ if starts.is_empty() => Some(pool.speed(transfer, load.pattern, load.block)),
            _ => pool.speed_from(transfer, load.pattern, load.block, starts),
        }
    }

    /// The targets of the drives alone, in the order of the pool's members.
    fn on(&self, build: &BuildPool) -> Option<Vec<usize>> {
        let is = |at: &&usize, drive: &String| self.drive(**at).is_some_and(|d| d.identity() == *drive);
        let find = |drive: &String| self.members.iter().find(|at| is(at, drive)).copied();
        build.drives.iter().map(find).collect()
    }

    /// The queue of a drive, as far as it is known.
    fn queue(&self, at: usize) -> Queue {
        let known = self.drive(at).map(|drive| drive.queue.clone()).unwrap_or_default();
        Queue::of(known.max_request, known.requests, known.writes, known.drains_writes())
    }

    fn drive(&self, at: usize) -> Option<&Drive> {
        self.run.planned.targets[at].drives.first()
    }

    /// The cost of a request on a drive.
    fn cost(&self, at: usize, transfer: Transfer, load: &Load, end: End) -> Option<Cost> {
        let blocks = self.blocks(at, transfer, load.pattern)?;
        let of = |(pattern, block)| self.estimate(at, transfer, pattern, block);
        let (small, large) = (of(blocks[0])?, of(blocks[1])?);
        let [small, large] = [(blocks[0].1, &small), (blocks[1].1, &large)];
        Cost::of(self.queue(at), (load.pattern, load.block), small, large, end)
    }

    /// Stalls of a drive in such operations, or in all operations of this direction if they were not measured.
    fn stalls(&self, at: usize, transfer: Transfer, load: &Load, end: End) -> Stalls {
        let same = |m: &Measure| is(m, transfer, load.pattern, load.block);
        let is_measured = self.measured_on(&[at]).any(|(_, m)| same(m));
        let of_direction = |m: &Measure| is(m, transfer, m.load.pattern, m.load.block);
        let steps =
            self.measured_on(&[at]).filter(|(_, m)| if is_measured { same(m) } else { of_direction(m) });
        let found = steps.filter_map(|(step, _)| self.run.speeds.get(&(step.id, at)));
        let (bytes, operations, seconds) =
            found.fold((0.0, 0, 0.0), |(bytes, operations, seconds), speed| {
                let Stalled { operations: more, seconds: longer } = speed.stalled;
                (bytes + speed.bytes, operations + more, seconds + longer)
            });
        if operations == 0 {
            return Stalls::NONE;
        }
        let operations = operations as f64;
        // Random events: the uncertainty of their number is about twice its square root.
        let times = match end {
            End::Low => 1.0 + 2.0 / operations.sqrt(),
            End::Value => 1.0,
            End::High => (1.0 - 2.0 / operations.sqrt()).max(0.0),
        };
        Stalls { per_byte: seconds / bytes * times, seconds: seconds / operations }
    }

    /// Processor time of requests; nothing if it was not recorded.
    fn processor(&self, at: usize, transfer: Transfer, pattern: Pattern) -> Cost {
        let Some(blocks) = self.blocks(at, transfer, pattern) else { return Cost::NOTHING };
        let speed = |(pattern, block)| {
            let steps = self.measured_on(&[at]).filter(|(_, m)| is(m, transfer, pattern, block));
            let used = steps.filter_map(|(step, _)| Some(self.run.processors.get(&step.id)?.per_byte));
            Some((block, 1.0 / repeat::middle(&used.collect::<Vec<f64>>())?.value))
        };
        let (Some(small), Some(large)) = (speed(blocks[0]), speed(blocks[1])) else { return Cost::NOTHING };
        Cost::through(self.queue(at), small, large).unwrap_or(Cost::of_bytes(large.1))
    }

    /// The smallest blocks of the pattern and the largest sequential ones, which give the cost of a request.
    fn blocks(&self, at: usize, transfer: Transfer, pattern: Pattern) -> Option<[(Pattern, u64); 2]> {
        let blocks = |wanted: Pattern| {
            let all = self.measured_on(&[at]);
            all.filter(move |(_, m)| is(m, transfer, wanted, m.load.block)).map(|(_, m)| m.load.block)
        };
        Some([(pattern, blocks(pattern).min()?), (Pattern::Sequential, blocks(Pattern::Sequential).max()?)])
    }

    /// The ceilings that all of these drives share, or those behind one hub, if together they are slower than alone.
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
        // A ceiling that the inventory doesn't show, such as a processor.
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

    /// Estimate for this target without stalls, from the repetitions.
    fn estimate(&self, at: usize, transfer: Transfer, pattern: Pattern, block: u64) -> Option<Estimate> {
        let steps = self.measured_on(&[at]).filter(|(_, m)| is(m, transfer, pattern, block));
        let speeds = steps.filter_map(|(step, _)| Some(self.run.speeds.get(&(step.id, at))?.even()));
        repeat::middle(&speeds.collect::<Vec<f64>>())
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
            on.iter()
                .map(|at| self.run.speeds.get(&(step.id, *at)).map(LoadSpeed::whole))
                .collect::<Option<_>>()
        })
    }
}

/// Maximum bytes before the first file on an empty ext4 (Linux 6.1 and 6.18).
const BEFORE_FILE: u64 = 128 * MIB;

fn is(m: &Measure, transfer: Transfer, pattern: Pattern, block: u64) -> bool {
    let same = m.load.pattern == pattern && m.load.block == block;
    self::transfer(&m.load) == Some(transfer) && same && is_plain(&m.load)
}

/// Whether a load does one operation at a time.
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
