//! What a program saw that used more memory than it might have.

use serde::{Deserialize, Serialize};

use super::event::{MOST, Observation, lasts};
use crate::{plan::SwapWork, units::Histogram};

/// A setting by this name: other programs' waits were not watched, and why.
pub const WAITS: &str = "waits of other programs";

/// A swap area, and the loads with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Swapped {
    /// Seconds that making the area took.
    pub made: f64,
    /// Bytes written to the drive from the first one of the area on; none of zram, and where that is not known.
    pub written: Option<u64>,
    /// What decides how the kernel swaps: names and values.
    pub settings: Vec<(String, String)>,
    pub loads: Vec<SwapLoad>,
    /// Why it ended before all loads were done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// That was because as much was written as was allowed.
    pub enough: bool,
}

/// One load, after its memory was filled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwapLoad {
    pub work: SwapWork,
    /// The repetition, from 1 on.
    pub run: u32,
    pub seconds: f64,
    pub operations: u64,
    pub latency: Histogram,
    /// Processor time of the program, the kernel's for it included, s.
    pub processor: f64,
    /// How long nothing of the control group could go on for want of memory (PSI full), s; none where the kernel doesn't say.
    pub stalled: Option<f64>,
    /// Pages read from swap and written to it by the whole machine, in bytes.
    pub swapped_in: u64,
    pub swapped_out: u64,
    /// Bytes written to the drive, or held by zram more than before; none where that is not known.
    pub written: Option<u64>,
}

#[typetag::serde(name = "swapped")]
impl Observation for Swapped {
    fn fits(&self) -> bool {
        let load = |load: &SwapLoad| {
            let counts = [load.operations, load.swapped_in, load.swapped_out, load.written.unwrap_or(0)];
            load.seconds > 0.0
                && [load.seconds, load.processor, load.stalled.unwrap_or(0.0)].into_iter().all(lasts)
                && counts.iter().all(|n| *n < MOST)
        };
        lasts(self.made) && self.written.unwrap_or(0) < MOST && self.loads.iter().all(load)
    }
}
