//! Options of layouts.

use super::super::{
    Declared, Opt,
    options::parsed,
    shared_options::{self as shared, ENGINE, ERASE, SEED, bytes, seconds},
};
use crate::units::{KIB, Layout, MIB};

pub const LAYOUTS: Opt<Vec<Layout>> =
    Opt::new("layouts", "LIST", layouts, "Such as raid1,raid5 [default: all that fit]");

pub const SIZE: Opt<u64> = Opt::new("size", "SIZE", size, "How much of each drive is used").default("2GiB");

pub const CHUNK: Opt<u64> =
    Opt::new("chunk", "SIZE", chunk, "Bytes on one drive before the next").default("512k");

pub const RUNTIME: Opt<f64> = Opt::new("runtime", "TIME", seconds, "Time of each load").default("5s");

pub const RUNS: Opt<u32> = shared::RUNS.default("3").heading("This experiment");

pub const SUITE: Opt<String> =
    shared::SUITE.help("Loads besides: a suite or a file [default: nas]").conflicts(&["quick"]);

pub const QUICK: Opt<bool> = Opt::switch("quick", "Without the loads of a suite").heading("This experiment");

pub const WANT: Opt<String> =
    Opt::new("want", "WHAT", parsed, "capacity, speed or safety").choices(&["capacity", "speed", "safety"]);

pub const SURVIVE: Opt<u32> = Opt::new("survive", "N", parsed, "Drives that may fail").default("0");

pub const OPTIONS: &[&dyn Declared] =
    &[&LAYOUTS, &ERASE, &SIZE, &CHUNK, &RUNTIME, &RUNS, &QUICK, &SUITE, &WANT, &SURVIVE, &SEED, &ENGINE];

fn layouts(text: &str) -> Result<Vec<Layout>, String> {
    let known = Layout::ALL.map(Layout::name).join(", ");
    let mut layouts = Vec::new();
    for name in text.split(',') {
        let layout = Layout::of_name(name).ok_or(format!("there are {known}"))?;
        if layouts.contains(&layout) {
            return Err(format!("'{name}' is named twice"));
        }
        layouts.push(layout);
    }
    Ok(layouts)
}

fn size(text: &str) -> Result<u64, String> {
    match bytes(text)? / MIB * MIB {
        size if size >= 96 * MIB => Ok(size),
        _ => Err("96 MiB or more".to_owned()),
    }
}

fn chunk(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        chunk if chunk.is_power_of_two() && (4 * KIB..=64 * MIB).contains(&chunk) => Ok(chunk),
        _ => Err("a power of two from 4 KiB to 64 MiB".to_owned()),
    }
}
