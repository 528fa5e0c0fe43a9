//! Options of spinup.

use super::super::{Declared, Opt, shared_options as shared, shared_options::*};

pub const RUNS: Opt<u32> = shared::RUNS.default("5");

/// How long to wait for the drive's own timer where standby can't be set, s.
pub const PAUSE: Opt<f64> =
    Opt::new("pause", "TIME", shared::seconds, "Wait for the drive's own timer [default: from --max-time]");

pub const OPTIONS: &[&dyn Declared] = &[&SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS, &PAUSE];
