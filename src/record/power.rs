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
    /// The machine went on, and only the drive had no power.
    pub only_drive: bool,
}
