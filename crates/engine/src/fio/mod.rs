//! `fio`: the reference program for I/O loads, run as a process.
//!
//! Its windows come from the status it prints every 0.25 s. Its latencies are in buckets of 1.6 %, and its clock
//! counts in ms. It can't stop one job of several: a stopped job passes on no more windows and ends with the
//! others. Its `verify` stamps have their own format. Its data is random within a block, and similar from block to block.

use std::{
    cell::Cell,
    collections::BTreeMap,
    io::{self, Seek},
    time::Instant,
};

use rustix::fs::ftruncate;

use crate::{
    tools::{
        Output, Runner,
        fio::{FioRun, version},
    },
    units::{Direction, Histogram, Load, Window},
};

use super::{
    Cancel, Ended, Engine, EngineError, EngineInfo, FileTarget, Flow, Job, Outcome, Outcomes, Pulse, Watch,
    op_sequence, workers,
};

mod args;
mod status;

pub use args::command_line;
use status::{DirectionStatus, JobStatus, Splitter, Status, failure};

pub struct Fio {
    runner: Box<dyn Runner>,
    targets: Vec<FileTarget>,
    version: String,
}

impl Fio {
    /// Needs fio 3 or newer.
    pub fn new(runner: Box<dyn Runner>, targets: Vec<FileTarget>) -> Result<Self, EngineError> {
        let said = runner.ask(&version()).map_err(unavailable)?;
        let version = said.stdout.trim().to_owned();
        let major = version.strip_prefix("fio-").and_then(|v| v.split('.').next()?.parse::<u32>().ok());
        if major.is_none_or(|major| major < 3) {
            return Err(unavailable(format!("it needs fio 3 or newer, and this is '{version}'")));
        }
        Ok(Self { runner, targets, version })
    }

    /// Refuses jobs for which fio would change the file: it extends files that are too short to be read.
    fn check(&self, job: &Job) -> Result<(), EngineError> {
        let Some(target) = self.targets.get(job.target) else { return Ok(()) };
        if job.bytes == 0 {
            return Err(EngineError::Job("fio can't run a load of 0 bytes".to_owned()));
        }
        if job.load.streams > 1 {
            let why = "fio can't take turns between streams: use psync or uring".to_owned();
            return Err(EngineError::Job(why));
        }
        let system =
            |source: io::Error| EngineError::System { what: format!("measuring {}", target.name), source };
        let length = (&*target.file).seek(io::SeekFrom::End(0)).map_err(system)?;
        let end = job.extent.offset + job.extent.length / job.load.block * job.load.block;
        if length >= end {
            return Ok(());
        }
        if job.load.reads() {
            let why = format!("{} ends early: at {length} B, before the load's {end} B", target.name);
            return Err(EngineError::Job(why));
        }
        ftruncate(&target.file, end).map_err(|e| system(e.into()))
    }

    fn command(&self, jobs: &[Job]) -> FioRun {
        let mut all = args::global(!jobs.iter().any(|job| job.load.writes()));
        for (index, job) in jobs.iter().enumerate() {
            let path = &self.targets[job.target].path_for_programs;
            let load = Load { seed: job.load.seed.wrapping_add(job.begin), ..job.load.clone() };
            all.extend(args::section(&format!("job{index}"), &load, path, job.extent, job.bytes));
        }
        FioRun::new(all)
    }
}

impl Engine for Fio {
    fn info(&self) -> EngineInfo {
        EngineInfo { name: "fio".to_owned(), detail: Some(self.version.clone()), modelled: false }
    }

    fn run(&mut self, jobs: &[Job], cancel: &Cancel, watch: &mut Watch<'_>) -> Outcomes {
        if workers::prepare(jobs, &self.targets, cancel)?.is_none() {
            return Ok(vec![Outcome::nothing(Ended::Cancelled); jobs.len()]);
        }
        jobs.iter().try_for_each(|job| self.check(job))?;

        let mut splitter = Splitter::default();
        let since = Instant::now();
        let pulse = Pulse::since(since);
        let mut heard = 0;
        // What fio counted since its last status, on this process's clock; a status may be read late.
        let mut missed = || {
            let now = since.elapsed().as_nanos() as u64;
            let from = std::mem::replace(&mut heard, now).saturating_sub(args::STATUS_NS);
            pulse.missed(from, now)
        };
        let mut tracks: Vec<Track<'_>> = jobs.iter().map(Track::new).collect();
        let stopped = Cell::new(false);
        let mut garbled = None;
        let mut hear = |line: &str| match splitter.line(line) {
            Some(Ok(status)) => {
                if !cancel.is_set() {
                    show(&mut tracks, &status, (false, missed()), watch);
                }
                tracks.iter_mut().zip(status.jobs).for_each(|(track, job)| track.last = job);
                stopped.set(tracks.iter().all(|track| track.deaf));
            }
            Some(Err(e)) => garbled = Some(e),
            None => {}
        };
        let stop = || stopped.get() || cancel.is_set();
        let output = self.command(jobs).run(&*self.runner, &stop, &mut hear).map_err(unavailable)?;
        if let Some(e) = garbled {
            let source = io::Error::new(io::ErrorKind::InvalidData, e);
            let what = format!("reading what {} prints", self.version);
            return Err(EngineError::System { what, source });
        }
        if tracks.iter().all(|track| track.last.ns() == 0 && track.last.error == 0)
            && output.code != Some(0)
            && !cancel.is_set()
        {
            let source = io::Error::other(output.complaint());
            return Err(EngineError::System { what: "running fio".to_owned(), source });
        }
        // At a deadline it was stopped, unless it had to be killed.
        let cut_off = cancel.is_asked() || cancel.is_set() && output.code.is_none();
        if !cut_off {
            let last = Status { jobs: tracks.iter().map(|track| track.last.clone()).collect() };
            show(&mut tracks, &last, (true, missed()), watch);
        }
        let stopped = cancel.is_set();
        let path = |track: &Track<'_>| self.targets[track.job.target].path_for_programs.to_string_lossy();
        Ok(tracks
            .iter()
            .map(|track| track.outcome(&path(track), &output, &splitter, (cut_off, stopped)))
            .collect())
    }
}

fn show(tracks: &mut [Track<'_>], status: &Status, (last, suspended_ns): (bool, u64), watch: &mut Watch<'_>) {
    for (index, (track, now)) in tracks.iter_mut().zip(&status.jobs).enumerate() {
        if let Some(window) = (!track.deaf).then(|| track.window(now, last)).flatten() {
            track.deaf = watch(index, &Window { suspended_ns, ..window }) == Flow::Stop;
        }
    }
}

struct Track<'a> {
    job: &'a Job,
    deaf: bool,
    last: JobStatus,
    shown: Window,
    reads: BTreeMap<u64, u64>,
    writes: BTreeMap<u64, u64>,
}

impl<'a> Track<'a> {
    fn new(job: &'a Job) -> Self {
        Self {
            job,
            deaf: false,
            last: JobStatus::default(),
            shown: Window::default(),
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
        }
    }

    /// The window since the last one. The final window is held back until the end, so that all of the time, including an fsync,
    /// belongs to a window.
    fn window(&mut self, now: &JobStatus, last: bool) -> Option<Window> {
        let ops = now.read.completed() + now.write.completed();
        if ops <= self.shown.ops || (ops >= op_sequence::ops(self.job) && !last) {
            return None;
        }
        // fio counts bytes slightly before or after latencies. Blocks are always complete.
        let bytes = ops * self.job.load.block;
        let reads = newer(now.read.bins(), &mut self.reads);
        let mut latency = newer(now.write.bins(), &mut self.writes);
        latency.merge(&reads);
        let window = Window {
            from_ns: self.shown.to_ns,
            to_ns: now.ns().max(self.shown.to_ns),
            bytes: bytes - self.shown.bytes,
            ops: ops - self.shown.ops,
            latency,
            reads: matches!(self.job.load.direction, Direction::Mixed { .. }).then_some(reads),
            ..Window::default()
        };
        self.shown = Window { to_ns: window.to_ns, bytes, ops, ..Window::default() };
        Some(window)
    }

    fn outcome(
        &self,
        path: &str,
        output: &Output,
        splitter: &Splitter,
        (cut_off, stopped): (bool, bool),
    ) -> Outcome {
        let JobStatus { error, read, write } = &self.last;
        // fio counts a failed operation, which moved nothing.
        let ops = (read.io_bytes + write.io_bytes) / self.job.load.block;
        let talk = || output.stderr.lines().chain(splitter.talk.iter().map(String::as_str));
        let ended = if *error != 0 {
            let what = |way: &DirectionStatus| if way.total_ios > 0 { "read" } else { "write" };
            let (what, offset, message) = failure(talk(), path).unwrap_or_else(|| {
                (what(read).to_owned(), 0, io::Error::from_raw_os_error(*error).to_string())
            });
            Ended::Failed { errno: (what != "verify").then_some(*error), what, offset, message }
        } else if ops >= op_sequence::ops(self.job) {
            Ended::Finished
        } else if cut_off {
            Ended::Cancelled
        } else if self.deaf || stopped {
            Ended::Stopped
        } else {
            Ended::Failed { what: "fio".to_owned(), offset: 0, errno: None, message: output.complaint() }
        };
        Outcome {
            ended,
            bytes_read: read.io_bytes,
            bytes_written: write.io_bytes,
            ops,
            seconds: self.last.ns() as f64 / 1e9,
            fsync_seconds: 0.0,
        }
    }
}

fn unavailable(why: impl ToString) -> EngineError {
    EngineError::Unavailable { engine: "fio", why: why.to_string() }
}

/// The latencies in `now` that weren't in `before`. Sets `before` to `now`.
fn newer(now: &BTreeMap<u64, u64>, before: &mut BTreeMap<u64, u64>) -> Histogram {
    let mut histogram = Histogram::default();
    for (&ns, &n) in now {
        histogram.add(ns, n.saturating_sub(before.get(&ns).copied().unwrap_or(0)));
    }
    before.clone_from(now);
    histogram
}

#[cfg(test)]
mod tests;
