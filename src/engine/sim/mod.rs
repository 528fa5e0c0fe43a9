//! `sim`: modelled drives in virtual time.
//!
//! The drive itself ([`Drive`]) is told the time and has no clock, so that the same model can also be served in real
//! time. Here time is virtual: thousands of drives are measured in seconds, and the same seed gives the same windows.

mod drive;
mod model;
mod queue;
mod random;
mod running;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use drive::{Cause, Done, Drive, Fault, Link, Op};
pub use model::{Burst, Cache, Drift, Faults, Model, Noise, Regimes, Stalls, Standby, Zone};

use super::{Cancel, Engine, EngineError, EngineInfo, Job, Outcome, Watch};
use queue::{Event, Queue};
use running::Running;

/// A board with modelled drives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Board {
    /// Its drives: the engine's targets.
    pub drives: Vec<Model>,
    /// Its shared buses.
    pub buses: Vec<Bus>,
    /// What chance begins with.
    pub seed: u64,
}

/// A link that several drives share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Its ceiling, bytes per second.
    pub rate: f64,
    /// The drives on it, as positions in [`Board::drives`]; a drive is on one bus at most.
    pub drives: Vec<usize>,
}

/// Runs loads on modelled drives.
#[derive(Debug, Clone)]
pub struct Sim {
    drives: Vec<Drive>,
    links: Vec<Link>,
    /// Each drive's link.
    link_of: Vec<Option<usize>>,
    now_ns: u64,
}

impl Sim {
    /// Opens the drives of `board`; refuses what makes no sense.
    pub fn new(board: &Board) -> Result<Self, EngineError> {
        let mut link_of = vec![None; board.drives.len()];
        for (i, bus) in board.buses.iter().enumerate() {
            if !(bus.rate.is_finite() && bus.rate > 0.0) {
                return Err(EngineError::Job(format!(
                    "the rate of bus {i} must be above 0, not {}",
                    bus.rate
                )));
            }
            for &drive in &bus.drives {
                match link_of.get_mut(drive) {
                    Some(link @ None) => *link = Some(i),
                    Some(_) => return Err(EngineError::Job(format!("drive {drive} is on two buses"))),
                    None => {
                        return Err(EngineError::Job(format!(
                            "bus {i} has a drive {drive} that isn't there"
                        )));
                    }
                }
            }
        }
        for model in &board.drives {
            model.check().map_err(EngineError::Job)?;
        }
        let drives = board.drives.iter().zip(0..).map(|(model, i)| {
            let stream: u64 = i;
            Drive::new(model, board.seed.wrapping_add(stream.wrapping_mul(0xd134_2543_de82_ef95)))
        });
        Ok(Self {
            drives: drives.collect(),
            links: board.buses.iter().map(|b| Link::new(b.rate)).collect(),
            link_of,
            now_ns: 0,
        })
    }

    /// Lets time go by without a load.
    pub fn rest(&mut self, seconds: f64) {
        self.now_ns += (seconds.max(0.0) * 1e9) as u64;
    }
}

impl Engine for Sim {
    fn info(&self) -> EngineInfo {
        EngineInfo { name: "sim".to_owned(), detail: None, modelled: true }
    }

    fn run(
        &mut self,
        jobs: &[Job],
        cancel: &Cancel,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Outcome>, EngineError> {
        let start = self.now_ns;
        let mut running = jobs
            .iter()
            .map(|job| Running::new(job, self.drives.len(), start))
            .collect::<Result<Vec<_>, _>>()?;
        let mut queue = Queue::new(self.drives.len(), start);
        for (i, job) in running.iter_mut().enumerate() {
            job.submit(&mut queue, i);
        }
        for target in 0..self.drives.len() {
            self.drives[target].begin_run();
            self.kick(&mut queue, target);
        }
        while let Some(event) = queue.next() {
            if cancel.is_set() {
                break;
            }
            let target = match event {
                Event::Free(target) => target,
                Event::Complete(asked, done) => {
                    let job = &mut running[asked.job];
                    let faithful = self.drives[job.target()].faithful(asked.op());
                    job.complete(&asked, &done, queue.now_ns, faithful, &mut |w| watch(asked.job, w));
                    job.submit(&mut queue, asked.job);
                    job.target()
                }
            };
            self.kick(&mut queue, target);
        }
        self.now_ns = queue.now_ns;
        let flush = |job: &Running<'_>| self.drives[job.target()].model().flush_seconds;
        Ok(running
            .into_iter()
            .map(|job| (flush(&job), job))
            .map(|(seconds, job)| job.finish(seconds))
            .collect())
    }
}

impl Sim {
    fn kick(&mut self, queue: &mut Queue, target: usize) {
        let link = self.link_of[target].map(|l| &mut self.links[l]);
        queue.kick(target, &mut self.drives[target], link);
    }
}
