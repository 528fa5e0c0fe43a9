//! The result of a load: sustained throughput, stalls, cliffs, and what the load was too short to show.

use super::{Estimate, stalls::LONG};
use crate::units::MIB;

/// Why the requested precision was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    TooShort,
    /// It was interrupted, or failed.
    Stopped,
    /// Parts of the load differ from each other by more than noise.
    Drifting,
    /// Stalls are too rare or too different for an estimate; more are needed.
    IrregularStalls,
    Noisy,
    /// The byte or time limit was reached before the required minimum.
    Budget,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Throughput {
    /// Bytes per second.
    pub estimate: Estimate,
    /// Whether the estimate is what the drive sustains; otherwise it is the speed over the span that was measured.
    pub sustained: bool,
    /// Why it did not converge; `None` where it did.
    pub reason: Option<Reason>,
    pub bytes: u64,
    pub seconds: f64,
    /// Bytes at the beginning that the estimate leaves out: fast cache, warming up.
    pub discarded: u64,
    pub used: u64,
    pub chunk: u64,
    /// Total bytes that a sustained speed of the requested precision takes at least, if that can be computed.
    pub bytes_needed: Option<u64>,
    pub stalls: StallSummary,
    /// Steps down, in order.
    pub cliffs: Vec<Cliff>,
    /// What a load of this length can't exclude; `None` if it is too short for a statement.
    pub unseen: Option<Unseen>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct StallSummary {
    pub each: Vec<Stall>,
    pub mean_seconds: f64,
    pub time_share: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Stall {
    /// When its window began, s since the load's start.
    pub at_seconds: f64,
    /// How much longer than usual it took, s.
    pub seconds: f64,
}

/// The speed dropped once and stayed low.
#[derive(Debug, Clone, PartialEq)]
pub struct Cliff {
    pub at_bytes: u64,
    /// Typical throughput before and after, bytes per second.
    pub before: f64,
    pub after: f64,
}

/// What a load of this length can't exclude, by the rule of three.
#[derive(Debug, Clone, PartialEq)]
pub struct Unseen {
    /// Stalls rarer than one in this many bytes can't be excluded.
    pub rarer_than: u64,
    /// The largest share of the throughput that such stalls of [`Unseen::STALL_SECONDS`] each would cost.
    pub cost_share: f64,
    /// The same cost as a time per MiB, s.
    pub cost: f64,
}

impl Throughput {
    /// Minimum duration of a sustained speed, s. By the rule of three,
    /// stalls that were not seen in this time cost no more than 5 %.
    pub const SUSTAINED_SECONDS: f64 = 3.0 * LONG / 0.05;
}

impl Cliff {
    /// Minimum step of a cliff, as a share.
    pub const STEP: f64 = 0.15;
}

impl Unseen {
    /// The limit after this many bytes without a cliff, at this mean time per MiB, s.
    pub(super) fn after(clean_bytes: u64, mean: f64) -> Self {
        let per_mib = 3.0 * Self::STALL_SECONDS / (clean_bytes as f64 / MIB as f64);
        let cost_share = per_mib / (mean + per_mib);
        Self { rarer_than: clean_bytes / 3, cost_share, cost: per_mib }
    }

    /// The assumed length of unseen stalls, s.
    pub const STALL_SECONDS: f64 = LONG;
}
