//! Options of baseline.

use super::super::{Declared, shared_options as shared};

/// All options.
pub const OPTIONS: &[&dyn Declared] = &[
    &shared::RW,
    &shared::BS,
    &shared::IODEPTH,
    &shared::RWMIXREAD,
    &shared::CACHING,
    &shared::VERIFY,
    &shared::SEED,
    &shared::ENGINE,
    &shared::PROTOCOL,
    &shared::QUICK,
    &shared::THOROUGH,
    &shared::PRECISION,
    &shared::MAX_TIME,
    &shared::MAX_BYTES,
];
