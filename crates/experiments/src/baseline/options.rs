//! Options of baseline.

use super::super::{Declared, shared_options::*};

/// Most time on each target, s: in rounds, and where the sustained speed is asked for.
pub const SECONDS: f64 = 360.0;
pub const SUSTAINED_SECONDS: f64 = 1800.0;

/// What limits a load; a procedure that is followed exactly has no limits.
pub const LIMITS: [&str; 6] =
    [QUICK.name(), THOROUGH.name(), PRECISION.name(), ROUNDS.name(), MAX_TIME.name(), MAX_BYTES.name()];

pub const OPTIONS: &[&dyn Declared] = &[
    &SUITE,
    &RW,
    &BS,
    &IODEPTH,
    &RWMIXREAD,
    &CACHING,
    &VERIFY,
    &SEED,
    &ENGINE,
    &const { QUICK.help("5 rounds of each load, in half the time") },
    &const { THOROUGH.help("sustained speeds, ±3 % within a run, in 2 h at most") },
    &const { PRECISION.without_default("Target half-width [default: 10%; sustained: 5%]") },
    &ROUNDS,
    &const { MAX_TIME.without_default("Time limit per target [default: 6m; sustained: 30m]") },
    &const { MAX_BYTES.without_default("Byte limit per target [default: 3 to 12GiB a write]") },
];
