//! Options of layouts.

use super::super::{
    Declared, Opt,
    options::parsed,
    shared_options::{self as shared, ENGINE, ERASE, SEED, seconds},
    whole_drives,
};

pub use super::super::whole_drives::{CHUNK, LAYOUTS};

pub const SIZE: Opt<u64> = whole_drives::SIZE.default("1GiB");

pub const RUNTIME: Opt<f64> = Opt::new("runtime", "TIME", seconds, "Duration of each load").default("4s");

pub const RUNS: Opt<u32> = shared::RUNS.default("3").heading("This experiment");

pub const SUITE: Opt<String> =
    shared::SUITE.help("More loads: a suite or a file [default: nas]").conflicts(&["quick"]);

pub const QUICK: Opt<bool> = Opt::switch("quick", "Skip the loads of the suite").heading("This experiment");

pub const SURVIVE: Opt<u32> = Opt::new("survive", "N", parsed, "Number of drives that may fail").default("0");

pub const OPTIONS: &[&dyn Declared] =
    &[&LAYOUTS, &ERASE, &SIZE, &CHUNK, &RUNTIME, &RUNS, &QUICK, &SUITE, &SURVIVE, &SEED, &ENGINE];
