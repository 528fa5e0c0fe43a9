//! What an ideal observer would report: from a scenario alone, and from the ledgers of its drives.

mod model;
mod observed;
mod text;

pub use model::{CacheTruth, DriveTruth, Speeds, StallTruth, drives, mean_seconds};
pub use observed::{Limit, Run, Stall, runs, within};
pub use text::describe;

/// A small operation, bytes.
pub const SMALL: u64 = 4096;
