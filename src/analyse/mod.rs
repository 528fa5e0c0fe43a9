//! Numbers with intervals. Knows windows and histograms, no drives and no files.
//!
//! Everything here is a pure function of windows: fed with the windows of a stored record it gives the same numbers
//! again. [`Adaptive`] decides when a load has been measured well enough, [`Zones`] does so for disks that rotate,
//! [`Tail`] gives percentiles, [`waiting`] what an open stream of requests would have waited, [`compare`] and
//! [`repeat`] put several results side by side, [`CostFit`] finds the costs that add up to what was seen, [`sharing`] what
//! loads at the same time have in common, [`crossed`] tells what is a drive's from what is its bay's.

mod adaptive;
mod assessment;
pub mod ceiling_fit;
mod chunks;
mod cliff;
mod cliff_estimate;
pub mod compare;
mod cost_fit;
mod estimate;
mod interval;
pub mod latin_square;
pub mod open_loop;
pub mod repeat;
mod rules;
mod stalls;
mod steady;
mod tail;
mod throughput;
mod timeline;
mod write_unit;
mod zones;

#[cfg(test)]
mod tests;

pub use adaptive::{Adaptive, Decision};
pub use cliff_estimate::CliffEstimate;
pub use cost_fit::{CostFit, CostSample};
pub use estimate::Estimate;
pub use rules::Rules;
pub use tail::{LatencyPercentile, Tail};
pub use throughput::{Cliff, End, Reason, Stall, StallSummary, Throughput, Unseen};
pub use timeline::{Stretch, Timeline};
pub use write_unit::{WriteUnit, write_unit};
pub use zones::{Position, Zoned, Zones};
