//! Options of bays.

use super::super::{Declared, Opt, shared_options as shared, shared_options::*};

pub const RUNS: Opt<u32> = shared::RUNS.help("Repetitions in each bay [default: by drives]");

pub const OPTIONS: &[&dyn Declared] = &[
    &RW, &BS, &IODEPTH, &RWMIXREAD, &CACHING, &SEED, &ENGINE, &QUICK, &THOROUGH, &MAX_TIME, &MAX_BYTES, &RUNS,
];
