//! Runs loads and records what they do.

use std::{collections::BTreeMap, io};

use super::{
    super::{
        SILENT,
        measure::{Seen, Site, measure},
    },
    Execution, RunError, Troubles,
};
use crate::{
    conditions::{self, BytesMoved, ProcessorWatch},
    engine::{self, Engine, EngineError, Flow},
    inventory::Drive,
    plan::{Measure, Rule, Step},
    record::{Event, LoadSpeed, ProcessorUse},
    target::{Kind, Target},
    units::{Ended, Histogram, Outcome, duration},
};

/// How often the wait times of threads are sampled during a load, s. Sampling costs CPU time.
const GLANCE: f64 = 0.5;

/// Runs the loads of a step; through the page cache where a target refuses direct I/O.
pub(crate) fn perform(run: &mut Execution<'_, '_>, step: &Step, m: &Measure) -> Result<Troubles, RunError> {
    let m = &if run.share < 1.0 { m.hurried(run.share) } else { m.clone() };
    let sites = match sites(run, step, m)? {
        sites if sites.iter().all(|site| site.extent.length >= m.load.block) => sites,
        _ if matches!(m.rule, Rule::Again { .. }) => {
            run.note("The target was full, so nothing was written after the pause.".to_owned())?;
            run.ctx.emit(Event::Skipped { step: step.id })?;
            return Ok(Troubles::new());
        }
        // The time ended before anything was written.
        _ if !run.late.is_empty() => {
            run.late.insert(step.id);
            return Ok(Troubles::new());
        }
        _ => {
            let why = "nothing to read: the load before it wrote nothing";
            return Err(RunError::Act(why.to_owned()));
        }
    };
    match loads(run, step, (m, false), &sites) {
        Err(RunError::Engine(e @ EngineError::NoDirect(_))) => {
            let text = format!("{e}: measured through the page cache instead, as '{}'.", m.label);
            if run.noted.insert(text.clone()) {
                run.note(text)?;
            }
            let m = m.through_cache();
            let sites = self::sites(run, step, &m)?;
            loads(run, step, (&m, true), &sites)
        }
        done => done,
    }
}

fn sites(run: &mut Execution<'_, '_>, step: &Step, m: &Measure) -> Result<Vec<Site>, RunError> {
    step.targets().map(|target| open(run, target, m)).collect()
}

fn open(run: &mut Execution<'_, '_>, target: usize, m: &Measure) -> Result<Site, RunError> {
    let readable = match run.readable.get(&target) {
        Some(readable) => *readable,
        None => run.ctx.world.open(target, &run.plan.targets[target], &run.cancel)?,
    };
    run.readable.insert(target, readable);
    let start = if m.aligned > 0 { start(run, target)? } else { 0 };
    Ok(Site { target, extent: m.placed(start).extent(readable) })
}

/// Where the file of a target begins on its device. If that is unknown, it counts as aligned.
fn start(run: &mut Execution<'_, '_>, target: usize) -> Result<u64, RunError> {
    if let Some(start) = run.starts.get(&target) {
        return Ok(*start);
    }
    let found = run.ctx.world.file_start(target);
    if found.is_none() {
        let text = "filefrag (package e2fsprogs) did not find the file's position on the device: where in a chunk loads begin is not known.";
        run.note(text.to_owned())?;
    }
    Ok(*run.starts.entry(target).or_insert(found.unwrap_or(0)))
}

fn loads(
    run: &mut Execution<'_, '_>,
    step: &Step,
    (m, instead): (&Measure, bool),
    sites: &[Site],
) -> Result<Troubles, RunError> {
    let on: Vec<usize> = step.targets().collect();
    let counters: Vec<Option<BytesMoved>> = on.iter().map(|at| counted(run, *at)).collect();
    let mut begun = None;
    let mut totals: Vec<Outcome> = sites.iter().map(|_| Outcome::nothing(Ended::Finished)).collect();
    loop {
        let since = run.ctx.world.seconds();
        for &target in on.iter().filter(|_| m.cold) {
            let path = &run.plan.targets[target].path;
            let cooled = run.ctx.world.cool(target, &run.cancel);
            cooled.map_err(|source| RunError::Cool { path: path.clone(), source })?;
        }
        let mut engine = run.ctx.world.engine(run.plan.engine.as_deref(), &m.load, &on)?;
        let outcomes = record(run, step, (m, instead), sites, engine.as_mut(), &mut begun)?;
        run.ended(m, sites, &outcomes);
        run.cut_off(step, m, &outcomes, since)?;
        totals = totals.iter().zip(&outcomes).map(|(total, outcome)| total.and_then(outcome)).collect();
        // The target with the shortest time decides.
        let shortest = totals.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let again = shortest.is_some_and(|o| m.runs_again(o.bytes_read + o.bytes_written, o.seconds));
        let whole = totals.iter().all(|o| o.ended == Ended::Finished) && !run.cancel.is_set();
        if !(whole && again) {
            break;
        }
    }
    for (&target, before) in on.iter().zip(&counters) {
        if let (Some(before), Some(now)) = (before, counted(run, target)) {
            let moved = now.since(*before);
            run.ctx.emit(Event::Counted { step: step.id, target: target as u32, moved })?;
        }
    }
    let ctx = &mut run.ctx;
    if let (Some(Begun { real, .. }), false) = (&begun, matches!(m.rule, Rule::Zones { .. })) {
        for (site, outcome) in sites.iter().zip(&totals) {
            let again =
                real.then(|| fio_command(&run.plan.targets[site.target], m, site.extent.length, outcome));
            let (target, outcome) = (site.target as u32, outcome.clone());
            ctx.emit(Event::Outcome { step: step.id, target, zone: None, outcome, again })?;
        }
    }
    ctx.log.sync()?;
    if let Some(Begun { processors, since, suspended, mut latencies, .. }) = begun {
        let did = processors.end(ctx.world.sysroot(), ctx.world.seconds() - since);
        // As in the record: a load of a fixed amount counts as a whole or not at all.
        if !suspended {
            let of = |(target, outcome): (&usize, &Outcome)| {
                let latency = &latencies.remove(target).unwrap_or_default();
                Some(((step.id, *target), LoadSpeed::of(outcome, latency)?))
            };
            run.speeds.extend(on.iter().zip(&totals).filter_map(of));
            run.processors.extend(ProcessorUse::of(&did, &totals).map(|used| (step.id, used)));
        }
        ctx.emit(Event::Processors { step: step.id, did })?;
    }
    let failures = on.iter().zip(&totals).filter_map(|(&target, o)| Some((target, failure(m, o)?)));
    Ok(failures.collect())
}

fn counted(run: &Execution<'_, '_>, target: usize) -> Option<BytesMoved> {
    conditions::counted(run.ctx.world.sysroot(), &run.plan.targets[target].drives)
}

/// A load that has begun, perhaps with several passes.
struct Begun {
    processors: ProcessorWatch,
    since: f64,
    /// Whether the engine is real, so that fio could repeat the load.
    real: bool,
    /// Whether drivebench was suspended during one of its windows.
    suspended: bool,
    /// Sums by target.
    latencies: BTreeMap<usize, Histogram>,
}

/// Runs it once and records its windows; the first time also the step.
fn record(
    run: &mut Execution<'_, '_>,
    step: &Step,
    (m, instead): (&Measure, bool),
    sites: &[Site],
    engine: &mut dyn Engine,
    begun: &mut Option<Begun>,
) -> Result<Vec<Outcome>, RunError> {
    let Execution { plan, ctx, steps_with_cliff, cancel, .. } = run;
    let step = step.id;
    let mut info = engine.info();
    // A modelled load has no fio command.
    let real = !info.modelled;
    if begun.is_none() {
        info.modelled |= ctx.inventory.machine.lab.is_some();
        let instead = instead.then(|| Box::new(m.clone()));
        ctx.emit(Event::Step { step, engine: info, at: ctx.world.date(), instead })?;
    }
    let store = ctx.store.to_str().and_then(|s| Target::resolve(ctx.inventory, s).ok());
    ctx.log.quiet(sites.iter().any(|site| shares_drive(store.as_ref(), &plan.targets[site.target])));

    let mut unwritten = Ok(());
    let mut looked = ctx.world.seconds();
    let begun = begun.get_or_insert_with(|| Begun {
        processors: ProcessorWatch::begin(ctx.world.sysroot()),
        since: ctx.world.seconds(),
        real,
        suspended: false,
        latencies: BTreeMap::new(),
    });
    let outcomes = measure(engine, m, sites, cancel, &mut |seen| {
        let event = match seen {
            Seen::Progress(progress) => {
                match progress.cliffs {
                    0 => steps_with_cliff.remove(&(step, progress.target)),
                    _ => steps_with_cliff.insert((step, progress.target)),
                };
                ctx.watcher.progress(&progress);
                if ctx.world.seconds() - looked >= GLANCE {
                    begun.processors.look(ctx.world.sysroot());
                    looked = ctx.world.seconds();
                }
                return Flow::Continue;
            }
            Seen::Window { target, zone, window } => {
                begun.suspended |= window.suspended_ns > 0;
                begun.latencies.entry(target).or_default().merge(&window.latency);
                Event::Window { step, target: target as u32, zone, window: window.clone() }
            }
            // The outcome of a whole load is recorded after its last pass.
            Seen::Outcome { zone: None, .. } => return Flow::Continue,
            Seen::Outcome { target, zone, outcome } => {
                let target = target as u32;
                Event::Outcome { step, target, zone, outcome: outcome.clone(), again: None }
            }
        };
        if unwritten.is_ok() {
            unwritten = ctx.emit(event);
        }
        if unwritten.is_ok() { Flow::Continue } else { Flow::Stop }
    });
    ctx.log.quiet(false);
    unwritten?;
    Ok(outcomes?)
}

impl Execution<'_, '_> {
    /// Adds up the bytes that loads moved, and how far they filled their targets.
    fn ended(&mut self, m: &Measure, sites: &[Site], outcomes: &[Outcome]) {
        for (site, outcome) in sites.iter().zip(outcomes) {
            self.account(site.target, outcome.bytes_read, outcome.bytes_written);
            let readable = self.readable.entry(site.target).or_default();
            *readable = m.filled(site.extent, outcome.bytes_written).max(*readable);
        }
    }

    /// Notes what its time limit cut off, and drives that did not respond at its end. The load began at `since`.
    fn cut_off(&mut self, step: &Step, m: &Measure, outcomes: &[Outcome], since: f64) -> io::Result<()> {
        for outcome in outcomes.iter().filter(|o| o.ended == Ended::Cancelled) {
            self.late.insert(step.id);
            let silent = self.ctx.world.seconds() - since - outcome.seconds;
            if silent >= SILENT && !self.ctx.cancel.is_asked() {
                let silent = duration(silent);
                let text =
                    format!("'{}' was cut off: the drive completed nothing in the last {silent}.", m.label);
                self.note(text)?;
            }
        }
        Ok(())
    }
}

fn failure(m: &Measure, outcome: &Outcome) -> Option<String> {
    match &outcome.ended {
        Ended::Failed { what, offset, message, .. } => {
            Some(format!("{what} failed at offset {offset} during '{}': {message}", m.label))
        }
        _ => None,
    }
}

fn fio_command(target: &Target, m: &Measure, reach: u64, outcome: &Outcome) -> String {
    let path = match target.kind {
        Kind::Directory => target.path.join("testfile"),
        Kind::File | Kind::BlockDevice => target.path.clone(),
    };
    engine::fio_command_line(&m.load, &path, reach, outcome.bytes_read + outcome.bytes_written, m.cold)
}

/// Whether the store is on a drive of the target; true if unknown.
fn shares_drive(store: Option<&Target>, target: &Target) -> bool {
    let Some(store) = store.filter(|s| !s.drives.is_empty()) else { return true };
    let same = |d: &Drive| target.drives.iter().any(|t| t.identity() == d.identity());
    target.drives.is_empty() || store.drives.iter().any(same)
}
