//! Options and checks of the experiments that erase whole drives and build pools of them.

use std::path::Path;

use super::{Opt, PlanError, options::choices, shared_options::bytes};
use crate::{
    inventory::SYSTEM_MOUNTS,
    run::FOR_RUNS,
    target::{Kind, Target},
    units::{self, KIB, Layout, MIB, decimal_bytes, listed, shell_word},
};

pub const LAYOUTS: Opt<Vec<Layout>> =
    Opt::new("layouts", "LIST", layouts, "Layouts, such as raid1,raid5 [default: all that fit]");

pub const SIZE: Opt<u64> = Opt::new("size", "SIZE", size, "Bytes used of each drive");

pub const CHUNK: Opt<u64> = Opt::new("chunk", "SIZE", chunk, "Chunk size of striped arrays").default("512k");

fn layouts(text: &str) -> Result<Vec<Layout>, String> {
    choices(text, &Layout::ALL.map(|layout| (layout.name(), layout)))
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

/// Refuses fewer than two targets, targets other than whole drives, and drives smaller than `size`.
pub fn check(experiment: &'static str, targets: &[Target], size: u64) -> Result<(), PlanError> {
    match targets.len() {
        0 | 1 => Err(PlanError::TooFew { experiment, least: 2 }),
        _ => check_each(&format!("{experiment} erases"), targets, size),
    }
}

/// The same for any number of targets. `what` is the beginning of the refusal, such as `accept erases`.
pub fn check_each(what: &str, targets: &[Target], size: u64) -> Result<(), PlanError> {
    for target in targets {
        let drive = match &target.drives[..] {
            [drive] if target.kind == Kind::BlockDevice && target.path.to_str() == Some(&drive.node()) => {
                drive
            }
            _ => {
                let why = match &target.mount {
                    Some(mount) if SYSTEM_MOUNTS.contains(&mount.path.as_str()) => format!(
                        "{what} whole drives, and the system runs from this one ({}): name others, by bay, serial or path",
                        mount.path
                    ),
                    Some(mount) if target.kind == Kind::Directory => format!(
                        "{what} whole drives, and this one is mounted: unmount it with `sudo umount {}`, then \
                         name it by bay, serial or path",
                        shell_word(&mount.path)
                    ),
                    _ => format!("{what} whole drives: name them, by bay, serial or path"),
                };
                return Err(PlanError::Unsuitable { path: target.path.clone(), why });
            }
        };
        if drive.bytes() < size {
            let (given, holds, size) = (&target.given, decimal_bytes(drive.bytes()), units::size(size));
            return Err(PlanError::Options(format!(
                "{given} holds {holds}, less than the {size} that are used of each drive: name a larger one, or lower --size"
            )));
        }
    }
    Ok(())
}

/// The requested layouts, or all that this number of drives allows.
pub fn layouts_of(asked: Option<Vec<Layout>>, drives: usize) -> Result<Vec<Layout>, PlanError> {
    let fits = |layout: &Layout| layout.least() <= drives;
    let Some(asked) = asked else {
        return Ok(Layout::ALL.into_iter().filter(fits).collect());
    };
    match asked.iter().find(|layout| !fits(layout)) {
        Some(layout) => {
            let least = layout.least();
            Err(PlanError::Options(format!("{layout} needs at least {least} drives, {drives} given")))
        }
        None => Ok(asked),
    }
}

/// Refuses layouts if none of them survives this number of failures.
pub fn check_survival(layouts: &[Layout], drives: usize, survive: u32) -> Result<(), PlanError> {
    let most = layouts.iter().map(|layout| layout.survives(drives)).max().unwrap_or(0);
    match most < survive as usize {
        true => {
            let names = listed(&layouts.iter().map(|layout| layout.name()).collect::<Vec<_>>());
            Err(PlanError::Options(format!(
                "--survive {survive}: at most {most} of {drives} drives may fail with {names}"
            )))
        }
        false => Ok(()),
    }
}

/// The directory of a pool on the drives of these targets; `name` is that of all pools of the run.
pub fn pool_target(name: &str, path: &str, given: String, on: &[Target]) -> Target {
    Target {
        given,
        kind: Kind::Directory,
        path: Path::new(FOR_RUNS).join(name).join(path),
        drives: on.iter().flat_map(|target| target.drives.clone()).collect(),
        direct_alignment: on.iter().map(|target| target.direct_alignment).max().unwrap_or(512),
        ..Target::default()
    }
}

/// A name for the pools of these drives, unique among concurrent runs.
pub fn name(experiment: &str, identities: &[String]) -> String {
    let mut sorted = identities.to_vec();
    sorted.sort();
    // FNV-1a.
    let hash = sorted
        .iter()
        .flat_map(|identity| identity.bytes().chain([0]))
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{experiment}-{:04x}", hash >> 16 ^ hash & 0xffff)
}
