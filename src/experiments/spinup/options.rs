//! Options of spinup.

use super::super::{Declared, Opt, shared_options as shared};

pub const RUNS: Opt<u32> = shared::RUNS.default("5");

/// How long to wait for the drive's own timer where standby can't be set, s.
pub const PAUSE: Opt<f64> =
    Opt::new("pause", "TIME", shared::seconds, "Wait for the drive's own timer [default: from --max-time]");

/// All options.
pub const OPTIONS: &[&dyn Declared] =
    &[&shared::SEED, &shared::ENGINE, &shared::MAX_TIME, &shared::MAX_BYTES, &RUNS, &PAUSE];
