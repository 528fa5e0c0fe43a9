//! Executes plans on modelled drives in virtual time.

use std::{
    io,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use crate::{
    engine::{Cancel, Clock, Engine, EngineError, EngineInfo, Flow, Job, Outcomes, Watch},
    inventory::{Drive, Inventory},
    plan::{BuildPool, FileWork, Files, Plan, RebuildPool},
    record::{ActResult, Done, Event, How, Log},
    run::{Journal, Move, RunContext, RunError, Wanted, Watcher, World, execute},
    sim::{Board, Model, Sim},
    sysroot::{Archive, Sysroot},
    target::{NotFound, Target},
    tools::{Output, Query, Runner, System, ToolError, ToolResult},
    units::{Caching, Direction, Extent, Load, MIB, Parity, Pattern},
};

/// A machine that exists only as a model. Its drives are the targets of a plan, in their order.
pub struct Modelled {
    sysroot: Sysroot,
    journal: Journal,
    bench: Bench,
    boards: Option<Rc<Boards>>,
}

/// Returns the board for an arrangement, from its number and the moves.
type Boards = dyn Fn(u32, &[Move]) -> Board;

/// The running drives, shared by engines and tools.
#[derive(Debug, Clone)]
struct Bench {
    state: Arc<Mutex<State>>,
    /// The time, outside the state: it is also read while loads run.
    now_ns: Arc<AtomicU64>,
}

#[derive(Debug)]
struct State {
    sim: Sim,
    drives: Vec<Subject>,
    inventory: Inventory,
}

#[derive(Debug)]
struct Subject {
    node: PathBuf,
    model: Model,
    /// The end of its last operation, ns.
    idle_ns: u64,
}

impl Modelled {
    /// The drives of `board` below the targets of `plan`.
    pub fn new(plan: &Plan, board: &Board) -> Result<Self, EngineError> {
        let subject = |(target, model): (&Target, &Model)| Subject {
            node: target.path.clone(),
            model: model.clone(),
            idle_ns: 0,
        };
        let drives = plan.targets.iter().flat_map(|t| &t.drives).cloned().collect();
        let mounts = plan.targets.iter().filter_map(|t| t.mount.clone()).collect();
        let state = State {
            sim: Sim::new(board)?,
            drives: plan.targets.iter().zip(&board.drives).map(subject).collect(),
            inventory: Inventory { drives, mounts, ..Inventory::default() },
        };
        let bench = Bench { state: Arc::new(Mutex::new(state)), now_ns: Arc::default() };
        let sysroot = Sysroot::archive(Archive::default());
        Ok(Self { sysroot, journal: Journal::modelled(), bench, boards: None })
    }

    /// Simulates people who move drives as requested; `boards` returns the board for each arrangement.
    pub fn with_people(self, boards: impl Fn(u32, &[Move]) -> Board + 'static) -> Self {
        Self { boards: Some(Rc::new(boards)), ..self }
    }

    /// Executes the whole plan and returns the events that a record holds after its start.
    pub fn events(plan: &Plan, board: &Board) -> Result<Vec<Event>, EngineError> {
        let mut events = vec![Event::Plan { plan: plan.clone() }];
        Self::new(plan, board)?
            .run(plan, &Done::default(), &mut events, &Cancel::default())
            .map_err(|e| EngineError::Job(e.to_string()))?;
        Ok(events)
    }

    /// Executes a plan except the steps in `done`, as on a real machine, and records into `log`.
    pub fn run(&mut self, plan: &Plan, done: &Done, log: &mut dyn Log, cancel: &Cancel) -> io::Result<How> {
        let watcher = &mut People { bench: self.bench.clone(), boards: self.boards.clone() };
        let (store, inventory) = (Path::new(""), &self.inventory());
        execute(
            plan,
            done,
            &mut RunContext { run: "modelled", world: self, inventory, store, log, watcher, cancel },
        )
    }
}

impl Bench {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }
}

impl World for Modelled {
    fn inventory(&self) -> Inventory {
        self.bench.state().inventory.clone()
    }

    fn find(&self, was: &Target, inventory: &Inventory, _: bool) -> Result<Target, NotFound> {
        let gone = |drive: &Drive| NotFound::Drive(drive.model_and_serial());
        let now = |drive: &Drive| inventory.drive(&drive.identity()).cloned().ok_or_else(|| gone(drive));
        Ok(Target { drives: was.drives.iter().map(now).collect::<Result<_, _>>()?, ..was.clone() })
    }

    fn sysroot(&self) -> &Sysroot {
        &self.sysroot
    }

    fn system(&self) -> Option<&System> {
        None
    }

    fn runner(&self) -> &dyn Runner {
        &self.bench
    }

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn date(&self) -> String {
        humantime::format_rfc3339_seconds(UNIX_EPOCH + self.bench.now()).to_string()
    }

    fn clock(&self) -> Clock {
        Clock::Modelled(Arc::clone(&self.bench.now_ns))
    }

    fn wait(&self, seconds: f64, cancel: &Cancel) {
        if !cancel.is_set() {
            let seconds = cancel.left().map_or(seconds, |left| left.min(seconds));
            self.bench.state().sim.rest(seconds);
            self.bench.now_ns.fetch_add((seconds.max(0.0) * 1e9) as u64, Ordering::Relaxed);
        }
    }

    fn make_scratch(&mut self, _: usize, _: &Target, _: u64, _: &Cancel) -> Result<(), RunError> {
        Ok(())
    }

    fn open(&mut self, _: usize, target: &Target, _: &Cancel) -> Result<u64, RunError> {
        Ok(target.size.unwrap_or(0))
    }

    fn file_start(&self, _: usize) -> Option<u64> {
        Some(0)
    }

    fn cool(&self, _: usize, _: &Cancel) -> io::Result<()> {
        Ok(())
    }

    fn engine(&self, _: Option<&str>, _: &Load, on: &[usize]) -> Result<Box<dyn Engine>, EngineError> {
        Ok(Box::new(Placed { bench: self.bench.clone(), on: on.to_vec() }))
    }

    // A file set is modelled as a load with the same bytes, in blocks of the file size.
    fn files(
        &mut self,
        at: usize,
        _: &Target,
        files: &Files,
        cancel: &Cancel,
    ) -> Result<(ActResult, Option<String>), RunError> {
        let direction = if files.work == FileWork::Read { Direction::Read } else { Direction::Write };
        let block = files.set.size.min(MIB);
        let load = Load::new(direction, Pattern::Sequential, block, Caching::BufferedFsync, 1);
        let bytes = files.set.bytes();
        let job = Job {
            target: 0,
            load,
            extent: Extent { offset: 0, length: bytes },
            begin: 0,
            bytes,
            window: bytes,
        };
        let mut engine = Placed { bench: self.bench.clone(), on: vec![at] };
        let outcomes = engine.run(&[job], cancel, &mut |_, _| Flow::Continue)?;
        let seconds = outcomes.iter().map(|outcome| outcome.seconds).sum();
        let cut_short = cancel.is_set();
        Ok((ActResult { seconds, bytes, files: files.set.files, cut_short, ..ActResult::default() }, None))
    }

    fn parity(&mut self) -> Parity {
        Parity::default()
    }

    /// The model of a pool's target is that of the pool.
    fn build_pool(
        &mut self,
        _: usize,
        target: &Target,
        _: &BuildPool,
        _: &Cancel,
    ) -> Result<(Target, ActResult), RunError> {
        Ok((target.clone(), ActResult::default()))
    }

    fn rebuild_pool(&mut self, _: usize, _: &RebuildPool, _: &Cancel) -> Result<ActResult, RunError> {
        Ok(ActResult::default())
    }

    fn remove_pool(&mut self, _: usize) -> Result<ActResult, RunError> {
        Ok(ActResult::default())
    }

    fn close(&mut self, _: usize) -> Result<(), RunError> {
        Ok(())
    }
}

/// The sim's drives are the plan's targets; an engine is opened over those of one step.
struct Placed {
    bench: Bench,
    on: Vec<usize>,
}

impl Engine for Placed {
    fn info(&self) -> EngineInfo {
        self.bench.state().sim.info()
    }

    fn run(&mut self, jobs: &[Job], cancel: &Cancel, watch: &mut Watch<'_>) -> Outcomes {
        let mut jobs = jobs.to_vec();
        jobs.iter_mut().for_each(|job| job.target = self.on[job.target]);
        let mut state = self.bench.state();
        let outcomes = state.sim.run(&jobs, cancel, watch)?;
        let now = state.sim.now_ns();
        self.bench.now_ns.store(now, Ordering::Relaxed);
        jobs.iter().for_each(|job| state.drives[job.target].idle_ns = now);
        Ok(outcomes)
    }
}

/// hdparm behind a bridge that refuses standby commands but reports the power state.
impl Runner for Bench {
    fn ask(&self, query: &Query) -> ToolResult {
        let state = self.state();
        let named = |drive: &&Subject| query.args().iter().any(|arg| drive.node == Path::new(arg));
        let Some(drive) = state.drives.iter().find(named) else {
            return Err(ToolError::Unrecorded(query.to_string()));
        };
        if query.args().iter().any(|arg| arg == "-y") {
            let stderr = "SG_IO: bad/missing sense data, sb[]:  70 00 05 00".to_owned();
            return Ok(Output { code: Some(0), stderr, ..Output::default() });
        }
        let idle = self.now().as_secs_f64() - Duration::from_nanos(drive.idle_ns).as_secs_f64();
        let asleep = drive.model.standby.is_some_and(|standby| idle >= standby.after_seconds);
        let power = if asleep { "standby" } else { "active/idle" };
        Ok(Output { code: Some(0), stdout: format!(" drive state is:  {power}\n"), ..Output::default() })
    }

    fn stream(&self, query: &Query, _: &dyn Fn() -> bool, _: &mut dyn FnMut(&str)) -> ToolResult {
        self.ask(query)
    }
}

/// Simulates people who move drives as requested.
struct People {
    bench: Bench,
    boards: Option<Rc<Boards>>,
}

impl Watcher for People {
    fn arrange(&mut self, wanted: &Wanted) {
        let mut state = self.bench.state();
        for one in &wanted.moves {
            let is = |drive: &&mut Drive| drive.identity() == one.identity;
            if let Some(drive) = state.inventory.drives.iter_mut().find(is) {
                let bus = drive.controller.iter().find_map(|bus| one.to_bay.strip_prefix(bus.as_str()));
                let bay = bus.map_or(one.to_bay.as_str(), |bay| bay.trim_start_matches('-'));
                drive.bay = Some(bay.to_owned());
            }
        }
        let board = self.boards.as_ref().map(|boards| boards(wanted.number, &wanted.moves));
        if let Some(Ok(mut sim)) = board.map(|board| Sim::new(&board)) {
            sim.rest(self.bench.now().as_secs_f64());
            state.sim = sim;
        }
    }
}
