//! The act that tests the size of one drive.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    probe::{Keeper, Probed, Saved, Sizes, probe},
    saved::{self, StampedBlocks},
};
use crate::{
    danger::Claim,
    engine::{Cancel, Clock},
    plan::{Act, Changes, Cost, Needs, Step, Uncounted},
    record::{ActResult, Observation, lasts},
    run::{Entry, Execution, Journal, RunContext, RunError, Troubles, Watcher},
    stamped::{BLOCK, Device, random_seed},
    units::{decimal_bytes, thousands},
};

/// Replaces blocks of a drive by stamps, reads these back, and restores the blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProbeCapacity {
    /// The identity of the drive.
    pub drive: String,
    /// The size that the drive claims, bytes.
    pub bytes: u64,
}

/// Rounds of the most thorough test: of a drive with a false size.
const MOST_ROUNDS: u64 = 8;

impl ProbeCapacity {
    fn samples(&self) -> u64 {
        Sizes::USUAL.samples(self.bytes / BLOCK as u64)
    }

    /// Bytes that a round writes, with what is put back.
    fn round(&self) -> u64 {
        (Sizes::USUAL.overflow + 2 * self.samples()) * BLOCK as u64
    }
}

crate::kind!("capacity.probe", ProbeCapacity as Act);

impl Act for ProbeCapacity {
    fn label(&self) -> String {
        "capacity".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost { written: MOST_ROUNDS * self.round(), seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::PutsBack(vec![self.drive.clone()])
    }

    fn describe(&self) -> Option<String> {
        let (samples, written) = (thousands(self.samples() as f64), decimal_bytes(self.round()));
        Some(format!(
            "{samples} blocks of 4 KiB are saved, overwritten, read back and restored; {written} written on a good drive"
        ))
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { uncounted: Uncounted::Target, ..Needs::default() }
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        let mut troubles = Troubles::new();
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            let RunContext { world, watcher, store, .. } = &mut *run.ctx;
            let found = match world.system() {
                None => Ok(modelled(self)),
                Some(_) => {
                    let mut session = ProbeSession {
                        act: self,
                        store,
                        journal: world.journal().clone(),
                        clock: world.clock(),
                        watcher: &mut **watcher,
                        cancel: &run.cancel,
                        saved: None,
                    };
                    let probed = session.test(world.erasable())?;
                    if session.saved.is_some() {
                        let what =
                            "its saved blocks are not restored: plug it in, then run `drivebench cleanup`";
                        troubles.push((target, what.to_owned()));
                    }
                    probed
                }
            };
            let seconds = run.ctx.world.seconds() - since;
            let result = ActResult { seconds, ..ActResult::default() };
            let result = match found {
                Ok(probed) => ActResult { observed: Some(probed.into()), ..result },
                Err(_) if run.cancel.is_set() => ActResult { cut_short: true, ..result },
                Err(e) => {
                    troubles.push((target, format!("the test was ended: {e}")));
                    ActResult { cut_short: true, ..result }
                }
            };
            run.emit_act(step.id, Some(target), result)?;
        }
        Ok(troubles)
    }
}

/// A good drive.
fn modelled(act: &ProbeCapacity) -> Probed {
    let blocks = act.bytes / BLOCK as u64;
    Probed { blocks, samples: super::probe::good(act.samples(), blocks), ..Probed::default() }
}

crate::kind!("capacity.probe", Probed as Observation);

impl Observation for Probed {
    fn fits(&self) -> bool {
        let is_within = |blocks: u64| blocks <= self.blocks;
        let edges = self.wraps.iter().chain(&self.edge);
        self.blocks < u64::MAX / BLOCK as u64
            && self.samples.iter().all(|s| is_within(s.block) && lasts(s.seconds))
            && edges.map(|edge| edge.blocks).all(is_within)
    }
}

/// The journal, the clock and the progress shown to a person.
struct ProbeSession<'a> {
    act: &'a ProbeCapacity,
    store: &'a Path,
    journal: Journal,
    clock: Clock,
    watcher: &'a mut dyn Watcher,
    cancel: &'a Cancel,
    saved: Option<(Entry, PathBuf)>,
}

impl ProbeSession<'_> {
    fn test(&mut self, erase: &[String]) -> Result<io::Result<Probed>, RunError> {
        let claim = Claim::take(&self.act.drive, erase).map_err(|e| RunError::Act(e.to_string()))?;
        let mut probe_claimed = || {
            let mut device = Device::open(&claim)?;
            // No stamp of another drive or test is taken for one of this.
            let probed = probe(&mut device, self, Sizes::USUAL, random_seed()?)?;
            // The errors of a drive that is not there are not its own.
            if device.is_plugged_in() { Ok(probed) } else { Err(io::Error::other("the drive is gone")) }
        };
        Ok(probe_claimed())
    }
}

impl Keeper for ProbeSession<'_> {
    fn save(&mut self, salt: u64, blocks: &Saved) -> io::Result<()> {
        let file = self.store.join("journals").join(format!("{}.saved{salt:x}", self.journal.run()));
        let undo = StampedBlocks { drive: self.act.drive.clone(), salt, file: file.clone() };
        let entry = self.journal.will(undo)?;
        match saved::write(&file, blocks) {
            Ok(()) => self.saved = Some((entry, file)),
            // Nothing is stamped.
            Err(e) => return entry.done().and(Err(e)),
        }
        Ok(())
    }

    fn restored(&mut self) -> io::Result<()> {
        let Some((entry, file)) = self.saved.take() else { return Ok(()) };
        saved::remove(&file)?;
        entry.done()
    }

    fn seconds(&self) -> f64 {
        self.clock.now_ns() as f64 / 1e9
    }

    fn report_progress(&mut self, what: &str) -> io::Result<()> {
        self.watcher.waits(what);
        if self.cancel.is_set() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}
