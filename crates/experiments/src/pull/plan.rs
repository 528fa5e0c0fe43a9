//! The plan of pull.

use std::path::PathBuf;

use super::{
    super::{
        PlanError, Request,
        whole_drives::{check, layouts_of, name},
    },
    BuiltPool, Pull, PulledPool, in_use, options,
};
use crate::{
    plan::{BuildPool, Plan, RemovePool, Steps},
    target::{Kind, Target},
    test_files::FileTree,
    units::{Layout, MIB},
};

/// The share of a pool that is filled with files: with less, the last drive of a linear pool would hold none.
const FILLED: f64 = 0.75;
/// Space of each drive for partition table, superblock and filesystem.
const OVERHEAD: u64 = 12 * MIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    match (ask.values.typed(&options::PULL_DRIVE), &ask.targets[..]) {
        (Some(serial), _) => return in_use::plan(ask, &serial),
        (None, [target]) if in_use::pool_in_use(target).is_some() => return Err(in_use::nameless(target)),
        _ => {}
    }
    let drives = ask.targets.len();
    let (most, chunk) = (ask.values.get(&options::SIZE), ask.values.get(&options::CHUNK));
    check("pull", &ask.targets, most)?;
    let members = ask.values.typed(&options::MEMBERS).unwrap_or_else(|| (0..drives).collect::<Vec<_>>());
    if let Some(other) = members.iter().find(|member| **member >= drives) {
        return Err(PlanError::Options(format!("there is no drive {}, only {drives}", other + 1)));
    }
    let identities: Vec<String> = ask.targets.iter().map(|target| target.drives[0].identity()).collect();
    let pool = name("pull", &identities);
    let dir = PathBuf::from("/run/drivebench").join(&pool);
    let (mut steps, mut targets) = (Steps::default(), Vec::new());
    let layouts = layouts_of(ask.values.typed(&options::LAYOUTS), drives)?;
    for layout in layouts {
        for (run, member) in
            (1..=ask.values.get(&options::REPEAT)).flat_map(|run| members.iter().map(move |m| (run, *m)))
        {
            let at = targets.len();
            let number = member + 1;
            let path =
                if run == 1 { format!("{layout}-{number}") } else { format!("{layout}-{number}-{run}") };
            targets.push(Target {
                given: format!("{layout}, {} pulled", ask.targets[member].given),
                kind: Kind::Directory,
                path: dir.join(&path),
                drives: ask.targets.iter().flat_map(|target| target.drives.clone()).collect(),
                direct_alignment: ask
                    .targets
                    .iter()
                    .map(|target| target.direct_alignment)
                    .max()
                    .unwrap_or(512),
                ..Target::default()
            });
            let build =
                BuildPool { name: format!("{pool}-{path}"), layout, chunk, most, drives: identities.clone() };
            let tree = FileTree {
                bytes: tree_bytes(layout, most, drives, chunk),
                seed: ask.seed.wrapping_add(at as u64),
            };
            let built = BuiltPool { member: member as u32, tree, most: written(tree.bytes) };
            let pull = Pull {
                drive: identities[member].clone(),
                by: ask.values.get(&options::BY),
                seconds: ask.values.get(&options::TIME),
                pool: PulledPool::Built(built),
            };
            let name = build.name.clone();
            steps.add(&[at], build);
            steps.add(&[at], pull);
            steps.add(&[at], RemovePool { name });
        }
    }
    Ok(Plan { limit: None, targets, ..ask.planned(steps) })
}

/// Bytes of test files on a pool that uses `most` bytes of each drive.
fn tree_bytes(layout: Layout, most: u64, drives: usize, chunk: u64) -> u64 {
    let data = most.saturating_sub(OVERHEAD) / 512;
    let capacity = layout.capacity(&vec![data; drives], (chunk / 512).max(1)) * 512;
    (capacity as f64 * FILLED) as u64 / MIB * MIB
}

/// The most that the load writes: it must fit beside the files.
fn written(tree: u64) -> u64 {
    (tree / 8).min(256 * MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_what_is_written_fit_into_the_smallest_pools() {
        for layout in Layout::ALL.into_iter().filter(|layout| *layout != Layout::Single) {
            for most in [96 * MIB, 256 * MIB, 4096 * MIB] {
                let (tree, pool) =
                    (tree_bytes(layout, most, 4, 512 << 10), layout.capacity(&[most / 512; 4], 1024) * 512);
                // A twentieth is reserved by ext4, inodes and the journal need some more; the area has 4 MiB.
                assert!(tree + written(tree) + 4 * MIB < pool / 10 * 9, "{layout} {most}: {tree} of {pool}");
                assert!(tree > pool / 2, "{layout} {most}: {tree} of {pool}");
            }
        }
    }
}
