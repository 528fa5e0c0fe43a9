//! Create a file for the loads that follow. It is removed when the plan ends or when the target's next one is created.

use serde::{Deserialize, Serialize};

use super::{Changes, Cost, Kind};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScratchFile {
    /// Its size; loads never write beyond it.
    pub bytes: u64,
}

impl Kind for ScratchFile {
    fn label(&self) -> String {
        "scratch file".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(0.0)
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }
}
