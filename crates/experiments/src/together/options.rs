//! Options of together.

use super::super::{Declared, Opt, shared_options as shared, shared_options::*};

/// Large enough that the processor cost of an operation hardly counts.
pub const BS: Opt<u64> = shared::BS.default("1M");

/// Drives are measured one after the other, and at once.
pub const MAX_TIME: Opt<f64> = shared::MAX_TIME.help("Time limit for all targets together");

pub const RUNS: Opt<u32> = shared::RUNS.default("3");

pub const OPTIONS: &[&dyn Declared] =
    &[&RW, &BS, &IODEPTH, &RWMIXREAD, &SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS];
