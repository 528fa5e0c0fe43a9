//! Options of power.

use super::super::{
    Declared, Opt,
    shared_options::{MAX_BYTES as MOST, SEED, bytes, seconds},
};

pub const SIZE: Opt<u64> =
    Opt::new("size", "SIZE", bytes, "Size of the files written before the cut").default("64MiB");

pub const WAIT: Opt<f64> =
    Opt::new("runtime", "TIME", seconds, "Longest wait for the power cut").default("10m");

/// Small synced writes: a stick writes much more than that inside.
pub const MAX_BYTES: Opt<u64> = MOST.default("1GiB");

pub const OPTIONS: &[&dyn Declared] = &[&SIZE, &WAIT, &MAX_BYTES, &SEED];
