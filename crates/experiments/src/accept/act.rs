//! The act that writes or verifies one part of all drives, at the same time.

use std::{io, ops::Range, thread};

use serde::{Deserialize, Serialize};

use super::cover::{Covered, Failure, cover, part};
use crate::{
    danger::{Claim, Refusal},
    engine::Cancel,
    inventory::Inventory,
    plan::{Act, Changes, Cost, Needs, Step},
    record::{ActResult, Event},
    run::{Execution, Held, RunError, Troubles},
    stamped::{BLOCK, Device},
    sysroot::Sysroot,
    tools::{Runner, smartctl},
    units::Health,
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

/// Attempts to claim a drive for a part. After each part udev reads the drive, which takes long where reads fail.
const CLAIMS: u32 = 15;

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

    fn bytes(&self, drive: &WholeDrive) -> u64 {
        let range = self.range(drive);
        (range.end - range.start) * BLOCK as u64
    }

    /// Covers each drive in a thread of its own, so that a slow or failing drive holds up no other.
    fn cover_all(&self, run: &Execution<'_, '_>, drives: &[(usize, &WholeDrive)]) -> Vec<Covered> {
        let (erasable, cancel) = (run.ctx.world.erasable(), &run.cancel);
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (_, drive) in drives {
                threads.push(scope.spawn(|| self.cover_one(drive, erasable, cancel)));
            }
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    fn cover_one(&self, drive: &WholeDrive, erasable: &[String], cancel: &Cancel) -> Covered {
        let refused = |why: String| Covered::failed(Failure::Refused(why));
        let take = || Claim::take(&drive.identity, erasable);
        let is_final =
            |claim: &Result<Claim, Refusal>| cancel.is_set() || !claim.as_ref().is_err_and(Refusal::may_pass);
        let claim = match (1..CLAIMS).map(|_| take()).find(is_final).unwrap_or_else(take) {
            Ok(claim) => claim,
            Err(_) if cancel.is_set() => return Covered::default(),
            // It may have been unplugged between two parts.
            Err(_) if Inventory::read(&Sysroot::live()).drive(&drive.identity).is_none() => {
                return Covered::failed(Failure::Gone);
            }
            Err(e) => return refused(e.to_string()),
        };
        if claim.drive().bytes() != drive.bytes {
            return refused("its size has changed".to_owned());
        }
        let (range, salt) = (self.range(drive), drive.salt(self.seed));
        let cover = |mut device| cover(&mut device, self.pass, &range, salt, cancel);
        let covered: io::Result<Covered> = Device::open(&claim).and_then(cover);
        match covered {
            // Errors of a drive that was unplugged are not damage.
            Ok(covered) if covered.counts.errors > 0 && !claim.is_plugged_in() => {
                Covered::failed(Failure::Gone)
            }
            Ok(covered) => covered,
            Err(_) if !claim.is_plugged_in() => Covered::failed(Failure::Gone),
            Err(e) => refused(e.to_string()),
        }
    }
}

/// The SMART values of a drive as they are now; `None` if the drive is not there.
fn health(run: &Execution<'_, '_>, identity: &str) -> Option<Health> {
    let inventory = run.ctx.world.inventory();
    let drive = inventory.drive(identity)?;
    Some(drive.health.clone().unwrap_or_else(|| smartctl::read(drive, run.ctx.world.runner(), true).1))
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
        let bytes = self.drives.iter().map(|drive| self.bytes(drive)).max().unwrap_or_default();
        let slowest = self.drives.iter().map(|drive| self.bytes(drive) as f64 / drive.assumed);
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

    /// The act finds the drives by their identity, so that an unplugged one does not end the test of the others.
    fn needs(&self) -> Needs {
        Needs { measures_nothing: true, finds_target: true, accepts_missing_drives: true, ..Needs::default() }
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
        let is_first = self.pass == Pass::Write && self.part == 0;
        let before =
            |(_, drive): &(usize, &WholeDrive)| if is_first { health(run, &drive.identity) } else { None };
        let before: Vec<Option<Health>> = drives.iter().map(before).collect();
        let since = run.ctx.world.seconds();
        let covered = match run.ctx.world.system() {
            None => vec![Covered::default(); drives.len()],
            Some(_) => self.cover_all(run, &drives),
        };
        let seconds = run.ctx.world.seconds() - since;
        let cut_short = run.cancel.is_set();
        for (((target, drive), mut covered), before) in drives.into_iter().zip(covered).zip(before) {
            let bytes = covered.pieces.iter().map(|piece| piece.bytes).sum();
            let result = ActResult { seconds, bytes, cut_short, ..ActResult::default() };
            let result = match cut_short {
                true => result,
                false => {
                    if covered.failed.is_some() {
                        run.held.put(target, LeftOut);
                    }
                    (covered.before, covered.health) = (before, health(run, &drive.identity));
                    ActResult { observed: Some(covered.into()), ..result }
                }
            };
            run.emit_act(step.id, Some(target), result)?;
        }
        Ok(Troubles::new())
    }
}
