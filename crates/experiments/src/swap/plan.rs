//! The options and the plan of swap.

use super::{
    super::{
        Declared, Opt, PlanError, Request,
        options::within,
        shared_options::{self as shared, ERASE, SEED},
        target_checks::{fits, largest_file},
    },
    act::{MakeSwapArea, SwapMedium, UseSwap},
};
use crate::{
    inventory::Inventory,
    plan::{Plan, Steps},
    target::{Kind, Target, TargetError},
    units::decimal_bytes,
};

/// Little enough for any board, and enough for several seconds of faults.
const MEMORY: Opt<u64> =
    Opt::new("memory", "SIZE", memory, "Memory limit of the test program").default("64MiB");

const RANDOM: Opt<u8> = Opt::new(
    "random",
    "PERCENT",
    |text| within(text.trim_end_matches('%'), 1..=100),
    "Incompressible part of each page",
)
.default("50");

const RUNTIME: Opt<f64> = Opt::new("runtime", "TIME", shared::seconds, "Duration of each load").default("5s");

const TIMES: Opt<u32> = shared::RUNS.default("3");

/// Sticks and cards wear out.
const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("4GiB").help("Limit of bytes swapped per medium");

/// A slow medium takes long to fill memory.
const MAX_TIME: Opt<f64> = shared::MAX_TIME.without_default("Time limit per medium");

pub(super) const OPTIONS: &[&dyn Declared] =
    &[&MEMORY, &RANDOM, &RUNTIME, &TIMES, &MAX_BYTES, &MAX_TIME, &SEED, &ERASE];

fn memory(text: &str) -> Result<u64, String> {
    match shared::bytes(text)? {
        bytes if (16 << 20..=16 << 30).contains(&bytes) => Ok(bytes),
        _ => Err("from 16 MiB to 16 GiB".to_owned()),
    }
}

/// What is named to swap to compressed memory; an algorithm may follow.
const ZRAM: &str = "zram";
/// What stands before a directory for zswap in front of it.
const ZSWAP: &str = "zswap+";

/// Filesystems on which Linux swaps to a file without further conditions.
const SWAPS: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "vfat", "exfat", "jfs"];

/// Requests at so much of the memory that is allowed, in percent: the first one fits.
const REQUESTS: [u32; 5] = [50, 110, 125, 150, MOST];
const MOST: u32 = 200;

/// Also knows compressed memory, and directories behind zswap.
pub(super) fn resolve(inventory: &Inventory, text: &str) -> Result<Target, TargetError> {
    let given = |target: Target| Target { given: text.to_owned(), ..target };
    if algorithm(text).is_some() {
        if let Some(memory) = Target::in_memory(inventory) {
            return Ok(given(memory));
        }
    }
    match text.strip_prefix(ZSWAP) {
        Some(dir) => Target::resolve(inventory, dir).map(given),
        None => Target::resolve(inventory, text),
    }
}

/// The algorithm that is named, if it is zram; `Some(None)` for the kernel's own.
fn algorithm(text: &str) -> Option<Option<String>> {
    match text.strip_prefix(ZRAM)? {
        "" => Some(None),
        rest => {
            let name = rest.strip_prefix(':')?;
            let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            is_name.then(|| Some(name.to_owned()))
        }
    }
}

fn medium(target: &Target) -> Result<SwapMedium, PlanError> {
    Ok(match algorithm(&target.given) {
        Some(algorithm) if target.is_memory() => SwapMedium::Zram { algorithm },
        _ if target.given.starts_with(ZSWAP) => SwapMedium::Zswap,
        _ if target.kind == Kind::BlockDevice => device(target)?,
        _ => SwapMedium::File,
    })
}

/// A whole drive without partitions, or a partition.
fn device(target: &Target) -> Result<SwapMedium, PlanError> {
    let refused = |why: &str| Err(PlanError::Unsuitable { path: target.path.clone(), why: why.to_owned() });
    match &target.drives[..] {
        [drive] if target.layers.is_empty() => {
            let is_whole = target.path.to_str() == Some(&drive.node());
            match is_whole && !drive.partitions.is_empty() {
                true => refused("it has partitions: name one of them"),
                false => Ok(SwapMedium::Device { drive: drive.identity() }),
            }
        }
        _ => refused("it is neither a drive nor a partition of one: name one, or a directory"),
    }
}

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let memory = ask.values.get(&MEMORY);
    // All that the largest load uses, though a part of it stays in memory: the kernel may run short of swap before it is full.
    let area = memory * u64::from(MOST) / 100;
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let medium = medium(target)?;
        let refused = |why| PlanError::Unsuitable { path: target.path.clone(), why };
        if let SwapMedium::Device { .. } = &medium {
            let holds = target.size.unwrap_or(0);
            if holds < area {
                return Err(refused(format!("it {}", too_small(holds, area))));
            }
        }
        if medium.is_file() {
            check(target)?;
            fits(target, area)?;
            if let Some(most) = largest_file(target).filter(|most| *most < area) {
                return Err(refused(format!("a file there {}", too_small(most, area))));
            }
        }
        steps.add(&[at], MakeSwapArea { medium, area, memory, most: ask.values.get(&MAX_BYTES) });
        for run in 1..=ask.values.get(&TIMES) {
            for percent in REQUESTS {
                let (random, seconds) = (ask.values.get(&RANDOM), ask.values.get(&RUNTIME));
                steps.add(&[at], UseSwap { percent, run, memory, random, seconds, seed: ask.seed });
            }
        }
    }
    let planned = ask.planned(steps);
    let limit = planned.limit.filter(|_| ask.values.is_typed(MAX_TIME.name()));
    Ok(Plan { limit, engine: None, ..planned })
}

fn too_small(holds: u64, area: u64) -> String {
    let (holds, area) = (decimal_bytes(holds), decimal_bytes(area));
    format!("holds at most {holds}, and the swap area needs {area}: lower --memory")
}

/// Refuses what Linux can't swap to.
fn check(target: &Target) -> Result<(), PlanError> {
    if target.kind != Kind::Directory {
        return Err(PlanError::NoDirectory { path: target.path.clone() });
    }
    let refused = |why: String| Err(PlanError::Unsuitable { path: target.path.clone(), why });
    if target.is_memory() {
        return refused("it is in memory: to swap to compressed memory, name zram".to_owned());
    }
    match &target.mount {
        Some(mount) if SWAPS.contains(&mount.filesystem.as_str()) => Ok(()),
        Some(mount) => refused(format!(
            "a plain file on {} cannot be a swap area: name a directory on {}",
            mount.filesystem,
            SWAPS.join(", ")
        )),
        None => refused("which filesystem it is on is not known".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zram_is_named_with_or_without_an_algorithm() {
        assert_eq!(algorithm("zram"), Some(None));
        assert_eq!(algorithm("zram:lz4"), Some(Some("lz4".to_owned())));
        for other in ["zram:", "zram:a/b", "zram:a b", "zramdisk", "/mnt/zram"] {
            assert_eq!(algorithm(other), None, "{other}");
        }
    }
}
