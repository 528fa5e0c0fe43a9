//! How a load ended, and how a run did.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ended {
    Finished,
    /// The watcher stopped it.
    Stopped,
    Cancelled,
    Failed {
        /// Such as `write` or `fsync`.
        what: String,
        /// Bytes from the target's start.
        offset: u64,
        errno: Option<i32>,
        message: String,
    },
}

impl Ended {
    /// It moved all that was asked, or found its answer.
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
    /// From the first submission to the last completion, including the final `fsync` if there is one, s.
    pub seconds: f64,
    /// The part of `seconds` that the final `fsync` took.
    pub fsync_seconds: f64,
}

impl Outcome {
    pub fn nothing(ended: Ended) -> Self {
        Self { ended, bytes_read: 0, bytes_written: 0, ops: 0, seconds: 0.0, fsync_seconds: 0.0 }
    }

    /// Bytes per second, if it moved all that was asked or found its answer.
    pub fn speed(&self) -> Option<f64> {
        let speed = (self.bytes_read + self.bytes_written) as f64 / self.seconds;
        (self.ended.is_whole() && speed.is_finite() && speed > 0.0).then_some(speed)
    }

    /// The sum of this and `later`, which ran after it and gives the end.
    #[must_use]
    pub fn and_then(&self, later: &Self) -> Self {
        Self {
            ended: later.ended.clone(),
            bytes_read: self.bytes_read + later.bytes_read,
            bytes_written: self.bytes_written + later.bytes_written,
            ops: self.ops + later.ops,
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
    /// Its version or mode if relevant, such as `fio-3.33`.
    pub detail: Option<String>,
    /// Its results come from a model, not from a drive.
    #[serde(rename = "virtual", default)]
    pub modelled: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Finished,
    /// It was stopped by a signal.
    Interrupted,
    /// Its time limit ended it before all was measured.
    TimeUp,
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
            Self::TimeUp => "time up",
            Self::Failed => "failed",
            Self::Unfinished => "running or cut off",
        }
    }
}
