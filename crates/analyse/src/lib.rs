//! Numbers with intervals. Knows windows and histograms, no drives and no files.
//!
//! Everything here is a pure function of windows: the windows of a stored record give the same numbers again.
//! [`Adaptive`] decides when the sustained speed of a load is known, [`Zones`] does so for rotating disks; [`rounds`] gives the speed of
//! a load that was measured in pieces. [`Tail`] gives
//! latency percentiles. [`compare`] and [`repeat`]
//! compare and combine several results. [`CostFit`] fits fixed and per-byte costs, [`ceiling_fit`] the ceilings of shared
//! links, [`pool_model`] predicts pools, and [`latin_square`] separates the effects of drives from those of bays.

use drivebench_units as units;

mod adaptive;
mod assessment;
pub mod ceiling_fit;
pub mod change;
mod change_point;
mod chunks;
mod cliff;
mod cliff_estimate;
pub mod compare;
mod cost_fit;
mod estimate;
mod interval;
pub mod latin_square;
pub mod pool_model;
mod proportion;
pub mod repeat;
pub mod rounds;
mod rules;
mod span;
mod stalls;
mod standing;
mod steady;
mod tail;
mod throughput;
mod timeline;
mod zones;

#[cfg(test)]
mod change_point_tests;
#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod tests;

pub use adaptive::Adaptive;
pub use change_point::{ChangePoint, change_point};
pub use cliff::past_cliffs;
pub use cliff_estimate::CliffEstimate;
pub use cost_fit::{CostFit, CostSample};
pub use estimate::Estimate;
pub use proportion::proportion;
pub use rules::{Decision, Rules};
pub use stalls::Stalled;
pub use standing::Standing;
pub use tail::Tail;
pub use throughput::{Cliff, Reason, Stall, StallSummary, Throughput, Unseen};
pub use timeline::{Stretch, Timeline};
pub use zones::{Position, Zoned, Zones};
