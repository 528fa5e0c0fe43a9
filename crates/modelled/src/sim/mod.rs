//! `sim`: modelled drives in virtual time.
//!
//! The drive itself ([`SimDrive`]) has no clock; the caller passes the time. So the same model can also be served in real
//! time. Here the time is virtual: thousands of drives are measured in seconds, and the same seed gives the same windows.

mod board;
mod drive;
mod model;
mod queue;
mod random;
mod running;

#[cfg(test)]
mod tests;

pub use board::{Board, Drives, SharedBus};
pub use drive::{Cause, DriveOp, Fault, Link, OpTiming, SimDrive};
pub use model::{Burst, Cache, Drift, Faults, Model, Noise, Regimes, Stalls, Standby, Zone};

use crate::engine::{Cancel, Engine, EngineError, EngineInfo, Job, Outcomes, Watch};
use queue::{EventQueue, QueueEvent};
use running::Running;

#[derive(Debug, Clone)]
pub struct Sim {
    drives: Drives,
    now_ns: u64,
}

impl Sim {
    /// Refuses an invalid board.
    pub fn new(board: &Board) -> Result<Self, EngineError> {
        Ok(Self { drives: Drives::new(board)?, now_ns: 0 })
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub fn rest(&mut self, seconds: f64) {
        self.now_ns += (seconds.max(0.0) * 1e9) as u64;
    }

    fn kick(&mut self, queue: &mut EventQueue, target: usize) {
        let (drive, link) = self.drives.at(target);
        queue.kick(target, drive, link);
    }
}

impl Engine for Sim {
    fn info(&self) -> EngineInfo {
        EngineInfo { name: "sim".to_owned(), detail: None, modelled: true }
    }

    fn run(&mut self, jobs: &[Job], cancel: &Cancel, watch: &mut Watch<'_>) -> Outcomes {
        let start = self.now_ns;
        let mut running = jobs
            .iter()
            .map(|job| Running::new(job, self.drives.count(), start))
            .collect::<Result<Vec<_>, _>>()?;
        let mut queue = EventQueue::new(self.drives.count(), start);
        for (i, job) in running.iter_mut().enumerate() {
            job.submit(&mut queue, i);
        }
        for target in 0..self.drives.count() {
            self.drives.at(target).0.begin_run();
            self.kick(&mut queue, target);
        }
        let (deadline, over) = cancel.modelled().unwrap_or((u64::MAX, u64::MAX));
        while let Some(event) = queue.next() {
            if cancel.is_asked() {
                break;
            }
            if queue.now_ns > deadline {
                running.iter_mut().for_each(Running::stop);
            }
            if queue.now_ns > over {
                // The operations in flight take longer than the deadline allows.
                queue.now_ns = over.max(start);
                running.iter_mut().for_each(Running::cut_off);
                break;
            }
            let target = match event {
                QueueEvent::Free(target) => target,
                QueueEvent::Complete(asked, done) => {
                    let job = &mut running[asked.job];
                    let faithful = self.drives.at(job.target()).0.faithful(asked.op);
                    job.complete(&asked, &done, queue.now_ns, faithful, &mut |w| watch(asked.job, w));
                    job.submit(&mut queue, asked.job);
                    job.target()
                }
            };
            self.kick(&mut queue, target);
        }
        self.now_ns = queue.now_ns;
        let flush = |target: usize| self.drives.at(target).0.model().flush_seconds;
        let seconds: Vec<f64> = running.iter().map(Running::target).map(flush).collect();
        Ok(running.into_iter().zip(seconds).map(|(job, seconds)| job.finish(seconds)).collect())
    }
}
