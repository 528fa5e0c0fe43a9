//! What can be asked of cliff.

use super::super::{Declared, Opt, shared_options as shared};

/// Large enough that what an operation costs the processor is no part of the answer.
pub const BS: Opt<u64> = shared::BS.default("1M");

/// Enough to fill most caches.
pub const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("32GiB");

/// How long the drive rests, s.
pub const PAUSE: Opt<f64> =
    Opt::new("pause", "TIME", shared::seconds, "Pause before the drive is written again").default("60s");

/// What can be asked of it.
pub const OPTIONS: &[&dyn Declared] = &[
    &BS,
    &shared::IODEPTH,
    &shared::SEED,
    &shared::ENGINE,
    &shared::PRECISION,
    &shared::MAX_TIME,
    &MAX_BYTES,
    &PAUSE,
];
