//! Options of baseline.

use super::super::{Declared, shared_options::*};

pub const OPTIONS: &[&dyn Declared] = &[
    &RW, &BS, &IODEPTH, &RWMIXREAD, &CACHING, &VERIFY, &SEED, &ENGINE, &PROTOCOL, &QUICK, &THOROUGH,
    &PRECISION, &MAX_TIME, &MAX_BYTES,
];
