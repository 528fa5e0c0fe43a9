//! Pools that a run builds for its loads, and removes.

use std::{cell::Cell, io, path::Path, time::Instant};

use super::{
    BuildError, Built, Commands, PoolLog, claim::of_no_other, complete, exists, filled, join, pools, ready,
    remove, stop, uuid,
};
use crate::{
    danger::Claims,
    engine::Cancel,
    inventory::{Drive, Inventory},
    plan::BuildPool,
    pool::{Build, Request},
    sysroot::Sysroot,
    target::Target,
    tools::{System, mdadm, mkfs::Filesystem, wipefs},
};

/// What was built.
#[derive(Debug)]
pub struct PoolForRun {
    /// Its directory.
    pub target: Target,
    /// The commands that were run.
    pub commands: Vec<String>,
    /// How long the kernel took to make its drives agree, s.
    pub filled_seconds: Option<f64>,
}

/// What was filled again.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// The commands that were run.
    pub commands: Vec<String>,
    /// How long the kernel took, s.
    pub filled_seconds: Option<f64>,
}

/// A pool whose log is written: from here on it must be removed, whatever happens.
#[derive(Debug)]
pub struct Begun {
    planned: Build,
    claims: Claims,
    log: PoolLog,
}

/// Claims the drives, whose serials are in `erase`, and begins the log of the pool.
pub fn begin_for_run(
    act: &BuildPool,
    dir: &Path,
    erase: &[String],
    store: &Path,
    date: String,
) -> Result<Begun, BuildError> {
    if pools(store).0.iter().any(|pool| is_left(pool, &act.name)) {
        remove_for_run(&act.name, erase, store)?;
    }
    let inventory = Inventory::read(&Sysroot::live());
    let (planned, drives) = can_build(act, dir, &inventory)?;
    // Since the consent at the beginning of the run, they may have become drives of another pool. What they hold was changed
    // by the run itself.
    let claims = of_no_other(Claims::take(Claims::lock(&drives)?, erase)?, store, None)?;
    let log = PoolLog::begin(store, &planned, date).map_err(BuildError::NoLog)?;
    Ok(Begun { planned, claims, log })
}

/// Whether the pool is one of a run that was killed, which this run, of the same drives, goes on with.
pub fn is_left(pool: &Built, name: &str) -> bool {
    pool.build.name == name && !pool.busy && (pool.is_of_run() || !pool.finished && pool.mount.is_none())
}

impl Begun {
    /// Erases the drives and builds the pool, mounted in the directory.
    pub fn build(self, dir: &Path, cancel: &Cancel) -> Result<PoolForRun, BuildError> {
        let Self { planned, claims, mut log } = self;
        let paths: Vec<String> = claims.0.iter().map(|claim| claim.drive().node()).collect();
        let mut lines = Vec::new();
        // The kernel begins to fill in the last of these commands, the one that joins the drives.
        let since = Cell::new(Instant::now());
        let says = &mut |command: &str| {
            since.set(Instant::now());
            lines.push(command.to_owned());
        };
        let mut commands = Commands { runner: &System::default(), says, exists: &exists };
        join(&planned, &paths, &claims, &mut log, &mut commands)?;
        let filled_seconds = match planned.layout.is_redundant() {
            true => filled(&planned, None, cancel).map(|()| Some(since.get().elapsed().as_secs_f64()))?,
            false => None,
        };
        complete(&planned, &paths, Some(dir), &[], &claims, &mut log, &mut commands)?;
        let target = Target::resolve(&Inventory::read(&Sysroot::live()), &dir.to_string_lossy());
        let target = target.map_err(|e| BuildError::Absent(format!("{}: {e}", dir.display())))?;
        Ok(PoolForRun { target, commands: lines, filled_seconds })
    }
}

/// The pool and its drives, or why it can't be built: drives that are too small or missing, a program that isn't installed.
pub fn can_build<'i>(
    act: &BuildPool,
    dir: &Path,
    inventory: &'i Inventory,
) -> Result<(Build, Vec<&'i Drive>), BuildError> {
    let drives =
        act.drives.iter().map(|identity| find(inventory, identity)).collect::<Result<Vec<_>, _>>()?;
    let request = Request {
        name: act.name.clone(),
        layout: act.layout,
        chunk: act.chunk,
        bitmap: true,
        filesystem: Filesystem::Ext4,
        label: "drivebench".to_owned(),
        write_mostly: Vec::new(),
        most: Some(act.most),
        uuids: [uuid()?, uuid()?],
    };
    let planned = request.plan(inventory, &drives).map_err(|e| BuildError::Drives(e.to_string()))?;
    ready(&planned, Some(dir), &System::default())?;
    Ok((planned, drives))
}

/// Takes a member out of a pool that a run built, and waits until it is filled as a new drive would be.
pub fn rebuild_for_run(
    name: &str,
    member: usize,
    erase: &[String],
    store: &Path,
    cancel: &Cancel,
) -> Result<Rebuilt, BuildError> {
    let (mut log, Built { build, .. }) = PoolLog::open(store, name).map_err(BuildError::NoLog)?;
    let inventory = Inventory::read(&Sysroot::live());
    let device = build.device(&Sysroot::live(), &inventory);
    let array = device.ok_or_else(|| BuildError::Array(format!("{name} is not active")))?.path();
    log.found(&array);
    let drive = build.drives(&inventory)[member].ok_or_else(|| away(&build.members[member].identity))?;
    let part = build.member_path(member, &drive.node());
    let (mut lines, since) = (Vec::new(), Cell::new(Instant::now()));
    let says = &mut |command: &str| {
        since.set(Instant::now());
        lines.push(command.to_owned());
    };
    let mut commands = Commands { runner: &System::default(), says, exists: &exists };
    commands.alter(&mdadm::fail(&array, &part), &log)?;
    commands.alter(&mdadm::remove(&array, &part), &log)?;
    let claims = Claims::take(Claims::lock(&[drive])?, erase)?;
    // With its superblock and a bitmap, only what was written since would be copied.
    commands.erase(&wipefs::wipe(&part), &claims)?;
    commands.erase(&mdadm::add(&array, &part, mdadm::MemberFlags::default()), &claims)?;
    filled(&build, None, cancel)?;
    Ok(Rebuilt { commands: lines, filled_seconds: Some(since.get().elapsed().as_secs_f64()) })
}

/// Removes a pool that a run built; returns the commands. Nothing is left to do if there is none.
pub fn remove_for_run(name: &str, erase: &[String], store: &Path) -> Result<Vec<String>, BuildError> {
    let (mut log, built) = match PoolLog::open(store, name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(BuildError::NoLog)?,
    };
    let inventory = Inventory::read(&Sysroot::live());
    let mut lines = Vec::new();
    let says = &mut |command: &str| lines.push(command.to_owned());
    let mut commands = Commands { runner: &System::default(), says, exists: &exists };
    let touched = built.touched();
    let found = touched.iter().zip(built.find(&touched, &inventory));
    let drives = found
        .map(|((at, member), drive)| Ok((*at, drive.ok_or_else(|| lacks(name, &member.label))?)))
        .collect::<Result<Vec<_>, BuildError>>()?;
    let all: Vec<&Drive> = drives.iter().map(|(_, drive)| *drive).collect();
    let locked = Claims::lock(&all)?;
    let names: Vec<&str> = all.iter().map(|drive| drive.name.as_str()).collect();
    stop(&built, &names, &inventory, &mut log, &mut commands)?;
    let claims = Claims::take(locked, erase)?;
    let paths: Vec<(usize, String)> = drives.iter().map(|(at, drive)| (*at, drive.node())).collect();
    remove(&built, &paths, &claims, log, &mut commands)?;
    Ok(lines)
}

fn find<'i>(inventory: &'i Inventory, identity: &str) -> Result<&'i Drive, BuildError> {
    inventory.drive(identity).ok_or_else(|| away(identity))
}

/// A pool is removed from all of its drives.
fn lacks(name: &str, label: &str) -> BuildError {
    BuildError::Drives(format!(
        "{label} is not here, so {name} stays: plug it in, then `drivebench pool status {name}` shows what removes it"
    ))
}

fn away(identity: &str) -> BuildError {
    BuildError::Drives(format!("the drive {identity} is not here any more"))
}
