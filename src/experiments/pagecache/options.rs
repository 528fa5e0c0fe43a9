//! What can be asked of pagecache.

use super::super::{Declared, Opt, shared_options as shared};

/// The fewest that an interval is worth something with.
pub const RUNS: Opt<u32> = shared::RUNS.default("3");

/// What can be asked of it.
pub const OPTIONS: &[&dyn Declared] =
    &[&shared::SEED, &shared::ENGINE, &shared::MAX_TIME, &shared::MAX_BYTES, &RUNS];
