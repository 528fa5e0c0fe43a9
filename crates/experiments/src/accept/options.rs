//! Options of accept.

use super::super::{Declared, Opt, shared_options as shared};

/// The stamps of an earlier run must not pass for those of this one.
pub const SEED: Opt<u64> = shared::SEED.without_default("Seed of the stamps [default: a new one]");

pub const OPTIONS: &[&dyn Declared] = &[&shared::ERASE, &SEED];
