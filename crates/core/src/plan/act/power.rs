//! Write files until the power is cut, and check them after it is back.

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, FileTree, Needs, Step};
use crate::{
    run::{Execution, RunError, Troubles, act},
    units::{RemoteDir, count, decimal_bytes, duration},
};

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

#[typetag::serde(name = "power_cut")]
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
        let ledger = self.ledger.as_ref().map(|at| format!("; the ledger is in {at}")).unwrap_or_default();
        Some(format!(
            "{files}, {bytes}; then synced writes until a person cuts the power, for at most {}; after that, a check{ledger}",
            duration(self.seconds)
        ))
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { takes_what_is_left: true, ..Needs::default() }
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::power::cut(run, step, self)
    }
}
