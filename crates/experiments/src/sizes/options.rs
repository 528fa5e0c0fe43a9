//! Options of sizes.

use super::super::{Declared, Opt, shared_options as shared, shared_options::*};

/// A median needs this many for an interval.
pub const RUNS: Opt<u32> = shared::RUNS.default("6");

pub const LARGEST: Opt<u64> =
    Opt::new("largest", "SIZE", shared::bytes, "Largest transfer, up to 16M").default("1M");

/// For all transfers together, because there are hundreds of small ones.
pub const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.help("Limit of bytes written, and of bytes read");

pub const OPTIONS: &[&dyn Declared] = &[&SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS, &LARGEST];
