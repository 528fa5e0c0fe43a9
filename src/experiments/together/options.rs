//! Options of together.

use super::super::{Declared, Opt, shared_options as shared};

/// Large enough that the processor cost of an operation hardly counts.
pub const BS: Opt<u64> = shared::BS.default("1M");

pub const RUNS: Opt<u32> = shared::RUNS.default("3");

/// All options.
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
