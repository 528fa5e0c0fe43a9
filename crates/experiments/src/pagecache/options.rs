//! Options of pagecache.

use super::super::{Declared, Opt, shared_options as shared, shared_options::*};

/// The fewest for a useful interval.
pub const RUNS: Opt<u32> = shared::RUNS.default("3");

pub const OPTIONS: &[&dyn Declared] = &[&SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS];
