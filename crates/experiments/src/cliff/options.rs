//! Options of cliff.

use super::super::{Declared, Opt, shared_options as shared, shared_options::*};

/// Large enough that the processor cost of an operation hardly counts.
pub const BS: Opt<u64> = shared::BS.default("1M");

/// Enough to fill most caches.
pub const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("32GiB");

pub const PAUSE: Opt<f64> =
    Opt::new("pause", "TIME", shared::seconds, "Pause before the drive is written again").default("60s");

pub const OPTIONS: &[&dyn Declared] =
    &[&BS, &IODEPTH, &SEED, &ENGINE, &PRECISION, &MAX_TIME, &MAX_BYTES, &PAUSE];
