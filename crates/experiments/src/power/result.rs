//! The state of files and writes after a power cut.

use serde::{Deserialize, Serialize};

use crate::{
    findings::fitness::KeptData,
    record::Observation,
    test_files::{FilesFound, LedgerFound},
};

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
