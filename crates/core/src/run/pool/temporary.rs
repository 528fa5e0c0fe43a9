//! Pools that a run builds for its loads, and removes.

use std::{cell::Cell, path::Path, time::Instant};

use super::{
    BuildError, Building, Built, Commands, PoolLog, begin, destroy, exists, filled, ready_for, uuid,
};
use crate::{
    danger::Claims,
    engine::Cancel,
    inventory::{Drive, Inventory},
    plan::BuildPool,
    pool::{Build, Request},
    record::ActResult,
    sysroot::Sysroot,
    target::Target,
    tools::{System, mdadm, mkfs::Filesystem, wipefs},
};

/// Whether the pool was left by a killed run and can be taken over by this run, which has the same drives.
pub fn is_left(pool: &Built, name: &str) -> bool {
    pool.build.name == name && !pool.busy && (pool.is_of_run() || !pool.finished && pool.mount.is_none())
}

/// Claims the drives, whose serials are in `erase`, erases them, builds the pool and waits until its drives agree; it is mounted in
/// the directory. After `begun` was called, it must be removed, whatever happens.
pub fn build_for_run(
    act: &BuildPool,
    dir: &Path,
    erase: &[String],
    store: &Path,
    begun: impl FnOnce(),
    cancel: &Cancel,
) -> Result<(Target, ActResult), BuildError> {
    let inventory = Inventory::read(&Sysroot::live());
    let (planned, shown) = can_build(act, dir, &inventory)?;
    let (claims, mut log) = begin(&planned, &shown, erase, store)?;
    begun();
    let drives: Vec<String> = claims.0.iter().map(|claim| claim.drive().node()).collect();
    let result = recorded(|commands, last| {
        let mut building =
            Building { build: &planned, drives: &drives, claims: &claims, log: &mut log, commands, cancel };
        building.join()?;
        let filled_seconds = match planned.layout.is_redundant() {
            // The kernel begins in the last command, which joins the drives.
            true => filled(&planned, None, cancel).map(|()| Some(last.get().elapsed().as_secs_f64()))?,
            false => None,
        };
        building.complete(Some(dir), &[])?;
        Ok(filled_seconds)
    })?;
    let target = Target::resolve(&Inventory::read(&Sysroot::live()), &dir.to_string_lossy());
    let target = target.map_err(|e| BuildError::Absent(format!("{}: {e}", dir.display())))?;
    Ok((target, result))
}

/// Records the commands that `work` runs, and the time that the kernel took to fill the pool, s. `work` gets the time of the
/// last command.
fn recorded(
    work: impl FnOnce(&mut Commands<'_>, &Cell<Instant>) -> Result<Option<f64>, BuildError>,
) -> Result<ActResult, BuildError> {
    let (mut commands, last) = (Vec::new(), Cell::new(Instant::now()));
    let says = &mut |command: &str| {
        last.set(Instant::now());
        commands.push(command.to_owned());
    };
    let filled_seconds = work(&mut Commands { runner: &System::default(), says, exists: &exists }, &last)?;
    Ok(ActResult { commands, filled_seconds, ..ActResult::default() })
}

/// The pool and its drives, or why it can't be built: drives that are too small or missing, a program that isn't installed.
pub fn can_build<'i>(
    act: &BuildPool,
    dir: &Path,
    inventory: &'i Inventory,
) -> Result<(Build, Vec<&'i Drive>), BuildError> {
    let find = |identity: &String| inventory.drive(identity).ok_or_else(|| away(identity));
    let drives = act.drives.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let request = Request {
        name: act.name.clone(),
        layout: act.layout,
        chunk: act.chunk,
        bitmap: true,
        filesystem: Filesystem::Ext4,
        most: Some(act.most),
        uuids: [uuid()?, uuid()?],
    };
    let planned = request.plan(inventory, &drives).map_err(BuildError::Drives)?;
    ready_for(&planned, &planned.steps(), Some(dir), &System::default())?;
    Ok((planned, drives))
}

/// Takes a member out of a pool that a run built, and waits until it is filled as a new drive would be.
pub fn rebuild_for_run(
    name: &str,
    member: usize,
    erase: &[String],
    store: &Path,
    cancel: &Cancel,
) -> Result<ActResult, BuildError> {
    let (mut log, built) = PoolLog::open(store, name).map_err(BuildError::NoLog)?;
    let inventory = Inventory::read(&Sysroot::live());
    let array = log.device(&built, &inventory)?.path();
    let build = &built.build;
    let drive = build.drives(&inventory)[member].ok_or_else(|| away(&build.members[member].identity))?;
    let part = build.member_path(member, &drive.node());
    recorded(|commands, last| {
        commands.alter(&mdadm::fail(&array, &part), &log)?;
        commands.alter(&mdadm::remove(&array, &part), &log)?;
        let claims = Claims::take(Claims::lock(&[drive])?, erase)?;
        // With its superblock and a bitmap, only what was written since would be copied.
        commands.erase(&wipefs::wipe(&part), &claims)?;
        commands.erase(&mdadm::add(&array, &part, mdadm::MemberFlags::default()), &claims)?;
        filled(build, None, cancel)?;
        Ok(Some(last.get().elapsed().as_secs_f64()))
    })
}

/// Removes a pool that a run built.
pub fn remove_for_run(name: &str, erase: &[String], store: &Path) -> Result<ActResult, BuildError> {
    recorded(|commands, _| destroy(name, false, erase, store, commands).map(|()| None))
}

fn away(identity: &str) -> BuildError {
    BuildError::Drives(format!("the drive {identity} is not here any more"))
}
