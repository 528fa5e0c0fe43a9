//! Options of swap.

use super::super::{Declared, Opt, options::within, shared_options as shared, shared_options::*};

/// Little enough for any board, and enough for several seconds of faults.
pub const MEMORY: Opt<u64> =
    Opt::new("memory", "SIZE", memory, "Memory limit of the test program").default("64MiB");

pub const RANDOM: Opt<u8> = Opt::new(
    "random",
    "PERCENT",
    |text| within(text.trim_end_matches('%'), 1..=100),
    "Incompressible part of each page",
)
.default("50");

pub const RUNTIME: Opt<f64> =
    Opt::new("runtime", "TIME", shared::seconds, "Duration of each load").default("5s");

pub const TIMES: Opt<u32> = shared::RUNS.default("3");

/// Sticks and cards wear out.
pub const MOST: Opt<u64> = shared::MAX_BYTES.default("4GiB").help("Limit of bytes swapped per medium");

/// A slow medium takes long to fill memory.
pub const MAX_TIME: Opt<f64> = shared::MAX_TIME.without_default("Time limit per medium");

pub const OPTIONS: &[&dyn Declared] = &[&MEMORY, &RANDOM, &RUNTIME, &TIMES, &MOST, &MAX_TIME, &SEED, &ERASE];

fn memory(text: &str) -> Result<u64, String> {
    match shared::bytes(text)? {
        bytes if (16 << 20..=16 << 30).contains(&bytes) => Ok(bytes),
        _ => Err("from 16 MiB to 16 GiB".to_owned()),
    }
}
