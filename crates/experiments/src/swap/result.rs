//! Results of a program that uses more memory than its limit.

use serde::{Deserialize, Serialize};

use crate::{record::Observation, units::Histogram};

/// One load, after its memory was filled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapLoadResult {
    pub seconds: f64,
    pub operations: u64,
    pub latency: Histogram,
    /// Bytes written to the drive, or held by zram more than before; None where that is not known.
    pub written: Option<u64>,
    /// Why the load was ended before its time; then the rest is zero.
    pub ended: Option<String>,
    /// It was ended because as much was written as was allowed.
    pub is_enough: bool,
}

crate::kind!("swap.load", SwapLoadResult as Observation);

impl Observation for SwapLoadResult {
    fn fits(&self) -> bool {
        self.seconds > 0.0 || self.ended.is_some()
    }
}
