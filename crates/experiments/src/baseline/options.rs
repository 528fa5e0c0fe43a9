//! Options of baseline.

use super::super::{Declared, shared_options::*};

/// Most time on each target, s: of spans, and where the sustained speed is asked for.
pub const SPAN_SECONDS: f64 = 360.0;
pub const SUSTAINED_SECONDS: f64 = 1800.0;

/// What limits a load; a procedure that is followed exactly has no limits.
pub const LIMITS: [&str; 5] =
    [QUICK.name(), THOROUGH.name(), PRECISION.name(), MAX_TIME.name(), MAX_BYTES.name()];

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
    &const { QUICK.help("±10 %, in half the time") },
    &const { THOROUGH.help("sustained speeds, ±3 % within a run, in 2 h at most") },
    &PRECISION,
    &const { MAX_TIME.without_default("Most time on each target [default: 6m; sustained: 30m]") },
    &const { MAX_BYTES.without_default("Most bytes per target [default: 3 to 12GiB a write]") },
];
