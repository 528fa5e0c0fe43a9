//! Shared parts of engines with threads: jobs start at the same time, windows are passed to the caller's thread, and
//! threads that hang in the kernel are abandoned on cancellation.

use std::{
    fs::File,
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use crate::units::{Caching, Load, Window};

use super::{
    Cancel, Ended, EngineError, FileTarget, Flow, Job, Outcome, Outcomes, Watch,
    op_sequence::{Op, OpSequence},
    pulse::Pulse,
    verify::LastWrites,
    windows::{Batch, Collector, Recorder},
    write_back,
};

/// How long cancelled jobs may take to end.
const GRACE: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(20);
/// The maximum number of queued batches; beyond it the load waits for the watcher.
const IN_FLIGHT: usize = 64;
/// The stack size of workers: they need little, and there may be 256 of them.
const STACK: usize = 128 << 10;

enum WorkerEvent {
    Ready,
    Refused(EngineError),
    Batch(usize, Batch),
    Ended,
}

#[derive(Default)]
struct Gate {
    /// Announces the common start of all jobs, or that there will be none.
    opened: Mutex<Option<Option<Instant>>>,
    changed: Condvar,
}

impl Gate {
    fn open(&self, start: Option<Instant>) {
        *lock(&self.opened) = Some(start);
        self.changed.notify_all();
    }

    fn wait(&self) -> Option<Instant> {
        let opened = self.changed.wait_while(lock(&self.opened), |opened| opened.is_none());
        opened.unwrap_or_else(PoisonError::into_inner).flatten()
    }
}

/// Locks even after a panic of a worker: recorded progress is always consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts from the common start of all jobs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn now(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// A running job: the state that its workers and the caller share.
pub(super) struct Lane {
    index: usize,
    pub(super) file: Arc<File>,
    pub(super) writes: Arc<LastWrites>,
    pub(super) load: Load,
    stop: AtomicBool,
    cancelled: AtomicBool,
    progress: Mutex<JobState>,
    gate: Arc<Gate>,
    events: SyncSender<WorkerEvent>,
    cancel: Cancel,
}

pub(super) struct JobState {
    cursor: OpSequence,
    recorder: Recorder,
    failure: Option<Ended>,
    workers: usize,
    ended: bool,
    fsync_ns: u64,
}

impl Lane {
    /// Reports that this worker is ready and waits for the start; `None` if there will be none.
    pub(super) fn ready(&self) -> Option<Clock> {
        let _ = self.events.send(WorkerEvent::Ready);
        self.gate.wait().map(Clock)
    }

    pub(super) fn refuse(&self, error: EngineError) {
        let _ = self.events.send(WorkerEvent::Refused(error));
    }

    pub(super) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn progress(&self) -> Turn<'_> {
        Turn { lane: self, progress: lock(&self.progress) }
    }

    /// A worker has finished. The last one ends the job.
    fn leave(&self, clock: Clock) {
        let (fsync, cancelled) = {
            let mut progress = lock(&self.progress);
            progress.workers -= 1;
            if progress.workers > 0 {
                return;
            }
            let writes = self.load.caching == Caching::BufferedFsync && self.load.writes();
            (writes && progress.failure.is_none(), self.cancelled.load(Ordering::Relaxed))
        };
        let (mut end, mut is_whole) = (None, !(fsync && cancelled));
        if fsync && !cancelled {
            let before = clock.now();
            let done = write_back::sync(&self.file, || {
                lock(&self.progress).fsync_ns = clock.now() - before;
                self.cancel.is_over()
            });
            end = Some(clock.now());
            let mut turn = self.progress();
            turn.progress.fsync_ns = clock.now() - before;
            match done {
                Ok(all) => is_whole = all,
                Err(e) => turn.failed("fsync", 0, &e, clock.now()),
            }
        }
        let last = if is_whole {
            let mut progress = lock(&self.progress);
            progress.ended = true;
            progress.recorder.finish(end)
        } else {
            // The last window would lack what is still to be written.
            self.cut_off();
            None
        };
        if let Some(batch) = last {
            let _ = self.events.send(WorkerEvent::Batch(self.index, batch));
        }
        let _ = self.events.send(WorkerEvent::Ended);
    }

    /// It is abandoned if it has not ended.
    fn cut_off(&self) {
        if !lock(&self.progress).ended {
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }

    fn outcome(&self) -> Outcome {
        let progress = lock(&self.progress);
        let moved = progress.recorder.moved();
        let ended = match &progress.failure {
            Some(failure) => failure.clone(),
            None if moved.ended == Ended::Finished && progress.ended => Ended::Finished,
            None if self.cancelled.load(Ordering::Relaxed) => Ended::Cancelled,
            None => Ended::Stopped,
        };
        let fsync_seconds = progress.fsync_ns as f64 / 1e9;
        // The recorder counts what was brought to the drive only at its end.
        let seconds = if progress.ended { moved.seconds } else { moved.seconds + fsync_seconds };
        Outcome { ended, seconds, fsync_seconds, ..moved }
    }
}

/// Exclusive access to a lane's progress, for a few nanoseconds.
pub(super) struct Turn<'a> {
    lane: &'a Lane,
    progress: MutexGuard<'a, JobState>,
}

impl Turn<'_> {
    pub(super) fn begin(&mut self, now: u64) {
        self.progress.recorder.begin(now);
    }

    /// The next operation, unless the job is ending.
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.lane.stopping() { None } else { self.progress.cursor.next() }
    }

    /// `op` completed at `now` after `latency` ns. Returns whether the clock should be read again.
    pub(super) fn done(&mut self, op: Op, latency: u64, now: u64) -> bool {
        let full = self.progress.recorder.done(now, latency, self.lane.load.block, op.read);
        full.map(|batch| drop(self.lane.events.send(WorkerEvent::Batch(self.lane.index, batch)))).is_some()
    }

    /// An operation failed: the job submits nothing more. Only the first failure is kept.
    pub(super) fn failed(&mut self, what: &str, offset: u64, error: &io::Error, now: u64) {
        self.lane.stop.store(true, Ordering::Relaxed);
        self.progress.recorder.failed(now);
        self.progress.failure.get_or_insert_with(|| Ended::Failed {
            what: what.to_owned(),
            offset,
            errno: error.raw_os_error(),
            message: match error.raw_os_error() {
                // Without "(os error N)", which `errno` says.
                Some(errno) => error.to_string().replace(&format!(" (os error {errno})"), ""),
                None => error.to_string(),
            },
        });
    }
}

/// A worker thread: prepares, waits for the start, performs operations.
pub(super) type Worker = Box<dyn FnOnce(&Lane) -> Option<Clock> + Send>;

/// Runs jobs, each with the workers that `staff` returns.
pub(super) fn run(
    jobs: &[Job],
    targets: &[FileTarget],
    cancel: &Cancel,
    watch: &mut Watch<'_>,
    mut staff: impl FnMut(&Job) -> Vec<Worker>,
) -> Outcomes {
    let (events, inbox) = sync_channel(IN_FLIGHT);
    let gate = Arc::new(Gate::default());
    let mut lanes = Vec::new();
    let mut workers = Vec::new();
    let Some(files) = prepare(jobs, targets, cancel)? else {
        return Ok(vec![Outcome::nothing(Ended::Cancelled); jobs.len()]);
    };
    for ((index, job), file) in jobs.iter().enumerate().zip(files) {
        let staff = staff(job);
        let progress = JobState {
            cursor: OpSequence::new(job),
            recorder: Recorder::new(job),
            failure: None,
            workers: staff.len(),
            ended: false,
            fsync_ns: 0,
        };
        let lane = Arc::new(Lane {
            index,
            file,
            writes: targets[job.target].writes.clone(),
            load: job.load.clone(),
            stop: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            progress: Mutex::new(progress),
            gate: gate.clone(),
            events: events.clone(),
            cancel: cancel.clone(),
        });
        workers.extend(staff.into_iter().map(|worker| (lane.clone(), worker)));
        lanes.push(lane);
    }
    let waiting = workers.len();
    let start = |(lane, worker): (Arc<Lane>, Worker)| {
        let work = move || worker(&lane).map_or((), |clock| lane.leave(clock));
        thread::Builder::new().stack_size(STACK).spawn(work)
    };
    let threads: Vec<_> = workers.into_iter().map(start).collect::<Result<_, _>>().map_err(|source| {
        gate.open(None);
        EngineError::System { what: "starting an I/O thread".to_owned(), source }
    })?;
    for _ in 0..waiting {
        if let Ok(WorkerEvent::Refused(error)) = inbox.recv() {
            gate.open(None);
            return Err(error);
        }
    }
    let start = Instant::now();
    let pulse = Pulse::since(start);
    gate.open(Some(start));

    let collectors = jobs.iter().map(Collector::new).collect();
    let mut session = Session { lanes, collectors, pulse, stopped: vec![false; jobs.len()], ended: 0 };
    session.listen(&inbox, cancel, watch);
    // Close the channel: a hanging worker must not block in a send while it holds the progress lock, which `outcome` takes.
    drop(inbox);
    if session.ended == session.lanes.len() {
        // They have finished, and must not keep files open that the caller closes.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
    Ok(session.lanes.iter().map(|lane| lane.outcome()).collect())
}

/// Checks the jobs against their targets, probes these with I/O, and returns the jobs' files; `None` if cancelled. A
/// probe may hang, so it runs on a thread that is then abandoned.
pub(super) fn prepare(
    jobs: &[Job],
    targets: &[FileTarget],
    cancel: &Cancel,
) -> Result<Option<Vec<Arc<File>>>, EngineError> {
    let direct = |job: &Job| job.load.caching == Caching::Direct;
    let mut pairs = Vec::new();
    for job in jobs {
        let target = targets
            .get(job.target)
            .ok_or_else(|| EngineError::Job(format!("there is no target {}", job.target)))?;
        if jobs.iter().any(|other| other.target == job.target && direct(other) != direct(job)) {
            return Err(EngineError::Job(format!("{} can't be direct and buffered at once", target.name)));
        }
        pairs.push((target.clone(), job.clone()));
    }
    let (done, wait) = sync_channel(1);
    let probe = |(target, job): (FileTarget, Job)| target.prepare(&job).map(|()| target.file);
    let probing = thread::Builder::new().spawn(move || done.send(pairs.into_iter().map(probe).collect()));
    probing.map_err(|source| EngineError::System { what: "starting an I/O thread".to_owned(), source })?;
    loop {
        match wait.recv_timeout(LOOK) {
            Ok(files) => return Result::map(files, Some),
            Err(_) if cancel.is_set() => return Ok(None),
            Err(_) => {}
        }
    }
}

/// The running jobs, as seen by the caller's thread.
struct Session {
    lanes: Vec<Arc<Lane>>,
    collectors: Vec<Collector>,
    pulse: Pulse,
    /// Stopped jobs pass on no more windows.
    stopped: Vec<bool>,
    ended: usize,
}

impl Session {
    /// Passes on windows until all jobs have ended, or the grace period after cancellation or the deadline is over.
    fn listen(&mut self, inbox: &Receiver<WorkerEvent>, cancel: &Cancel, watch: &mut Watch<'_>) {
        // When it was set, and whether a person did.
        let mut set: Option<(Instant, bool)> = None;
        while self.ended < self.lanes.len() {
            let asked = cancel.is_asked();
            if cancel.is_set() && set.is_none_or(|(_, before)| asked && !before) {
                set = Some((Instant::now(), asked));
                // Not under the progress lock: a worker may hold it while it waits for this thread to take its batch.
                for lane in &self.lanes {
                    let running = !lane.stop.swap(true, Ordering::Relaxed);
                    lane.cancelled.store(asked && running, Ordering::Relaxed);
                }
                if asked {
                    self.stopped.fill(true);
                }
            }
            let left =
                set.map(|(at, _)| (at + cancel.grace(GRACE)).saturating_duration_since(Instant::now()));
            match inbox.recv_timeout(left.map_or(LOOK, |left| left.min(LOOK))) {
                Ok(WorkerEvent::Batch(index, batch)) => self.show(index, batch, watch),
                Ok(WorkerEvent::Ended) => self.ended += 1,
                Ok(WorkerEvent::Ready | WorkerEvent::Refused(_)) => {}
                Err(RecvTimeoutError::Timeout) if left.is_none_or(|left| !left.is_zero()) => {}
                Err(_) => break,
            }
        }
        if set.is_some() {
            self.lanes.iter().for_each(|lane| lane.cut_off());
        }
    }

    fn show(&mut self, index: usize, batch: Batch, watch: &mut Watch<'_>) {
        let window = self.collectors[index].take(batch).map(|window| {
            // What was in flight in a gap may complete after it.
            let from = window.from_ns.saturating_sub(window.latency.max().unwrap_or(0));
            Window { suspended_ns: self.pulse.missed(from, window.to_ns), ..window }
        });
        let shown = window.filter(|_| !self.stopped[index]).map(|window| watch(index, &window));
        if shown == Some(Flow::Stop) {
            self.stopped[index] = true;
            self.lanes[index].stop.store(true, Ordering::Relaxed);
        }
    }
}
