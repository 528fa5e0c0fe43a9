//! Virtual time: waiting operations and future events.

use std::collections::{BTreeMap, VecDeque};

use super::drive::{DriveOp, Link, OpTiming, SimDrive};

#[derive(Debug, Clone, Copy)]
pub(super) struct SubmittedOp {
    pub job: usize,
    pub submit_ns: u64,
    pub op: DriveOp,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum QueueEvent {
    /// A drive can take the next operation.
    Free(usize),
    Complete(SubmittedOp, OpTiming),
}

#[derive(Debug, Clone, Default)]
struct DriveLine {
    waiting: VecDeque<SubmittedOp>,
    free_ns: u64,
    announced: bool,
}

#[derive(Debug, Default)]
pub(super) struct EventQueue {
    pub now_ns: u64,
    lines: Vec<DriveLine>,
    /// By time, and at the same time in the order in which they were scheduled.
    events: BTreeMap<(u64, u64), QueueEvent>,
    made: u64,
}

impl EventQueue {
    pub fn new(drives: usize, now_ns: u64) -> Self {
        Self { now_ns, lines: vec![DriveLine::default(); drives], ..Self::default() }
    }

    pub fn ask(&mut self, target: usize, asked: SubmittedOp) {
        self.lines[target].waiting.push_back(asked);
    }

    /// Starts the next operation in the drive's queue if possible, and schedules the next check.
    pub fn kick(&mut self, target: usize, drive: &mut SimDrive, link: Option<&mut Link>) {
        let now = self.now_ns;
        let line = &mut self.lines[target];
        if line.free_ns <= now {
            if let Some(asked) = line.waiting.pop_front() {
                let done = drive.service(now, asked.op, link);
                line.free_ns = done.end_ns;
                let away = (drive.model().round_trip_seconds * 1e9) as u64;
                self.push(done.end_ns.saturating_add(away), QueueEvent::Complete(asked, done));
            }
        }
        let line = &mut self.lines[target];
        if !line.waiting.is_empty() && !line.announced {
            line.announced = true;
            let at = line.free_ns;
            self.push(at, QueueEvent::Free(target));
        }
    }

    fn push(&mut self, at: u64, event: QueueEvent) {
        self.made += 1;
        self.events.insert((at, self.made), event);
    }

    /// Advances the time to the next event and returns it.
    pub fn next(&mut self) -> Option<QueueEvent> {
        let ((at, _), event) = self.events.pop_first()?;
        self.now_ns = at;
        if let QueueEvent::Free(target) = event {
            self.lines[target].announced = false;
        }
        Some(event)
    }
}
