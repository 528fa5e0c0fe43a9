//! The act that writes or verifies one part of all drives, at the same time.

use std::{
    io,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    cover::{Covered, Failure, PassMonitor, cover, part},
    modelled, smart,
};
use crate::{
    danger::Claim,
    engine::{Cancel, Clock},
    inventory::Inventory,
    plan::{Act, Changes, Cost, Needs, Step},
    record::{ActResult, Event},
    run::{Execution, Held, RunError, Troubles},
    stamped::{BLOCK, Device},
    sysroot::Sysroot,
    tools::Runner,
    units::percent,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Pass {
    Write,
    Verify,
}

/// Writes stamps to a part of whole drives, or verifies them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CoverPart {
    pub pass: Pass,
    /// The number of the part, from 0.
    pub part: u32,
    pub parts: u32,
    /// One for each target of the step.
    pub drives: Vec<WholeDrive>,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WholeDrive {
    pub identity: String,
    pub bytes: u64,
    /// The speed that the plan assumes, bytes per second.
    pub assumed: f64,
}

impl WholeDrive {
    pub fn blocks(&self) -> u64 {
        self.bytes / BLOCK as u64
    }

    /// The salt of the stamps of this drive in this run.
    fn salt(&self, seed: u64) -> u64 {
        // FNV-1a.
        let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.identity.bytes().fold(0xcbf2_9ce4_8422_2325, hash) ^ seed
    }
}

/// Marks a drive whose test has failed: later parts leave it out.
struct LeftOut;

impl Held for LeftOut {
    fn release(&mut self, _: &dyn Runner) -> Result<(), RunError> {
        Ok(())
    }
}

impl CoverPart {
    /// The blocks of the part on a drive.
    pub fn range(&self, drive: &WholeDrive) -> Range<u64> {
        part(&(0..drive.blocks()), self.part.into(), self.parts.into())
    }

    fn most_bytes(&self) -> u64 {
        let bytes = |drive: &WholeDrive| {
            let range = self.range(drive);
            (range.end - range.start) * BLOCK as u64
        };
        self.drives.iter().map(bytes).max().unwrap_or_default()
    }

    /// Covers each drive in a thread of its own, so that a slow or failing drive holds up no other.
    fn cover_all(&self, run: &mut Execution<'_, '_>, drives: &[(usize, &WholeDrive)]) -> Vec<Covered> {
        let (world, cancel) = (&run.ctx.world, &run.cancel);
        let (erasable, clock) = (world.erasable().to_vec(), world.clock());
        let besides: Vec<Thread<'_>> = drives
            .iter()
            .map(|_| Thread { clock: clock.clone(), cancel, blocks: AtomicU64::new(0) })
            .collect();
        let watcher = &mut run.ctx.watcher;
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for ((_, drive), monitor) in drives.iter().zip(&besides) {
                threads.push(scope.spawn(|| self.cover_one(drive, &erasable, monitor)));
            }
            let mut said = 0;
            while threads.iter().any(|thread| !thread.is_finished()) {
                thread::sleep(Duration::from_millis(50));
                let tenths = drives.iter().zip(&besides).map(|((_, drive), monitor)| {
                    let range = self.range(drive);
                    10 * monitor.blocks.load(Ordering::Relaxed) / (range.end - range.start).max(1)
                });
                let slowest = tenths.min().unwrap_or_default();
                if slowest > said {
                    said = slowest;
                    let (nth, parts) = (self.part + 1, self.parts);
                    let done = percent(slowest as f64 / 10.0);
                    watcher.waits(&format!("{}, part {nth} of {parts}: {done}", self.label()));
                }
            }
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    fn cover_one(&self, drive: &WholeDrive, erasable: &[String], monitor: &Thread<'_>) -> Covered {
        let refused = |why: String| Covered::failed(Failure::Refused(why));
        let claim = match Claim::take(&drive.identity, erasable) {
            Ok(claim) => claim,
            // It may have been unplugged between two parts.
            Err(_) if Inventory::read(&Sysroot::live()).drive(&drive.identity).is_none() => {
                return Covered::failed(Failure::Gone);
            }
            Err(e) => return refused(e.to_string()),
        };
        if claim.drive().bytes() != drive.bytes {
            return refused("its size has changed".to_owned());
        }
        let cover =
            |mut device| cover(&mut device, self.pass, &self.range(drive), drive.salt(self.seed), monitor);
        let covered: io::Result<Covered> = Device::open(&claim).and_then(cover);
        match covered {
            // Errors of a drive that was unplugged are not damage.
            Ok(covered) if covered.counts.errors() > 0 && !claim.is_plugged_in() => {
                Covered { failed: Some(Failure::Gone), ..Covered::default() }
            }
            Ok(covered) => covered,
            Err(_) if !claim.is_plugged_in() => Covered::failed(Failure::Gone),
            Err(e) => refused(e.to_string()),
        }
    }
}

/// The clock, the progress and the cancellation of one thread.
struct Thread<'a> {
    clock: Clock,
    cancel: &'a Cancel,
    /// Blocks that are done.
    blocks: AtomicU64,
}

impl PassMonitor for Thread<'_> {
    fn seconds(&self) -> f64 {
        self.clock.now_ns() as f64 / 1e9
    }

    fn advance(&self, blocks: u64) -> bool {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
        !self.cancel.is_set()
    }
}

/// Each act finds the drives by their identity, so that an unplugged one does not end the test of the others.
pub(super) fn needs() -> Needs {
    Needs { measures_nothing: true, finds_target: true, accepts_missing_drives: true, ..Needs::default() }
}

crate::kind!("accept.part", CoverPart as Act);

impl Act for CoverPart {
    fn label(&self) -> String {
        match self.pass {
            Pass::Write => "write".to_owned(),
            Pass::Verify => "verify".to_owned(),
        }
    }

    fn cost(&self) -> Cost {
        let bytes = self.most_bytes();
        let slowest = self.drives.iter().map(|drive| {
            let range = self.range(drive);
            ((range.end - range.start) * BLOCK as u64) as f64 / drive.assumed
        });
        let seconds = Some(slowest.fold(0.0, f64::max));
        match self.pass {
            Pass::Write => Cost { written: bytes, read: 0, seconds },
            Pass::Verify => Cost { written: 0, read: bytes, seconds },
        }
    }

    fn changes(&self) -> Changes {
        match self.pass {
            Pass::Write => Changes::Erases(self.drives.iter().map(|drive| drive.identity.clone()).collect()),
            Pass::Verify => Changes::Nothing,
        }
    }

    fn describe(&self) -> Option<String> {
        let what = match self.pass {
            Pass::Write => "stamps on every block of",
            Pass::Verify => "every block of",
        };
        Some(match self.parts {
            1 => format!("{what} the drive"),
            parts => format!("{what} one of {parts} parts of the drive"),
        })
    }

    fn check(&self) -> Result<(), String> {
        let is_usable = |drive: &WholeDrive| drive.bytes < 1 << 56 && drive.assumed >= 1e3;
        match self.part < self.parts && !self.drives.is_empty() && self.drives.iter().all(is_usable) {
            true => Ok(()),
            false => Err("covers no part of a drive".to_owned()),
        }
    }

    fn assumed_rate(&self) -> Option<f64> {
        self.drives.iter().map(|drive| drive.assumed).reduce(f64::min)
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        let all = step.targets().zip(&self.drives);
        let drives: Vec<(usize, &WholeDrive)> =
            all.filter(|(target, _)| run.held.get::<LeftOut>(*target).is_none()).collect();
        if drives.is_empty() {
            run.ctx.emit(Event::Skipped { step: step.id })?;
            return Ok(Troubles::new());
        }
        let since = run.ctx.world.seconds();
        let covered = match run.ctx.world.system() {
            None => modelled::cover(self, run, &drives)?,
            Some(_) => self.cover_all(run, &drives),
        };
        let seconds = run.ctx.world.seconds() - since;
        let cut_short = run.cancel.is_set();
        for ((target, drive), mut covered) in drives.into_iter().zip(covered) {
            let bytes = covered.pieces.iter().map(|piece| piece.bytes).sum();
            let result = ActResult { seconds, bytes, cut_short, ..ActResult::default() };
            let result = match cut_short {
                true => result,
                false => {
                    if covered.failed.is_some() {
                        run.held.put(target, LeftOut);
                    }
                    covered.temperature =
                        smart::health(run, &drive.identity).and_then(|health| health.temperature);
                    ActResult { observed: Some(covered.into()), ..result }
                }
            };
            run.emit_act(step.id, Some(target), result)?;
        }
        Ok(Troubles::new())
    }
}
