//! Options of smallfiles.

use super::super::{Declared, Opt, options::parsed, shared_options as shared};

/// The fewest for a useful interval.
pub const RUNS: Opt<u32> = shared::RUNS.default("3");

/// How many files the mix has whose copying is predicted.
pub const FILES: Opt<u64> =
    Opt::new("files", "N", files, "Files in the mix whose copying is predicted").requires("size");

/// How large each of them is, bytes.
pub const SIZE: Opt<u64> =
    Opt::new("size", "SIZE", shared::bytes, "Size of each file of that mix").requires("files");

/// All options.
pub const OPTIONS: &[&dyn Declared] =
    &[&shared::SEED, &shared::ENGINE, &shared::MAX_TIME, &shared::MAX_BYTES, &RUNS, &FILES, &SIZE];

fn files(text: &str) -> Result<u64, String> {
    match parsed(text)? {
        0 => Err("1 or more".to_owned()),
        files => Ok(files),
    }
}
