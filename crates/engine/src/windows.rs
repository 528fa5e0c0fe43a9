//! The recorder that engines share: turns operations into windows, in constant memory.
//!
//! It has two parts. A [`Recorder`] runs in the I/O thread and only records latencies. A [`Collector`] turns its
//! batches into windows on the watcher's thread, so that sorting and counting delay no operation.

use crate::units::{Direction, Histogram, SlowOp, Window};

use super::{Ended, Job, Outcome, WINDOW_PILOT, WINDOW_SECONDS, op_sequence};

/// The maximum number of latencies in a batch.
const BATCH: usize = 2048;
/// The maximum number of slow operations in a window.
const SLOW: usize = 64;
/// The maximum growth of windows.
const GROWTH: u64 = 1024;
/// Fewer operations than this give no 99.5th percentile.
const TAIL_MIN: u64 = 200;
/// Marks the latency of a read in a mixed load.
const READ: u64 = 1 << 63;

/// Latencies of operations in the order of completion, and the window that they close, if any, without latencies.
#[derive(Debug)]
pub(super) struct Batch {
    latencies: Vec<u64>,
    closes: Option<Window>,
}

/// Records completed operations. All times are ns since the common start of all jobs.
#[derive(Debug)]
pub(super) struct Recorder {
    latencies: Vec<u64>,
    capacity: usize,
    open: Window,
    moved: Outcome,
    first_ns: Option<u64>,
    expected: u64,
    window: u64,
    windows: u64,
    pilot: Vec<u64>,
}

impl Recorder {
    pub(super) fn new(job: &Job) -> Self {
        let capacity = (job.window.div_ceil(job.load.block).max(1)).min(BATCH as u64) as usize;
        Self {
            latencies: Vec::with_capacity(capacity),
            capacity,
            open: Window::default(),
            moved: Outcome::nothing(Ended::Finished),
            first_ns: None,
            expected: op_sequence::ops(job),
            window: job.window.max(1),
            windows: 0,
            pilot: Vec::with_capacity(WINDOW_PILOT as usize),
        }
    }

    /// The first operation is being submitted; later calls have no effect.
    pub(super) fn begin(&mut self, now: u64) {
        if self.first_ns.is_none() {
            self.first_ns = Some(now);
            (self.open.from_ns, self.open.to_ns) = (now, now);
        }
    }

    /// An operation of `bytes` completed at `now`. The returned batch must be sent to the collector.
    pub(super) fn done(&mut self, now: u64, latency: u64, bytes: u64, read: bool) -> Option<Batch> {
        self.latencies.push(latency.min(READ - 1) | if read { READ } else { 0 });
        self.open.to_ns = self.open.to_ns.max(now);
        self.open.bytes += bytes;
        self.open.ops += 1;
        self.moved.ops += 1;
        let moved = if read { &mut self.moved.bytes_read } else { &mut self.moved.bytes_written };
        *moved += bytes;
        // The last window stays open, because an fsync may belong to it.
        if self.open.bytes >= self.window && self.moved.ops < self.expected {
            return Some(self.close());
        }
        (self.latencies.len() >= self.capacity).then(|| self.hand_over(None))
    }

    pub(super) fn failed(&mut self, now: u64) {
        self.open.to_ns = self.open.to_ns.max(now);
        self.open.errors += 1;
    }

    /// `now` is the end of the last window, if later than its last completion.
    pub(super) fn finish(&mut self, now: Option<u64>) -> Option<Batch> {
        self.open.to_ns = self.open.to_ns.max(now.unwrap_or(0));
        (self.open.ops > 0).then(|| self.close())
    }

    /// What was moved from the first submission to the last completion; finished if no operations remain.
    pub(super) fn moved(&self) -> Outcome {
        let ns = self.open.to_ns - self.first_ns.unwrap_or(self.open.to_ns);
        let ended = if self.moved.ops == self.expected { Ended::Finished } else { Ended::Stopped };
        Outcome { ended, seconds: ns as f64 / 1e9, ..self.moved.clone() }
    }

    fn close(&mut self) -> Batch {
        let now = self.open.to_ns;
        let next = Window { from_ns: now, to_ns: now, ..Window::default() };
        let closed = std::mem::replace(&mut self.open, next);
        self.windows += 1;
        if self.windows <= WINDOW_PILOT {
            self.pilot.push(closed.to_ns - closed.from_ns);
        }
        if self.windows == WINDOW_PILOT {
            self.settle();
        }
        self.hand_over(Some(closed))
    }

    /// Determines the size of all later windows from the mean of the pilot windows without the longest: one stall has no
    /// effect, and operations that complete in batches count with the time between batches.
    fn settle(&mut self) {
        let longest = self.pilot.iter().max().copied().unwrap_or(0);
        let rest = self.pilot.iter().sum::<u64>() - longest;
        let typical = (rest / (self.pilot.len() as u64 - 1).max(1)).max(1);
        let mut growth = 1;
        while growth < GROWTH && ((typical * growth) as f64) < WINDOW_SECONDS * 1e9 {
            growth *= 2;
        }
        self.window *= growth;
        self.capacity = self.capacity.saturating_mul(growth as usize).min(BATCH);
        self.pilot = Vec::new();
    }

    fn hand_over(&mut self, closes: Option<Window>) -> Batch {
        let latencies = std::mem::replace(&mut self.latencies, Vec::with_capacity(self.capacity));
        Batch { latencies, closes }
    }
}

#[derive(Debug, Default)]
pub(super) struct Collector {
    mixed: bool,
    latency: Histogram,
    reads: Histogram,
    slow: Vec<SlowOp>,
    seen: u64,
    /// The latencies of all closed windows.
    all: Histogram,
    /// Operations that take longer are slow, ns; 0 before it is known.
    threshold: u64,
    /// The number of operations after which the threshold is determined again.
    settles: u64,
}

impl Collector {
    pub(super) fn new(job: &Job) -> Self {
        let mixed = matches!(job.load.direction, Direction::Mixed { .. });
        Self { mixed, settles: TAIL_MIN, ..Self::default() }
    }

    /// Takes a batch and returns the window that it closes, if any.
    pub(super) fn take(&mut self, mut batch: Batch) -> Option<Window> {
        for (latency, number) in batch.latencies.iter().zip(self.seen..) {
            let ns = latency & !READ;
            if ns > self.threshold {
                self.slow.push(SlowOp(number, ns));
            }
        }
        self.seen += batch.latencies.len() as u64;
        keep_slowest(&mut self.slow, SLOW);
        if self.mixed {
            let reads = batch.latencies.iter().filter(|&ns| ns & READ != 0);
            self.reads.merge(&Histogram::of(&mut reads.map(|ns| ns & !READ).collect::<Vec<_>>()));
        }
        batch.latencies.iter_mut().for_each(|ns| *ns &= !READ);
        self.latency.merge(&Histogram::of(&mut batch.latencies));

        let closed = batch.closes?;
        if self.threshold == 0 {
            keep_slowest(&mut self.slow, (closed.ops.div_ceil(100) as usize).min(SLOW));
        }
        let latency = std::mem::take(&mut self.latency);
        self.all.merge(&latency);
        // Not after each window, because it takes time.
        if self.seen >= self.settles {
            let tail = self.all.quantile(0.995).unwrap_or(0);
            // Operations that take the same time differ by less.
            self.threshold = (tail + tail / 64).max(1);
            self.settles = self.seen + self.seen / 8;
        }
        Some(Window {
            latency,
            reads: self.mixed.then(|| std::mem::take(&mut self.reads)),
            slow: std::mem::take(&mut self.slow),
            ..closed
        })
    }
}

/// Keeps the `n` slowest, in the order of their numbers.
fn keep_slowest(slow: &mut Vec<SlowOp>, n: usize) {
    if slow.len() > n {
        slow.sort_unstable_by_key(|op| std::cmp::Reverse(op.1));
        slow.truncate(n);
        slow.sort_unstable_by_key(|op| op.0);
    }
}

#[cfg(test)]
mod tests;
