//! The plan of pull.

use super::{
    super::{
        PlanError, Request,
        whole_drives::{check, layouts_of, name, pool_target},
    },
    BuiltPool, PoolInUse, Pull, PulledPool, options,
};
use crate::{
    plan::{BuildPool, Plan, RemovePool, Steps},
    target::{Kind, Target},
    test_files::FileTree,
    units::{Layout, MIB, Pool, listed, shell_word},
};

/// The share of a pool that is filled with files: with less, the last drive of a linear pool would hold none.
const FILLED: f64 = 0.75;
/// Space of each drive for partition table, superblock and filesystem.
const OVERHEAD: u64 = 12 * MIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    match (ask.values.typed(&options::PULL_DRIVE), &ask.targets[..]) {
        (Some(serial), _) => return in_use(ask, &serial),
        (None, [target]) if pool_in_use(target).is_some() => return Err(nameless(target)),
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
            let given = format!("{layout}, {} pulled", ask.targets[member].given);
            targets.push(pool_target(&pool, &path, given, &ask.targets));
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

/// The pool that a target is on, if a drive of it can be pulled while it is in use.
fn pool_in_use(target: &Target) -> Option<&Pool> {
    let is_redundant = |pool: &&Pool| Layout::of_name(&pool.kind).is_some_and(Layout::is_redundant);
    target.pool.as_ref().filter(|_| target.kind == Kind::Directory).filter(is_redundant)
}

/// The plan for a pool that is in use.
fn in_use(ask: &Request, serial: &str) -> Result<Plan, PlanError> {
    let [target] = &ask.targets[..] else {
        return Err(PlanError::TooMany { experiment: "pull with --pull", most: 1 });
    };
    let refused = |why: String| PlanError::Unsuitable { path: target.path.clone(), why };
    let pool = pool_in_use(target).ok_or_else(|| {
        refused(
            "--pull takes a directory on an md array with copies or parity (raid1, raid5, raid6, raid10)"
                .to_owned(),
        )
    })?;
    let name = pool.describe();
    // What the pool and the machine would not survive is refused before the run begins.
    let Some(drive) = target.drives.iter().find(|drive| drive.serial.as_deref() == Some(serial)) else {
        return Err(refused(format!("no drive of {name} has the serial {serial}; {}", members(target))));
    };
    let mut steps = Steps::default();
    let used = PoolInUse {
        serial: serial.to_owned(),
        label: drive.label(),
        bytes: ask.values.get(&options::SIZE),
        seed: ask.seed,
        bitmap: pool.bitmap == Some(true),
        survives: pool.survives().unwrap_or(0).saturating_sub(1),
    };
    let pull = Pull {
        drive: drive.identity(),
        by: ask.values.get(&options::BY),
        seconds: ask.values.get(&options::TIME),
        pool: PulledPool::InUse(used),
    };
    steps.add(&[0], pull);
    Ok(Plan { limit: None, ..ask.planned(steps) })
}

/// The refusal of a pool in use of which no drive was named.
fn nameless(target: &Target) -> PlanError {
    let why = format!(
        "it is on a pool in use. To read its files while one of its drives is away, name the drive: drivebench run pull --pull SERIAL {}; {}",
        shell_word(&target.path),
        members(target)
    );
    PlanError::Unsuitable { path: target.path.clone(), why }
}

fn members(target: &Target) -> String {
    let serials: Vec<&str> =
        target.drives.iter().filter_map(|drive| drive.unique_serial()).map(String::as_str).collect();
    format!("its drives: {}", listed(&serials))
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
