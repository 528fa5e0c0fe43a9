//! Write files until the power is cut, and check them after it is back.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cut::{PowerError, PowerTest, is_elsewhere};
use crate::{
    findings::fitness::KeptData,
    inventory::Inventory,
    plan::{Act, Changes, Cost, Needs, Step},
    record::{ActResult, Observation},
    run::{Execution, RunError, Troubles, host},
    target::Target,
    test_files::{FileTree, FilesFound, LedgerFound},
    units::{count, decimal_bytes, duration},
};

/// Fills a directory of the step's target with a tree of files, then writes and syncs blocks and small files until the power is
/// cut. Carried out again after that, it checks what is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerCut {
    pub tree: FileTree,
    /// Time limit of the wait for the power cut, s.
    pub seconds: f64,
    /// The most that is written meanwhile, bytes.
    pub most: u64,
}

impl PowerCut {
    fn test(&self, run: &Execution<'_, '_>, on: &Target) -> PowerTest<'_> {
        let boot_id = host(run.ctx.world.sysroot()).boot_id;
        let (target, store, run) = (on.path.clone(), run.ctx.store.to_owned(), run.ctx.run.to_owned());
        PowerTest { act: self, target, store, run, boot_id }
    }

    fn carry_out(&self, run: &mut Execution<'_, '_>, on: &Target) -> Result<PowerCutResult, RunError> {
        if run.ctx.world.system().is_none() {
            // A modelled drive keeps all.
            let files = FilesFound { whole: self.tree.files(), ..FilesFound::default() };
            return Ok(PowerCutResult { files, ..PowerCutResult::default() });
        }
        let failed = |e| match e {
            PowerError::Interrupted => RunError::Interrupted,
            e => RunError::Act(e.to_string()),
        };
        let (test, cancel) = (self.test(run, on), run.cancel.clone());
        test.carry_out(&cancel, &mut |text| run.ctx.watcher.asks(text)).map_err(failed)
    }
}

crate::kind!("power_cut", PowerCut as Act);

impl Act for PowerCut {
    fn label(&self) -> String {
        "power cut".to_owned()
    }

    fn cost(&self) -> Cost {
        // Filling takes as long as the drive needs.
        Cost { written: self.tree.bytes.saturating_add(self.most), seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn describe(&self) -> Option<String> {
        let (files, bytes) = (count(self.tree.files(), "file"), decimal_bytes(self.tree.bytes));
        Some(format!(
            "{files}, {bytes}; then synced writes until a person cuts the power, for at most {}; after that, a check",
            duration(self.seconds)
        ))
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { accepts_missing_drives: true, ..Needs::default() }
    }

    fn require(&self, on: &Target, inventory: &Inventory, store: &Path) -> Result<(), String> {
        is_elsewhere(inventory, on, store)
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        // With the plan in it, so that the run can be continued after the power cut.
        run.ctx.log.sync()?;
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            let on = run.plan.targets[target].clone();
            let missing = on.pool.as_ref().map_or(0, |pool| pool.missing);
            let cut = PowerCutResult { missing, ..self.carry_out(run, &on)? };
            let seconds = run.ctx.world.seconds() - since;
            let is_whole = cut.is_whole();
            let bytes = self.tree.bytes.saturating_add(cut.ledger.acknowledged_bytes);
            let result = ActResult { seconds, bytes, observed: Some(cut.into()), ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
            // Before what it was found in is removed. What has a loss stays, to be looked at again.
            run.ctx.log.sync()?;
            if !is_whole || run.ctx.world.system().is_none() {
                continue;
            }
            // What can't be removed, because the filesystem is read-only by now, is no failure of the check.
            if let Err(e) = self.test(run, &on).clear() {
                run.note(format!("The test files were not removed: {e}."))?;
            }
        }
        Ok(Troubles::new())
    }
}

/// Files and acknowledged writes after the power was back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PowerCutResult {
    /// Files that were synced before.
    pub files: FilesFound,
    pub ledger: LedgerFound,
    /// From the first write to the last acknowledgement that the ledger has, s.
    pub seconds: f64,
    pub ended: WritesEnded,
    /// Drives that the pool lacked when it was looked at.
    pub missing: u64,
}

/// Why no more was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WritesEnded {
    /// The power was cut, or the machine was started again.
    #[default]
    PowerCut,
    /// The machine went on, and only the drive took no more writes.
    DriveGone,
    /// Synced data was read wrong before any power cut.
    WrongRead,
}

impl PowerCutResult {
    /// Nothing is lost, though it may be read wrong at first.
    pub fn is_stored(&self) -> bool {
        let Self { files, ledger, .. } = self;
        files.wrong + files.failed + files.unread + ledger.lost_bytes == 0
    }

    /// The measure that decides whether the target is fit for data that must not be lost.
    pub fn kept(&self) -> KeptData {
        let Self { files, ledger, .. } = self;
        KeptData {
            lost_bytes: ledger.lost_bytes.saturating_add(files.lost_bytes),
            // A file that is not whole may be empty.
            wrong_reads: files.all() - files.whole + files.unsteady + ledger.unsteady,
        }
    }

    /// All that was acknowledged is there.
    pub fn is_whole(&self) -> bool {
        self.is_stored() && self.files.unsteady + self.ledger.unsteady == 0
    }
}

crate::kind!("cut", PowerCutResult as Observation);

impl Observation for PowerCutResult {}
