//! A window: a period of a running load.

use serde::{Deserialize, Serialize};

use super::Histogram;

/// An operation among the slowest of its load so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowOp(
    /// The operation's number within its load, from 0, in the order of completion.
    pub u64,
    /// Latency, ns.
    pub u64,
);

/// One of the equally spaced positions at which a rotating disk is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZonePoint {
    /// Its position on the finest grid, 0 to 64.
    pub step: u32,
    /// Offset on the target, bytes.
    pub offset: u64,
}

/// A period of a running load, from the end of the window before it to the completion of its last operation. Times
/// are ns since the load's start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub from_ns: u64,
    pub to_ns: u64,
    pub bytes: u64,
    pub ops: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// Time in which drivebench was suspended during the window or one of its operations, ns: its latencies are not the drive's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspended_ns: u64,
    pub latency: Histogram,
    /// Latencies of the reads in a mixed load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Histogram>,
    /// Operations slower than 99.5 % of those before them, in order. Tail analysis finds clusters in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<SlowOp>,
}

pub fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Window {
    pub fn seconds(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }
}
