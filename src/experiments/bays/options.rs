//! Options of bays.

use super::super::{Declared, Opt, shared_options as shared};

pub const RUNS: Opt<u32> = shared::RUNS.help("Repetitions in each bay [default: by drives]");

/// All options.
pub const OPTIONS: &[&dyn Declared] = &[
    &shared::RW,
    &shared::BS,
    &shared::IODEPTH,
    &shared::RWMIXREAD,
    &shared::CACHING,
    &shared::SEED,
    &shared::ENGINE,
    &shared::QUICK,
    &shared::THOROUGH,
    &shared::MAX_TIME,
    &shared::MAX_BYTES,
    &RUNS,
];
