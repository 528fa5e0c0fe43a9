//! The act that tests the size of one drive.

use std::{
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    super::target_checks::fits,
    free_space::{Files, FreeSpace},
    probe::{Keeper, Probed, Saved, Sizes, probe},
    saved::{self, StampedBlocks},
};
use crate::{
    danger::Claim,
    engine::{Cancel, Clock},
    inventory::Drive,
    plan::{Act, Changes, Consent, Cost, Needs, Step, Uncounted},
    pull::{DetachedDrive, Unplug},
    record::{ActResult, Observation, lasts},
    run::{Entry, Execution, Folder, Journal, RunContext, RunError, Troubles, Watcher, stays},
    stamped::{BLOCK, Device, Medium, random_seed},
    target::Target,
    tools::System,
    units::{decimal_bytes, thousands},
};

/// Replaces blocks of a drive by stamps, reads these back, and restores the blocks; or writes and reads them in files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ProbeCapacity {
    /// The identity of the drive.
    pub drive: String,
    /// What is tested, bytes: the size that the drive claims, or what files may take of its free space.
    pub bytes: u64,
    /// A person unplugs the drive and plugs it in again before stamps are read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replug: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_space: Option<FreeSpace>,
}

/// Rounds of the most thorough test: of a drive with a false size.
const MOST_ROUNDS: u64 = 8;
/// The time between two attempts to open a drive that was plugged in again.
const LOOK: Duration = Duration::from_secs(1);

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
        match self.free_space {
            Some(_) => Changes::OwnFiles,
            None => Changes::PutsBack(vec![self.drive.clone()]),
        }
    }

    fn describe(&self) -> Option<String> {
        let (samples, written) = (thousands(self.samples() as f64), decimal_bytes(self.round()));
        Some(match &self.free_space {
            Some(free_space) => format!(
                "{}, by stamps in {samples} files or more; {written} written on a good drive, more on a false one",
                free_space.describe(self.bytes)
            ),
            None => format!(
                "{samples} blocks of 4 KiB are saved, overwritten, read back and restored{}; {written} written on a good drive, more on a false one",
                if self.replug { ", with the drive unplugged in between" } else { "" }
            ),
        })
    }

    fn consent(&self) -> Option<Consent> {
        self.free_space.as_ref().map(|free_space| free_space.consent(self.bytes))
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
                        replug: run.plan.targets[target].drives.first().filter(|_| self.replug).cloned(),
                    };
                    let probed = match self.free_space {
                        Some(_) => session.in_files(&run.plan.targets[target], target)?,
                        None => session.on_drive(world.erasable())?,
                    };
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
    let (blocks, foreign) = (act.bytes / BLOCK as u64, act.free_space.as_ref().map(|_| false));
    Probed { blocks, samples: super::probe::good(act.samples(), blocks), foreign, ..Probed::default() }
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
    /// The drive that a person has to unplug, as it is now.
    replug: Option<Drive>,
}

impl ProbeSession<'_> {
    fn on_drive(&mut self, erase: &[String]) -> Result<io::Result<Probed>, RunError> {
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

    fn in_files(&mut self, on: &Target, at: usize) -> Result<io::Result<Probed>, RunError> {
        let cannot = |source| RunError::Folder { dir: on.path.clone(), source };
        stays(on).map_err(cannot)?;
        let mut folder = Folder::create(&on.path, &self.journal, at).map_err(cannot)?;
        // Others may have taken some since the plan was made.
        let bytes = fits(on, 0).map_err(|e| RunError::Act(e.to_string()))?.min(self.act.bytes);
        self.watcher.waits("reserving the free space");
        let probed = Files::reserve(&mut folder, bytes, self.cancel)
            .and_then(|(mut files, sizes)| probe(&mut files, self, sizes, random_seed()?));
        let path = folder.path();
        folder.remove().map_err(|source| RunError::Leftover { path, command: "rm -r", source })?;
        Ok(probed)
    }
}

impl Keeper for ProbeSession<'_> {
    fn save(&mut self, salt: u64, blocks: &Saved) -> io::Result<()> {
        if self.act.free_space.is_some() {
            return Ok(());
        }
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

    fn replug(&mut self, medium: &mut dyn Medium) -> io::Result<bool> {
        let Some(drive) = &self.replug else { return Ok(false) };
        let mut asks = |text: &str| self.watcher.asks(&format!("{text} Automatic mounting must be off."));
        let mut away =
            DetachedDrive::announce(&self.journal, drive, &Unplug::Hand).map_err(io::Error::other)?;
        let check = || Ok(());
        away.take_away(&check, self.cancel, &mut asks).map_err(io::Error::other)?;
        let drive = away.bring_back(&System::default(), self.cancel, &mut asks).map_err(io::Error::other)?;
        // It may not be there yet, or be mounted automatically. A person who reads why may also end it.
        while let Err(e) = medium.reopen() {
            self.report_progress(&format!("waiting for the drive: {e}"))?;
            thread::sleep(LOOK);
        }
        self.replug = Some(drive);
        Ok(true)
    }

    fn seconds(&self) -> f64 {
        self.clock.now_ns() as f64 / 1e9
    }

    fn report_progress(&mut self, what: &str) -> io::Result<()> {
        self.watcher.waits(what);
        if self.cancel.is_set() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}
