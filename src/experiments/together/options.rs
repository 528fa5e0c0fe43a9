//! What can be asked of together.

use super::super::{Declared, Opt, shared_options as shared};

/// Large enough that what an operation costs the processor is no part of the answer.
pub const BS: Opt<u64> = shared::BS.default("1M");

pub const RUNS: Opt<u32> = shared::RUNS.default("3");

/// What can be asked of it.
pub const OPTIONS: &[&dyn Declared] = &[
    &shared::RW,
    &BS,
    &shared::IODEPTH,
    &shared::RWMIXREAD,
    &shared::SEED,
    &shared::ENGINE,
    &shared::MAX_TIME,
    &shared::MAX_BYTES,
    &RUNS,
];
