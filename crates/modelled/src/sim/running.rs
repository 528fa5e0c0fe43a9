//! A running job: its next operations, its totals, its windows.

use rand::Rng;

use super::{
    drive::{DriveOp, Fault, OpTiming},
    queue::{EventQueue, SubmittedOp},
    random::{Random, seeded},
};
use crate::engine::{Ended, EngineError, Flow, Job, Outcome, WINDOW_PILOT, WINDOW_SECONDS};
use crate::units::{Caching, Direction, Histogram, Pattern, SlowOp, Window};

/// How many operations are needed before the next can count as slow.
const ENOUGH: usize = 200;

#[derive(Debug)]
pub(super) struct Running<'a> {
    job: &'a Job,
    random: Random,
    blocks: u64,
    submitted: u64,
    in_flight: u32,
    start_ns: u64,
    last_ns: u64,
    outcome: Outcome,
    ended: Option<Ended>,
    windows: Windows,
}

/// What direct operations begin with, bytes.
const SECTOR: u64 = 512;

impl<'a> Running<'a> {
    pub fn new(job: &'a Job, targets: usize, start_ns: u64) -> Result<Self, EngineError> {
        let load = &job.load;
        load.check()?;
        let refuse = |why: String| Err(EngineError::Job(why));
        if job.target >= targets {
            return refuse(format!("there is no target {}", job.target));
        }
        if load.caching == Caching::Direct && job.extent.offset % SECTOR != 0 {
            return refuse(format!("offset {} is no multiple of {SECTOR}", job.extent.offset));
        }
        let blocks = job.extent.length / load.block;
        if blocks == 0 && job.bytes > 0 {
            return refuse(format!("no block of {} bytes fits into {} bytes", load.block, job.extent.length));
        }
        Ok(Self {
            job,
            random: seeded(load.seed.wrapping_add(job.begin), 1),
            blocks,
            submitted: 0,
            in_flight: 0,
            start_ns,
            last_ns: start_ns,
            outcome: Outcome::nothing(Ended::Finished),
            ended: None,
            windows: Windows { size: job.window.max(1), ..Windows::default() },
        })
    }

    pub fn target(&self) -> usize {
        self.job.target
    }

    pub fn submit(&mut self, queue: &mut EventQueue, number: usize) {
        let load = &self.job.load;
        while self.ended.is_none()
            && self.in_flight < load.depth
            && self.submitted < self.job.bytes.div_ceil(load.block)
        {
            let block = match load.pattern {
                Pattern::Sequential => (self.job.begin / load.block + self.submitted) % self.blocks,
                Pattern::Random => self.random.random_range(0..self.blocks),
            };
            let write = match load.direction {
                Direction::Read => false,
                Direction::Write => true,
                Direction::Mixed { read_percent } => self.random.random_range(0..100) >= read_percent,
            };
            let offset = self.job.extent.offset.saturating_add(block * load.block);
            let op = DriveOp { write, offset, length: load.block };
            queue.ask(self.job.target, SubmittedOp { job: number, submit_ns: queue.now_ns, op });
            self.submitted += 1;
            self.in_flight += 1;
        }
    }

    /// `faithful` says whether it reads back correct data.
    pub fn complete(
        &mut self,
        asked: &SubmittedOp,
        done: &OpTiming,
        now_ns: u64,
        faithful: bool,
        watch: &mut dyn FnMut(&Window) -> Flow,
    ) {
        self.in_flight -= 1;
        self.last_ns = now_ns;
        let failure = failure(asked.op, done.fault, faithful || !self.job.load.verify);
        let totals = &mut self.outcome;
        if failure.is_some() {
            self.windows.current.errors += 1;
        } else {
            totals.ops += 1;
            let moved = if asked.op.write { &mut totals.bytes_written } else { &mut totals.bytes_read };
            *moved += asked.op.length;
            let mixed = matches!(self.job.load.direction, Direction::Mixed { .. });
            self.windows.add(asked.op, now_ns - asked.submit_ns, mixed);
        }
        if self.ended.is_some() {
            return;
        }
        let all = totals.bytes_read + totals.bytes_written >= self.job.bytes;
        let ended = failure.or(all.then_some(Ended::Finished));
        if self.windows.current.bytes >= self.windows.size || ended.is_some() {
            let flow = watch(&self.windows.close(now_ns - self.start_ns));
            self.ended = ended.or((flow == Flow::Stop).then_some(Ended::Stopped));
        }
    }

    /// Submits nothing more.
    pub fn stop(&mut self) {
        self.ended.get_or_insert(Ended::Stopped);
    }

    /// Ends it with operations in flight.
    pub fn cut_off(&mut self) {
        if self.in_flight > 0 {
            self.ended = Some(Ended::Cancelled);
        }
    }

    pub fn finish(mut self, flush_seconds: f64) -> Outcome {
        let flush = self.job.load.caching == Caching::BufferedFsync && self.outcome.bytes_written > 0;
        self.outcome.fsync_seconds = if flush { flush_seconds } else { 0.0 };
        self.outcome.seconds = (self.last_ns - self.start_ns) as f64 / 1e9 + self.outcome.fsync_seconds;
        // A job without bytes has nothing to complete. Any other job without an end was cancelled.
        let without_end = if self.job.bytes == 0 { Ended::Finished } else { Ended::Cancelled };
        self.outcome.ended = self.ended.unwrap_or(without_end);
        self.outcome
    }
}

fn failure(op: DriveOp, fault: Option<Fault>, sound: bool) -> Option<Ended> {
    let direction = if op.write { "write" } else { "read" };
    let failed = |what: &str, errno, message: &str| {
        Some(Ended::Failed { what: what.to_owned(), offset: op.offset, errno, message: message.to_owned() })
    };
    match fault {
        Some(Fault::Medium) => failed(direction, Some(5), "Input/output error"),
        Some(Fault::Capacity) if op.write => failed(direction, Some(28), "No space left on device"),
        Some(Fault::Capacity) => failed(direction, None, "the target ends here"),
        None if !op.write && !sound => failed("verify", None, "the block does not hold what was written"),
        None => None,
    }
}

#[derive(Debug, Default)]
struct Windows {
    current: Window,
    latencies: Vec<u64>,
    reads: Option<Vec<u64>>,
    size: u64,
    closed: u64,
    operations: u64,
    slow: Slow,
}

impl Windows {
    fn add(&mut self, op: DriveOp, ns: u64, mixed: bool) {
        self.current.bytes += op.length;
        self.current.ops += 1;
        self.latencies.push(ns);
        if mixed {
            let reads = self.reads.get_or_insert_default();
            reads.extend((!op.write).then_some(ns));
        }
        if self.slow.is(ns) {
            self.current.slow.push(SlowOp(self.operations, ns));
        }
        self.operations += 1;
    }

    /// Ends the window at `to_ns` since the job's start and begins the next.
    fn close(&mut self, to_ns: u64) -> Window {
        let next = Window { from_ns: to_ns, ..Window::default() };
        let mut window = std::mem::replace(&mut self.current, next);
        window.to_ns = to_ns;
        window.latency = Histogram::of(&mut self.latencies);
        self.latencies.clear();
        window.reads = self.reads.take().map(|mut reads| Histogram::of(&mut reads));
        self.closed += 1;
        if self.closed == WINDOW_PILOT {
            let mut seconds = to_ns as f64 / 1e9 / WINDOW_PILOT as f64;
            while seconds > 0.0 && seconds < WINDOW_SECONDS {
                seconds *= 2.0;
                self.size = self.size.saturating_mul(2);
            }
        }
        window
    }
}

/// Detects operations that are slower than 99.5 % of those before them.
#[derive(Debug, Default)]
struct Slow {
    all: Histogram,
    fresh: Vec<u64>,
    limit: Option<u64>,
}

impl Slow {
    fn is(&mut self, ns: u64) -> bool {
        let slow = self.limit.is_some_and(|limit| ns > limit);
        self.fresh.push(ns);
        // Recomputed after increasing numbers of operations, to keep the cost low.
        if self.fresh.len() >= ENOUGH.max((self.all.count() / 16).min(1 << 16) as usize) {
            self.all.merge(&Histogram::of(&mut self.fresh));
            self.fresh.clear();
            self.limit = self.all.quantile(0.995);
        }
        slow
    }
}
