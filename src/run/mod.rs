//! Carries a plan out step by step, appends to the record, and undoes what it set up on any exit.

mod lock;
mod measure;
mod move_drives;
mod open_targets;
mod scratch;
mod scratch_dir;
mod standby;
mod tasks;
mod zones;

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

pub use lock::{Lock, LockError};
pub use measure::{Progress, Seen, Site, measure};
pub use move_drives::{Move, Wanted, movable};
pub use scratch::{Swept, sweep, sweep_directory};

use crate::{
    conditions::{BytesMoved, Preflight, ProcessorWatch, Snapshot},
    engine::{self, Cancel, EngineError, Flow},
    inventory::{Drive, Inventory},
    plan::{Errand, Measure, Plan, Rule, Step, Task},
    record::{Event, How, When, Writer},
    sysroot::Sysroot,
    target::{Kind, Target},
    tools::ToolError,
    units::{Direction, Ended, Load, Outcome, Pattern, percent, size},
};

/// Why a step can't be done. What was measured before stands.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No file can be made for the loads.
    #[error("no file of {} can be made in {dir}: {source}", size(*.bytes), dir = dir.display())]
    Scratch {
        /// The directory.
        dir: PathBuf,
        /// The size that was to be reserved.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// No directory can be made for files of our own.
    #[error("no directory for files can be made in {dir}: {source}", dir = dir.display())]
    Folder {
        /// The directory that was to hold it.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The target can't be opened.
    #[error("{path} can't be opened: {source}", path = path.display())]
    Open {
        /// The file or device.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What was written can't be brought to the drive.
    #[error("{path} can't be synced before it is read: {source}", path = path.display())]
    Cool {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file made for the loads is still there.
    #[error(
        "{path} is left ({source}); the next start of drivebench removes it, or rm -r {path}",
        path = path.display()
    )]
    Leftover {
        /// What is left.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The drive can't be moved while the machine runs.
    #[error("{drive} can't be moved: {why}")]
    Stays {
        /// The drive.
        drive: String,
        /// What holds it.
        why: String,
    },
    /// Nothing to read: the load before wrote nothing.
    #[error("nothing was written that could be read back")]
    NothingWritten,
    /// Another program can't be asked.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Only root may talk to a drive past the kernel.
    #[error(
        "only root may send {0} to standby and ask whether it sleeps, which a user who may read it may not: \
         call it with sudo"
    )]
    NotRoot(String),
    /// What is recorded would wake the drive.
    #[error(
        "the results are kept on {0} itself, and every line of them would wake it: keep them on another drive, \
         with --store DIR"
    )]
    StoreWakes(String),
    /// The record can't be written on, so no result would be kept.
    #[error("the record can't be written: {0}")]
    Record(#[from] io::Error),
}

/// Sees what happens while it happens.
pub trait Watcher {
    /// A line of the record.
    fn event(&mut self, event: &Event);
    /// An errand begins.
    fn errand(&mut self, errand: &Errand);
    /// Drives must be moved before the plan goes on; called again whenever what is wanted changes.
    fn arrange(&mut self, wanted: &Wanted);
    /// How far a load has come; after each window.
    fn progress(&mut self, progress: &Progress<'_>);
}

/// What a plan is carried out with.
pub struct RunContext<'a> {
    /// What is here.
    pub inventory: &'a Inventory,
    /// Where the machine is looked at while it works.
    pub sysroot: &'a Sysroot,
    /// The run's name.
    pub run: &'a str,
    /// The store's directory, for what must be cleaned up after a crash.
    pub store: &'a Path,
    /// The record.
    pub writer: &'a mut Writer,
    /// Who looks on.
    pub watcher: &'a mut dyn Watcher,
    /// Asks to stop.
    pub cancel: &'a Cancel,
}

impl RunContext<'_> {
    /// Appends an event to the record and shows it.
    pub fn emit(&mut self, event: Event) -> io::Result<()> {
        self.writer.append(&event)?;
        self.watcher.event(&event);
        Ok(())
    }
}

/// Carries a plan out but for what is `done` already. The record gets everything but its end, which the caller adds.
///
/// A target that fails is left alone from then on; the others are still measured.
///
/// # Errors
/// Only where the record can't be written on: then nothing more is measured.
pub fn execute(planned: &Plan, done: &BTreeSet<usize>, setting: &mut RunContext<'_>) -> io::Result<How> {
    // Targets move and are called otherwise after a reboot: this copy tells where they are now.
    let mut plan = planned.clone();
    let moves = plan.arrangements().next().is_some();
    if moves || !done.is_empty() {
        plan.targets
            .iter_mut()
            .for_each(|t| *t = t.relocate(setting.inventory).unwrap_or_else(|_| t.clone()));
    }
    let mut files = open_targets::Files::new(plan.targets.len(), setting.store, setting.run);
    let mut failed: Vec<(usize, String)> = Vec::new();
    let mut noted: Vec<String> = Vec::new();
    let before = look_before(&plan, setting)?;
    let mut arrangement = None;
    for (at, step) in plan.steps.clone().iter().enumerate() {
        if setting.cancel.is_set() {
            break;
        }
        if let Step::Arrange(a) = step {
            arrangement = Some(a);
        }
        if done.contains(&at) {
            continue;
        }
        // Drives may be moved at any time, so each load looks where they are; nobody is asked to move any after a
        // failure, as what is compared is not whole any more.
        if let (Some(wanted), Step::Arrange(_) | Step::Scratch { .. } | Step::Measure(_)) =
            (arrangement, step)
        {
            let asks = matches!(step, Step::Arrange(_));
            if asks && !failed.is_empty() {
                break;
            }
            if !move_drives::settle((planned, &mut plan), wanted, asks.then_some(at), &mut files, setting)? {
                break;
            }
        }
        let touched = match step {
            Step::Scratch { target, .. } => std::slice::from_ref(target),
            Step::Measure(m) => &m.targets[..],
            Step::Errand(e) => std::slice::from_ref(&e.target),
            Step::Arrange(_) => &[],
        };
        if touched.iter().any(|t| failed.iter().any(|(f, _)| f == t)) {
            continue;
        }
        if plan.needs_cliff(at) && !touched.iter().all(|&target| files.fell(target)) {
            continue;
        }
        let done = match step {
            Step::Arrange(_) => Ok(Vec::new()),
            Step::Scratch { target, bytes } => scratch(&plan, *target, *bytes, &mut files, setting),
            Step::Errand(e) => errand(&plan, at, e, &mut files, setting),
            Step::Measure(m) => loads(&plan, at, (m, false), &mut files, setting).or_else(|e| match e {
                RunError::Engine(e @ EngineError::NoDirect(_)) => {
                    let text = format!("{e}: measured through the page cache instead, as '{}'.", m.label);
                    if !noted.contains(&text) {
                        setting.emit(Event::Note { target: None, text: text.clone() })?;
                        noted.push(text);
                    }
                    loads(&plan, at, (&m.through_cache(), true), &mut files, setting)
                }
                e => Err(e),
            }),
        };
        match done {
            Ok(troubles) => failed.extend(troubles),
            Err(RunError::Record(e)) => return Err(e),
            Err(e) => failed.extend(touched.iter().map(|&t| (t, e.to_string()))),
        }
    }
    // Counters of drives that were moved began anew.
    if !moves {
        look_after(&plan, &before, files.moved(), setting)?;
    }
    for at in 0..plan.targets.len() {
        if let Err(e) = files.close(at) {
            failed.push((at, e.to_string()));
        }
    }
    for (target, text) in &failed {
        setting.emit(Event::Note { target: Some(*target), text: format!("{text}.") })?;
    }
    Ok(match failed.into_iter().next() {
        _ if setting.cancel.is_set() => How::Interrupted,
        Some((target, text)) => How::Failed(format!("{}: {text}", plan.targets[target].label())),
        None => How::Finished,
    })
}

/// How often threads are asked while loads run what they have waited: seldom, as looking takes time, too.
const GLANCE: Duration = Duration::from_millis(500);

/// What went wrong on which target, where the step itself could be done.
type Troubles = Vec<(usize, String)>;

fn scratch(
    plan: &Plan,
    target: usize,
    bytes: u64,
    files: &mut open_targets::Files,
    setting: &mut RunContext<'_>,
) -> Result<Troubles, RunError> {
    let path = files.make(target, &plan.targets[target], bytes)?;
    setting.emit(Event::Scratch { target, path, bytes })?;
    Ok(Vec::new())
}

fn errand(
    plan: &Plan,
    step: usize,
    errand: &Errand,
    files: &mut open_targets::Files,
    setting: &mut RunContext<'_>,
) -> Result<Troubles, RunError> {
    setting.watcher.errand(errand);
    let target = errand.target;
    let (took, trouble) = tasks::run(errand, &plan.targets[target], files, setting)?;
    match errand.task {
        Task::WriteFiles { .. } => files.add(target, BytesMoved { written: took.bytes, read: 0 }),
        Task::ReadFiles { .. } => files.add(target, BytesMoved { written: 0, read: took.bytes }),
        Task::Pause { .. } | Task::Standby { .. } => {}
    }
    setting.emit(Event::Errand { step, target, took })?;
    Ok(trouble.map(|text| (target, text)).into_iter().collect())
}

fn loads(
    plan: &Plan,
    step: usize,
    (m, instead): (&Measure, bool),
    files: &mut open_targets::Files,
    setting: &mut RunContext<'_>,
) -> Result<Troubles, RunError> {
    let mut opened = Vec::new();
    let mut sites = Vec::new();
    for &target in &m.targets {
        let (file, readable) = files.open(target, &plan.targets[target])?;
        let site = Site::of(m, target, readable);
        if matches!(m.rule, Rule::Again { .. }) && site.length < m.load.block {
            let text = "No room was left to write once more after the pause.".to_owned();
            setting.emit(Event::Note { target: Some(target), text })?;
            return Ok(Vec::new());
        }
        if site.length < m.load.block {
            return Err(RunError::NothingWritten);
        }
        if m.cold {
            let path = &plan.targets[target].path;
            files
                .cool(target, setting.cancel)
                .map_err(|source| RunError::Cool { path: path.clone(), source })?;
        }
        sites.push(site);
        opened.push(file);
    }
    let mut engine = engine::open(plan.engine.as_deref(), &m.load, opened)?;
    let instead = instead.then(|| Box::new(m.clone()));
    let mut info = engine.info();
    info.modelled |= setting.inventory.machine.lab.is_some();
    setting.emit(Event::Step { step, engine: info, at: now(), instead })?;
    let store = setting.store.to_str().and_then(|s| Target::resolve(setting.inventory, s).ok());
    setting.writer.quiet(m.targets.iter().any(|&t| shares_drive(store.as_ref(), &plan.targets[t])));

    let mut unwritten = Ok(());
    let mut fell = vec![false; plan.targets.len()];
    let (cancel, sysroot) = (setting.cancel, setting.sysroot);
    let (since, mut looked) = (Instant::now(), Instant::now());
    let mut processors = ProcessorWatch::begin(sysroot);
    let outcomes = measure(engine.as_mut(), m, &sites, cancel, &mut |seen| {
        let event = match seen {
            Seen::Progress(progress) => {
                fell[progress.target] = progress.cliffs > 0;
                setting.watcher.progress(&progress);
                if looked.elapsed() >= GLANCE {
                    processors.look(sysroot);
                    looked = Instant::now();
                }
                return Flow::Continue;
            }
            Seen::Window { target, zone, window } => {
                Event::Window { step, target, zone, window: window.clone() }
            }
            Seen::Outcome { target, zone, outcome } => {
                let site = sites.iter().find(|s| s.target == target && zone.is_none());
                let again = site.map(|s| again(&plan.targets[target], &m.load, s.length, outcome));
                Event::Outcome { step, target, zone, outcome: outcome.clone(), again }
            }
        };
        if unwritten.is_ok() {
            unwritten = setting.emit(event);
        }
        if unwritten.is_ok() { Flow::Continue } else { Flow::Stop }
    });
    let did = processors.end(sysroot, since.elapsed().as_secs_f64());
    setting.writer.quiet(false);
    unwritten?;
    setting.writer.sync()?;
    let outcomes = outcomes?;
    setting.emit(Event::Processors { step, did })?;
    for (site, outcome) in sites.iter().zip(&outcomes) {
        files.account(site.target, outcome, written_from_start(m, site, outcome));
        files.note_cliff(site.target, fell[site.target]);
    }
    let failures = sites.iter().zip(&outcomes).filter_map(|(site, outcome)| match &outcome.ended {
        Ended::Failed { what, offset, message, .. } => {
            let text = format!("{what} failed at offset {offset} during '{}': {message}", m.label);
            Some((site.target, text))
        }
        _ => None,
    });
    Ok(failures.collect())
}

/// How far a load filled its target from the start without gaps.
fn written_from_start(m: &Measure, site: &Site, outcome: &Outcome) -> u64 {
    let gapless = m.load.pattern == Pattern::Sequential && m.load.direction == Direction::Write;
    let whole = site.length / m.load.block * m.load.block;
    if gapless { site.offset + outcome.bytes_written.min(whole) } else { 0 }
}

/// The command that repeats a load with fio.
fn again(target: &Target, load: &Load, reach: u64, outcome: &Outcome) -> String {
    let path = match target.kind {
        Kind::Directory => target.path.join("testfile"),
        Kind::File | Kind::BlockDevice => target.path.clone(),
    };
    engine::fio_command_line(load, &path, reach, outcome.bytes_read + outcome.bytes_written)
}

/// How long the machine is watched before the first load, to see what else it does.
const WATCH: Duration = Duration::from_secs(1);

/// Looks at the conditions before the first load and records them.
fn look_before(plan: &Plan, setting: &mut RunContext<'_>) -> io::Result<Snapshot> {
    let earlier = snapshot(plan, setting);
    let since = Instant::now();
    while since.elapsed() < WATCH && !setting.cancel.is_set() {
        std::thread::sleep(WATCH / 20);
    }
    let now = snapshot(plan, setting);
    for (target, on) in plan.targets.iter().enumerate() {
        if let Some(share) = open_targets::filled_share(&on.path).filter(|share| *share < 0.99) {
            let (path, share) = (on.path.display(), percent(1.0 - share));
            let text = format!("{share} of {path} are holes, which read faster than any drive.");
            setting.emit(Event::Note { target: Some(target), text })?;
        }
        let checks = Preflight::before(setting.inventory, on, &earlier, &now).checks;
        setting.emit(Event::Preflight { target, when: When::Before, checks })?;
    }
    Ok(snapshot(plan, setting))
}

/// Looks at what changed while the loads ran and records it.
fn look_after(
    plan: &Plan,
    before: &Snapshot,
    moved: &[BytesMoved],
    setting: &mut RunContext<'_>,
) -> io::Result<()> {
    let now = snapshot(plan, setting);
    for (target, on) in plan.targets.iter().enumerate() {
        let shares =
            |other: &Target| other.drives.iter().any(|d| on.drives.iter().any(|mine| mine.name == d.name));
        let together = plan.targets.iter().zip(moved).enumerate();
        let together = together.filter(|(at, (other, _))| *at == target || shares(other));
        let sum = together.fold(BytesMoved::default(), |sum, (_, (_, m))| BytesMoved {
            read: sum.read + m.read,
            written: sum.written + m.written,
        });
        let checks = Preflight::after(setting.inventory, on, before, &now, sum).checks;
        setting.emit(Event::Preflight { target, when: When::After, checks })?;
    }
    Ok(())
}

fn snapshot(plan: &Plan, setting: &RunContext<'_>) -> Snapshot {
    let mut drives: Vec<&Drive> = plan.targets.iter().flat_map(|t| &t.drives).collect();
    drives.sort_by(|a, b| a.name.cmp(&b.name));
    drives.dedup_by(|a, b| a.name == b.name);
    Snapshot::take(setting.sysroot, drives)
}

/// Whether the store is on a drive of the target; where that can't be told, it is taken to be.
fn shares_drive(store: Option<&Target>, target: &Target) -> bool {
    let Some(store) = store.filter(|s| !s.drives.is_empty()) else { return true };
    let same = |d: &Drive| target.drives.iter().any(|t| t.identity() == d.identity());
    target.drives.is_empty() || store.drives.iter().any(same)
}

/// The time now, as RFC 3339 in UTC.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
