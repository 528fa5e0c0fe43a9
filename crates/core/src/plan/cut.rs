//! What a plan leaves out of what was asked, and why.

use serde::{Deserialize, Serialize};

use crate::units::decimal_bytes;

/// A scratch file that is smaller than asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Position of the target in the plan.
    pub target: u32,
    pub asked: u64,
    pub bytes: u64,
    pub by: CutBy,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutBy {
    /// `kept` of the free bytes stay free.
    FreeSpace { free: u64, kept: u64 },
    /// The largest file of the filesystem.
    LargestFile { filesystem: String },
}

impl Cut {
    /// By how much, and why.
    pub fn describe(&self) -> String {
        let [asked, bytes] = [self.asked, self.bytes].map(decimal_bytes);
        let why = match &self.by {
            CutBy::FreeSpace { free, kept } => {
                let [free, kept] = [*free, *kept].map(decimal_bytes);
                format!("{free} are free, of which {kept} stay free for others")
            }
            CutBy::LargestFile { filesystem } => format!("no file on {filesystem} is larger"),
        };
        format!("cut from {asked} to {bytes}: {why}")
    }
}
