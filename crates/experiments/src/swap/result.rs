//! What a program saw that used more memory than it may have.

use serde::{Deserialize, Serialize};

use crate::{
    record::{MOST, Observation, lasts},
    units::Histogram,
};

/// A swap area that was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapAreaResult {
    /// Duration of making the area, in seconds.
    pub made: f64,
    /// Names and values of the kernel's settings for swap.
    pub settings: Vec<(String, String)>,
}

/// One load, after its memory was filled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwapLoadResult {
    pub seconds: f64,
    pub operations: u64,
    pub latency: Histogram,
    /// Processor time of the program and of the kernel on its behalf, in seconds.
    pub processor: f64,
    /// How long nothing of the control group could go on for want of memory (PSI full), in seconds; None where the kernel doesn't
    /// count it.
    pub stalled: Option<f64>,
    /// Pages that the whole machine read from swap, in bytes.
    pub swapped_in: u64,
    /// Pages that the whole machine wrote to swap, in bytes.
    pub swapped_out: u64,
    /// Bytes written to the drive, or held by zram more than before; None where that is not known.
    pub written: Option<u64>,
    /// The most that other programs had in the area, in bytes.
    pub others: u64,
    /// Whether other programs had to wait was not watched, because the kernel doesn't count that.
    pub is_unwatched: bool,
    /// Why the load was ended before its time; then the rest is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// It was ended because as much was written as was allowed.
    pub is_enough: bool,
}

crate::kind!("swap.area", SwapAreaResult as Observation);

impl Observation for SwapAreaResult {
    fn fits(&self) -> bool {
        lasts(self.made)
    }
}

crate::kind!("swap.load", SwapLoadResult as Observation);

impl Observation for SwapLoadResult {
    fn fits(&self) -> bool {
        let counts =
            [self.operations, self.swapped_in, self.swapped_out, self.written.unwrap_or(0), self.others];
        (self.seconds > 0.0 || self.ended.is_some())
            && [self.seconds, self.processor, self.stalled.unwrap_or(0.0)].into_iter().all(lasts)
            && counts.iter().all(|n| *n < MOST)
    }
}
