//! Runs loads and records what they do.

use super::{
    super::measure::{Seen, Site, measure},
    Execution, RunError, Troubles,
};
use crate::{
    conditions::ProcessorWatch,
    engine::{self, Engine, EngineError, Flow},
    inventory::Drive,
    plan::{Measure, Rule, Step},
    record::Event,
    target::{Kind, Target},
    units::{Caching, Direction, Ended, Load, MIB, Outcome, Pattern},
};

/// How often the wait times of threads are sampled during a load, s. Sampling costs CPU time.
const GLANCE: f64 = 0.5;

/// Runs the loads of a step; through the page cache where a target refuses direct I/O.
pub(super) fn perform(run: &mut Execution<'_, '_>, step: &Step, m: &Measure) -> Result<Troubles, RunError> {
    let sites = match sites(run, step, m)? {
        sites if sites.iter().all(|site| site.extent.length >= m.load.block) => sites,
        sites if matches!(m.rule, Rule::Again { .. }) => {
            let text = "The target was full, so nothing was written after the pause.".to_owned();
            run.note(sites.first().map(|site| site.target), text)?;
            run.ctx.emit(Event::Skipped { step: step.id })?;
            return Ok(Troubles::new());
        }
        _ => return Err(RunError::NothingWritten),
    };
    match loads(run, step, (m, false), &sites) {
        Err(RunError::Engine(e @ EngineError::NoDirect(_))) => {
            let text = format!("{e}: measured through the page cache instead, as '{}'.", m.label);
            if run.noted.insert(text.clone()) {
                run.note(None, text)?;
            }
            let m = m.through_cache();
            let sites = self::sites(run, step, &m)?;
            loads(run, step, (&m, true), &sites)
        }
        done => done,
    }
}

/// Runs a load whose windows are not recorded.
pub(super) fn unrecorded(
    run: &mut Execution<'_, '_>,
    target: usize,
    m: &Measure,
) -> Result<(Outcome, Option<String>), RunError> {
    let sites = [open(run, target, m)?];
    let mut engine = run.ctx.world.engine(run.plan.engine.as_deref(), &m.load, &[target])?;
    let outcomes = measure(engine.as_mut(), m, &sites, run.ctx.cancel, &mut |seen| {
        if let Seen::Progress(progress) = seen {
            run.ctx.watcher.progress(&progress);
        }
        Flow::Continue
    })?;
    run.ended(m, &sites, &outcomes);
    let outcome = outcomes.into_iter().next().unwrap_or_else(|| Outcome::nothing(Ended::Finished));
    let trouble = failure(m, &outcome);
    Ok((outcome, trouble))
}

/// Wakes disks that entered standby since a run was stopped, so that the next load doesn't include the spin-up. A failure here
/// is ignored: it occurs again in the load and is recorded there.
pub(in crate::run) fn wake(run: &mut Execution<'_, '_>) {
    for target in 0..run.plan.targets.len() {
        let on = &run.plan.targets[target];
        let Some(reach) = on.size.filter(|_| on.kind == Kind::BlockDevice && on.rotates()) else { continue };
        // A different offset each time, which is not in the disk's cache.
        let seed = run.done.steps.len() as u64;
        let load = Load::new(Direction::Read, Pattern::Random, MIB, Caching::Direct, seed);
        let rule = Rule::Fixed { bytes: MIB, seconds: None };
        let _ = unrecorded(run, target, &Measure::new("wake", load, rule, reach));
    }
}

fn sites(run: &mut Execution<'_, '_>, step: &Step, m: &Measure) -> Result<Vec<Site>, RunError> {
    step.targets().map(|target| open(run, target, m)).collect()
}

fn open(run: &mut Execution<'_, '_>, target: usize, m: &Measure) -> Result<Site, RunError> {
    let readable = match run.readable.get(&target) {
        Some(readable) => *readable,
        None => run.ctx.world.open(target, &run.plan.targets[target])?,
    };
    run.readable.insert(target, readable);
    Ok(Site { target, extent: m.extent(readable) })
}

fn loads(
    run: &mut Execution<'_, '_>,
    step: &Step,
    (m, instead): (&Measure, bool),
    sites: &[Site],
) -> Result<Troubles, RunError> {
    let on: Vec<usize> = step.targets().collect();
    let mut total = Outcome::nothing(Ended::Finished);
    let mut watch = None;
    loop {
        for &target in on.iter().filter(|_| m.cold) {
            let path = &run.plan.targets[target].path;
            let cooled = run.ctx.world.cool(target, run.ctx.cancel);
            cooled.map_err(|source| RunError::Cool { path: path.clone(), source })?;
        }
        let mut engine = run.ctx.world.engine(run.plan.engine.as_deref(), &m.load, &on)?;
        let outcomes = record(run, step, (m, instead), sites, engine.as_mut(), &mut watch)?;
        run.ended(m, sites, &outcomes);
        let failures = on.iter().zip(&outcomes).filter_map(|(&target, o)| Some((target, failure(m, o)?)));
        let failures: Troubles = failures.collect();
        // The shortest of several targets counts.
        let shortest = outcomes.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        total = shortest.map_or(total.clone(), |outcome| total.and_then(outcome));
        let whole = outcomes.iter().all(|o| o.ended == Ended::Finished) && !run.ctx.cancel.is_set();
        if !whole || !m.runs_again(total.bytes_read + total.bytes_written, total.seconds) {
            run.ctx.log.sync()?;
            if let Some((processors, since)) = watch {
                let did = processors.end(run.ctx.world.sysroot(), run.ctx.world.seconds() - since);
                run.ctx.emit(Event::Processors { step: step.id, did })?;
            }
            return Ok(failures);
        }
    }
}

fn record(
    run: &mut Execution<'_, '_>,
    step: &Step,
    (m, instead): (&Measure, bool),
    sites: &[Site],
    engine: &mut dyn Engine,
    watch: &mut Option<(ProcessorWatch, f64)>,
) -> Result<Vec<Outcome>, RunError> {
    let Execution { plan, ctx, fell, .. } = run;
    let step = step.id;
    let mut info = engine.info();
    // A modelled load has no fio command.
    let real = !info.modelled;
    if watch.is_none() {
        info.modelled |= ctx.inventory.machine.lab.is_some();
        let instead = instead.then(|| Box::new(m.clone()));
        ctx.emit(Event::Step { step, engine: info, at: ctx.world.date(), instead })?;
    }
    let store = ctx.store.to_str().and_then(|s| Target::resolve(ctx.inventory, s).ok());
    ctx.log.quiet(sites.iter().any(|site| shares_drive(store.as_ref(), &plan.targets[site.target])));

    let mut unwritten = Ok(());
    let mut looked = ctx.world.seconds();
    let (processors, _) =
        watch.get_or_insert_with(|| (ProcessorWatch::begin(ctx.world.sysroot()), ctx.world.seconds()));
    let outcomes = measure(engine, m, sites, ctx.cancel, &mut |seen| {
        let event = match seen {
            Seen::Progress(progress) => {
                match progress.cliffs {
                    0 => fell.remove(&(step, progress.target)),
                    _ => fell.insert((step, progress.target)),
                };
                ctx.watcher.progress(&progress);
                if ctx.world.seconds() - looked >= GLANCE {
                    processors.look(ctx.world.sysroot());
                    looked = ctx.world.seconds();
                }
                return Flow::Continue;
            }
            Seen::Window { target, zone, window } => {
                Event::Window { step, target: target as u32, zone, window: window.clone() }
            }
            Seen::Outcome { target, zone, outcome } => {
                let site = sites.iter().find(|s| s.target == target && zone.is_none() && real);
                let again = site.map(|s| again(&plan.targets[target], m, s.extent.length, outcome));
                Event::Outcome { step, target: target as u32, zone, outcome: outcome.clone(), again }
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
}

fn failure(m: &Measure, outcome: &Outcome) -> Option<String> {
    match &outcome.ended {
        Ended::Failed { what, offset, message, .. } => {
            Some(format!("{what} failed at offset {offset} during '{}': {message}", m.label))
        }
        _ => None,
    }
}

fn again(target: &Target, m: &Measure, reach: u64, outcome: &Outcome) -> String {
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
