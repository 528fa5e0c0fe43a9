//! The plan of swap.

use super::{
    super::{PlanError, Request, free_space::largest_file, target_checks::fits},
    act::{MakeSwapArea, SwapMedium, UseSwap},
    options,
};
use crate::{
    inventory::Inventory,
    plan::{Plan, Steps},
    target::{Kind, Target, TargetError},
    units::decimal_bytes,
};

/// What is named to swap to compressed memory.
const ZRAM: &str = "zram";

/// Filesystems on which Linux swaps to a file without further conditions.
const SWAPS: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "vfat", "exfat", "jfs"];

/// Requests at so much of the memory that is allowed, in percent: the first one fits.
const REQUESTS: [u32; 5] = [50, 110, 125, 150, MOST];
const MOST: u32 = 200;

/// Also knows compressed memory.
pub(in super::super) fn resolve(inventory: &Inventory, text: &str) -> Result<Target, TargetError> {
    match Target::in_memory(inventory).filter(|_| text == ZRAM) {
        Some(memory) => Ok(Target { given: text.to_owned(), ..memory }),
        None => Target::resolve(inventory, text),
    }
}

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let memory = ask.values.get(&options::MEMORY);
    // All that the largest load uses, though a part of it stays in memory: the kernel may run short of swap before it is full.
    let area = memory * u64::from(MOST) / 100;
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let is_zram = target.given == ZRAM && target.is_memory();
        let medium = if is_zram { SwapMedium::Zram } else { SwapMedium::File };
        let refused = |why| PlanError::Unsuitable { path: target.path.clone(), why };
        if medium == SwapMedium::File {
            check(target)?;
            fits(target, area).map_err(PlanError::without_limit)?;
            if let Some(most) = largest_file(target).filter(|most| *most < area) {
                let (most, area) = (decimal_bytes(most), decimal_bytes(area));
                return Err(refused(format!(
                    "a file there holds at most {most}, and the swap area needs {area}: lower --memory"
                )));
            }
        }
        steps.add(&[at], MakeSwapArea { medium, area, memory, most: ask.values.get(&options::MOST) });
        for run in 1..=ask.values.get(&options::TIMES) {
            for percent in REQUESTS {
                let (random, seconds) = (ask.values.get(&options::RANDOM), ask.values.get(&options::RUNTIME));
                steps.add(&[at], UseSwap { percent, run, memory, random, seconds, seed: ask.seed });
            }
        }
    }
    let planned = ask.planned(steps);
    let limit = planned.limit.filter(|_| ask.values.is_typed(options::MAX_TIME.name()));
    Ok(Plan { limit, engine: None, ..planned })
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
