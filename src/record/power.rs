//! What was found after a power cut.

use serde::{Deserialize, Serialize};

use super::pulled::{FilesFound, LedgerFound};

/// Files and acknowledged writes after the power was back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cut {
    /// Files that were synced before.
    pub files: FilesFound,
    pub ledger: LedgerFound,
    /// From the first write to the last acknowledgement that the ledger has, s.
    pub seconds: f64,
    /// The machine went on, and only the drive took no more writes.
    pub only_drive: bool,
}

impl Cut {
    /// All that was acknowledged is there.
    pub fn is_whole(&self) -> bool {
        let Self { files, ledger, .. } = self;
        files.wrong + files.failed + files.unread + ledger.lost_bytes == 0
    }
}
