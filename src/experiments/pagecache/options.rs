//! Options of pagecache.

use super::super::{Declared, Opt, shared_options as shared};

/// The fewest for a useful interval.
pub const RUNS: Opt<u32> = shared::RUNS.default("3");

/// All options.
pub const OPTIONS: &[&dyn Declared] =
    &[&shared::SEED, &shared::ENGINE, &shared::MAX_TIME, &shared::MAX_BYTES, &RUNS];
