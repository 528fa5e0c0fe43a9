//! Options of smallfiles.

use super::super::{Declared, Opt, options::within, shared_options as shared, shared_options::*};

/// The fewest for a useful interval.
pub const RUNS: Opt<u32> = shared::RUNS.default("3");

pub const FILES: Opt<u64> =
    Opt::new("files", "N", |text| within(text, 1..=u64::MAX), "Number of files, measured within the limits")
        .requires("size");

pub const SIZE: Opt<u64> =
    Opt::new("size", "SIZE", shared::bytes, "Size of each of these files").requires("files");

pub const OPTIONS: &[&dyn Declared] = &[&SEED, &MAX_TIME, &MAX_BYTES, &RUNS, &FILES, &SIZE];
