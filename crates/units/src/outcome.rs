//! How a load ended, and how a run did.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ended {
    Finished,
    /// Stopped by the watcher, because the result is known.
    Stopped,
    Cancelled,
    Failed {
        /// The operation that failed: `write`, `fsync`.
        what: String,
        /// Bytes from the target's start.
        offset: u64,
        errno: Option<i32>,
        message: String,
    },
}

impl Ended {
    /// Whether it moved all bytes that were asked for, or its result is known.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Finished | Self::Stopped)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub ended: Ended,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Operations completed without error.
    pub ops: u64,
    /// Time from the first submission to the last completion, with the final `fsync` if there is one, s.
    pub seconds: f64,
    /// The part of `seconds` that the final `fsync` took, s.
    pub fsync_seconds: f64,
}

impl Outcome {
    /// An outcome without any operation.
    pub fn nothing(ended: Ended) -> Self {
        Self { ended, bytes_read: 0, bytes_written: 0, ops: 0, seconds: 0.0, fsync_seconds: 0.0 }
    }

    /// Bytes per second, if it was completed or its result is known.
    pub fn speed(&self) -> Option<f64> {
        let speed = self.bytes_read.saturating_add(self.bytes_written) as f64 / self.seconds;
        (self.ended.is_whole() && speed.is_finite() && speed > 0.0).then_some(speed)
    }

    /// The sum of this and `later`, which ran after it and gives the end.
    #[must_use]
    pub fn and_then(&self, later: &Self) -> Self {
        Self {
            ended: later.ended.clone(),
            bytes_read: self.bytes_read.saturating_add(later.bytes_read),
            bytes_written: self.bytes_written.saturating_add(later.bytes_written),
            ops: self.ops.saturating_add(later.ops),
            seconds: self.seconds + later.seconds,
            fsync_seconds: self.fsync_seconds + later.fsync_seconds,
        }
    }
}

/// An engine's name and version in records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// `psync`, `uring`, `fio` or `sim`.
    pub name: String,
    /// Version or mode if relevant: `fio-3.33`.
    pub detail: Option<String>,
    /// Whether its results come from a model, not from a drive.
    #[serde(rename = "virtual", default)]
    pub modelled: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Finished,
    /// Stopped by a signal.
    Interrupted,
    /// Ended by its time limit before all was measured.
    TimeUp,
    /// Something failed; earlier results stay valid.
    Failed,
    /// Still running, or cut off.
    #[default]
    Unfinished,
}

impl RunStatus {
    pub fn words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::TimeUp => "time up",
            Self::Failed => "failed",
            Self::Unfinished => "running or cut off",
        }
    }
}
