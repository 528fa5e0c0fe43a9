//! Write files until the power is cut, and check them after it is back.

use serde::{Deserialize, Serialize};

use super::FileTree;
use crate::units::RemoteDir;

/// Fills a directory of the step's target with a tree of files, then writes and syncs blocks and small files until the power is
/// cut. Carried out again after that, it checks what is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerCut {
    pub tree: FileTree,
    /// How long the power cut is waited for, s.
    pub seconds: f64,
    /// The most that is written meanwhile, bytes.
    pub most: u64,
    /// Where the ledger of its writes is; `None` for the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<RemoteDir>,
}
