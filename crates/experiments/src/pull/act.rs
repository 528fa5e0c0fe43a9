//! The act that takes a drive of a pool away while files are used.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PullResult, run};
use crate::{
    inventory::Inventory,
    plan::{Act, Changes, Consent, Cost, Needs, Step, Uncounted},
    record::{ActResult, lasts},
    run::{Execution, RunError, Troubles, in_time},
    target::Target,
    test_files::FileTree,
    units::{count, decimal_bytes, duration},
};

/// Takes one drive of the pool of the step's target away while files are used, checks what is left, brings the drive back and
/// checks again. A pool that the run built is filled with files first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pull {
    /// The identity of the drive.
    pub drive: String,
    pub by: PullBy,
    /// How long files are used before the drive is taken away, and again while it is away, s.
    pub seconds: f64,
    pub pool: PulledPool,
}

/// The kind of pool, which decides what may be written and checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PulledPool {
    /// The run built it, and removes it.
    Built(BuiltPool),
    /// Other programs use it: its files are only read.
    InUse(PoolInUse),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuiltPool {
    /// The number of the member, from 0.
    pub member: u32,
    /// The files that it is filled with.
    pub tree: FileTree,
    /// The most that is written meanwhile, bytes.
    pub most: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolInUse {
    /// The serial that the user types, and the label: model, serial and bay.
    pub serial: String,
    pub label: String,
    /// The most that is read of files, bytes.
    pub bytes: u64,
    pub seed: u64,
    /// Whether the pool has a bitmap of what changes while a drive is away.
    pub bitmap: bool,
    /// How many other drives may fail while this one is away.
    pub survives: u64,
}

/// How a drive is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullBy {
    /// Its USB device is de-authorised: the closest to unplugging one drive.
    Usb,
    /// A person pulls it.
    Hand,
}

impl PullBy {
    /// The way in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Usb => "USB device de-authorised",
            Self::Hand => "pulled by hand",
        }
    }
}

impl Pull {
    fn built(&self) -> Option<&BuiltPool> {
        if let PulledPool::Built(pool) = &self.pool { Some(pool) } else { None }
    }

    fn in_use(&self) -> Option<&PoolInUse> {
        if let PulledPool::InUse(pool) = &self.pool { Some(pool) } else { None }
    }
}

impl PoolInUse {
    /// Warnings before consent.
    pub(super) fn warnings(&self) -> Vec<String> {
        let least = match self.survives {
            0 => "survives no failure".to_owned(),
            n => format!("survives the failure of {} only", count(n, "other drive")),
        };
        let back = match self.bitmap {
            true => "It has a bitmap: only what changes meanwhile is copied back, unless mdadm refuses that.",
            false => "It shows no bitmap: the whole drive may be rebuilt.",
        };
        vec![
            format!("takes away {}, a drive of a pool in use", self.label),
            format!(
                "Files are only read, at most {} of them, and no drive is erased. Other programs continue, with longer waits.",
                decimal_bytes(self.bytes)
            ),
            format!("Until the drive is rebuilt, the pool {least}: have a backup."),
            back.to_owned(),
        ]
    }
}

crate::kind!("pull", Pull as Act);

impl Act for Pull {
    fn label(&self) -> String {
        "pull".to_owned()
    }

    // Copying back what is missing takes as long as the drives need.
    fn cost(&self) -> Cost {
        let written = self.built().map_or(0, |pool| pool.tree.bytes.saturating_add(pool.most));
        let read = self.in_use().map_or(0, |pool| pool.bytes);
        Cost { read, written, seconds: None }
    }

    fn changes(&self) -> Changes {
        Changes::DriveState(match self.in_use() {
            None => "a drive is taken away and brought back",
            Some(_) => "a drive of a pool in use is taken away and brought back; no file is written",
        })
    }

    fn describe(&self) -> Option<String> {
        let (seconds, how) = (duration(self.seconds), self.by.words());
        Some(match &self.pool {
            PulledPool::Built(pool) => {
                let drive = pool.member + 1;
                let (files, bytes) = (count(pool.tree.files(), "file"), decimal_bytes(pool.tree.bytes));
                format!(
                    "{files} of many sizes, {bytes}; after {seconds} of reads and synced writes, drive {drive} is away for {seconds} ({how}), then back"
                )
            }
            PulledPool::InUse(pool) => format!(
                "after {seconds} of reads, {} is away ({how}) for {seconds} and until files were read again, then back",
                pool.label
            ),
        })
    }

    fn check(&self) -> Result<(), String> {
        if lasts(self.seconds) { Ok(()) } else { Err(format!("lasts {} s", self.seconds)) }
    }

    fn members(&self) -> Vec<u32> {
        self.built().map(|pool| pool.member).into_iter().collect()
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        match self.in_use() {
            None => Needs::default(),
            Some(_) => Needs { uncounted: Uncounted::All, ..Needs::default() },
        }
    }

    fn consent(&self) -> Option<Consent> {
        let pool = self.in_use()?;
        Some(Consent {
            option: super::PULL_DRIVE.name(),
            word: pool.serial.clone(),
            act: format!("take {} away", pool.label),
            warnings: pool.warnings(),
        })
    }

    fn require(&self, on: &Target, inventory: &Inventory, store: &Path) -> Result<(), String> {
        let Some(pool) = self.in_use() else { return Ok(()) };
        run::can_pull(self, pool, on, inventory, store).map_err(|e| e.to_string())
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            if let Some(pool) = self.built() {
                fill(pool.tree, run, target)?;
            }
            // What is found while the drive is away is saved before it is brought back.
            let mut save = |run: &mut Execution<'_, '_>, result: PullResult| {
                let cut_short = self.in_use().is_some() && !result.is_final();
                let seconds = run.ctx.world.seconds() - since;
                let observed = Some(result.into());
                let result = ActResult { seconds, cut_short, observed, ..ActResult::default() };
                run.emit_act(step.id, Some(target), result)?;
                run.ctx.log.sync()
            };
            match run.ctx.world.system() {
                None => super::result::modelled(self, run.planned.build(target))
                    .into_iter()
                    .try_for_each(|result| save(run, result))?,
                Some(_) => run::pull(self, run, target, &mut save)?,
            }
        }
        Ok(Troubles::new())
    }
}

/// Fills the pool of a target with files.
fn fill(tree: FileTree, run: &mut Execution<'_, '_>, target: usize) -> Result<(), RunError> {
    let dir = run.plan.targets[target].path.clone();
    let bytes = match run.ctx.world.system() {
        None => tree.sizes().sum(),
        Some(_) => {
            let (to, until) = (dir.clone(), run.cancel.clone());
            let cannot = |source| RunError::Folder { dir, source };
            in_time(&run.cancel.clone(), move || tree.fill(&to, &until), cannot)?
        }
    };
    run.account(target, 0, bytes);
    Ok(())
}
