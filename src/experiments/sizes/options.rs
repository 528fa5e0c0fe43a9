//! Options of sizes.

use super::super::{Declared, Opt, shared_options as shared};

/// A median needs this many for an interval.
pub const RUNS: Opt<u32> = shared::RUNS.default("6");

/// The largest transfer.
pub const LARGEST: Opt<u64> =
    Opt::new("largest", "SIZE", shared::bytes, "Largest transfer, up to 16M").default("1M");

/// All options.
pub const OPTIONS: &[&dyn Declared] =
    &[&shared::SEED, &shared::ENGINE, &shared::MAX_TIME, &shared::MAX_BYTES, &RUNS, &LARGEST];
