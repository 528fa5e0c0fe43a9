//! Stops a pool, and removes what building it left on drives and in the system's configuration.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use super::{BuildError, Built, Commands, FOR_RUNS, PoolLog, keep, log::Line};
use crate::{
    danger::{Claimed, Claims},
    inventory::{Drive, Inventory, Mount, parse_mountinfo},
    run::lock::Lock,
    sysroot::Sysroot,
    tools::mount,
};

/// Removes a pool from its drives. Without `missing` all that were changed must be here; with it, the others keep their part.
pub fn destroy(
    name: &str,
    missing: bool,
    erase: &[String],
    store: &Path,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    let (mut log, built) = PoolLog::open(store, name).map_err(BuildError::NoLog)?;
    let inventory = Inventory::read(&Sysroot::live());
    let touched = built.touched();
    let mut drives: Vec<(usize, &Drive)> = Vec::new();
    for ((at, member), drive) in touched.iter().zip(built.find(&touched, &inventory)) {
        match drive {
            Some(drive) => drives.push((*at, drive)),
            None if missing => {}
            None => {
                return Err(BuildError::Drives(format!(
                    "{} is not here, so {name} stays: plug it in, then `drivebench pool status {name}` shows what removes it",
                    member.label
                )));
            }
        }
    }
    let all: Vec<&Drive> = drives.iter().map(|(_, drive)| *drive).collect();
    // Before the array stops: udev would assemble it again.
    let locked = Claims::lock(&all)?;
    let names: Vec<&str> = all.iter().map(|drive| drive.name.as_str()).collect();
    stop(&built, &names, &inventory, &mut log, commands)?;
    let claims = Claims::take(locked, erase)?;
    let paths: Vec<(usize, String)> = drives.iter().map(|(at, drive)| (*at, drive.node())).collect();
    remove(&built, &paths, &claims, log, commands)
}

/// Unmounts and stops a pool of the drives with these names, so that they can be claimed.
fn stop(
    built: &Built,
    drives: &[&str],
    inventory: &Inventory,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    let Some(device) = log.find_device(built, inventory) else { return Ok(()) };
    let dir = Path::new("/sys/block").join(&device.name).join("slaves");
    // A log that was tampered with could name any array.
    if let Some(other) = others(&dir, drives) {
        let why = format!("{} is on {other}, too, which was not named", device.path());
        return Err(BuildError::Array(why));
    }
    let mounts = device.mounts(inventory);
    const MOUNTS: &str = "/proc/self/mountinfo";
    let text = fs::read_to_string(MOUNTS).map_err(BuildError::file(MOUNTS))?;
    for mount in &mounts {
        if let Some(over) = covering(&text, &mount.path).filter(|over| over.device != mount.device) {
            let (path, over) = (&mount.path, &over.source);
            return Err(BuildError::Array(format!(
                "{over} is mounted over it on {path}: unmount that first"
            )));
        }
    }
    for mount in mounts.into_iter().rev() {
        commands.alter(&mount::unmount(&device.path(), &mount.path), log)?;
    }
    commands.alter(&built.build.stop(&device.path()), log)
}

/// The mount that is seen at a path, of those in the text of a mountinfo file.
pub(super) fn covering(mountinfo: &str, path: &str) -> Option<Mount> {
    parse_mountinfo(mountinfo).into_iter().rfind(|mount| mount.path == path)
}

/// The first block device in a directory of slaves that is not one of these disks or a partition of one.
pub(super) fn others(slaves: &Path, drives: &[&str]) -> Option<String> {
    let entries = fs::read_dir(slaves).into_iter().flatten().flatten();
    // The link of a missing device leads nowhere.
    let mut paths = entries.filter_map(|entry| entry.path().canonicalize().ok());
    let ours = |path: &Path| path.iter().rev().take(2).any(|name| drives.iter().any(|drive| name == *drive));
    let other = paths.find(|path| !ours(path))?;
    Some(other.file_name()?.to_string_lossy().into_owned())
}

/// Removes what building left on drives, each given with its path and the number of its member, and in the system's
/// configuration. The drives are claimed, so the pool is not active.
pub(super) fn remove(
    built: &Built,
    drives: &[(usize, String)],
    claims: &impl Claimed,
    mut log: PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    if let Some(file) = built.foreign_file() {
        let why = io::Error::other("the log of the pool names it, but no lines of pools are there");
        return Err(BuildError::file(file)(why));
    }
    log.append(&Line::Removing)?;
    for file in &built.configured {
        (commands.says)(&format!("removing the lines of the pool from {}", file.display()));
        let in_turn = Lock::of_configuration().and_then(|_turn| keep::take_out(&built.build.name, file));
        in_turn.map_err(BuildError::file(file))?;
    }
    if !built.configured.is_empty() {
        commands.reload();
    }
    for change in drives.iter().flat_map(|(at, drive)| built.build.undo(*at, &built.begun, drive)) {
        // A partition that was not made has nothing to remove.
        if change.devices().iter().all(|path| (commands.exists)(path)) {
            commands.erase(&change, claims)?;
        }
    }
    // A pool that a run built has a directory, and so has the run. While the log exists, removing them can be
    // tried again.
    let below = |dir: &&PathBuf| {
        dir.starts_with(FOR_RUNS) && !dir.components().any(|part| part == Component::ParentDir)
    };
    if let Some(dir) = built.mount.as_ref().filter(below) {
        match fs::remove_dir(dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(BuildError::file(dir)(e)),
            _ => {}
        }
        let above = dir.parent().filter(|above| *above != Path::new(FOR_RUNS));
        let _others_are_left = above.map(fs::remove_dir);
    }
    log.removed()
}
