//! The status of a run.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Finished,
    /// It was stopped by a signal.
    Interrupted,
    /// Something failed; earlier results stay valid.
    Failed,
    /// It has no end: it is still running or was cut off.
    #[default]
    Unfinished,
}

impl RunStatus {
    pub fn words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Unfinished => "running or cut off",
        }
    }
}
