//! Builds, mends and removes pools.

mod claim;
mod keep;
mod log;
mod replace;
mod temporary;
#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

pub use claim::{claim, claim_begun, in_no_pool, removal, to_remove};
pub use keep::can_keep;
pub use log::{Built, LogError, PoolLog, Replacement, pools};
pub use replace::{Former, Unclean, fill, former, give_up, replace, resync, scrub, unclean};
pub use temporary::{
    PoolForRun, Rebuilt, begin_for_run, can_build, is_left, rebuild_for_run, remove_for_run,
};

use crate::{
    danger::{Claimed, Refusal},
    engine::Cancel,
    inventory::{Inventory, Mount, parse_mountinfo},
    pool::{
        Build, Step,
        config::Lines,
        health::{Action, Device, MemberState, State},
    },
    record::make_dir,
    sysroot::Sysroot,
    tools::{self, Change, Content, Output, Runner, System, ToolError, mount, systemctl},
};

/// How long a device may take to appear after the command that makes it: udev reads it first, while its drives are being filled,
/// and gives up after three minutes. Four slow sticks took more than 10 s.
const APPEARS: Duration = Duration::from_secs(180);
/// Where pools are mounted that a run builds and removes.
const FOR_RUNS: &str = "/run/drivebench";
const POLL: Duration = Duration::from_millis(20);
/// The time between two looks at an array that is filled.
const PROGRESS: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("'{command}' failed: {why}")]
    Failed { command: String, why: String },
    #[error("{0} did not appear")]
    Absent(String),
    #[error("{} can't be changed: {source}", file.display())]
    Config { file: PathBuf, source: io::Error },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the log of the pool can't be opened: {0}")]
    NoLog(io::Error),
    #[error("{}: {source}", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{0}")]
    Array(String),
    #[error("{0}")]
    Drives(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Tool(#[from] ToolError),
}

impl BuildError {
    /// For `map_err`: what can't be done with this file or directory.
    pub fn file(file: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        |source| Self::File { file, source }
    }
}

/// Runs commands, one after the other.
pub struct Commands<'a> {
    pub runner: &'a dyn Runner,
    /// Receives each command before it is run.
    pub says: &'a mut dyn FnMut(&str),
    /// Whether there is a device node at a path.
    pub exists: &'a dyn Fn(&str) -> bool,
}

impl Commands<'_> {
    /// Changes what is stored on drives.
    pub fn erase(&mut self, change: &Change<Content>, claims: &impl Claimed) -> Result<(), BuildError> {
        (self.says)(&change.to_string());
        succeeded(change, change.run(claims, self.runner)?)
    }

    /// Changes the state of the pool.
    pub fn alter(&mut self, change: &Change<tools::State>, log: &PoolLog) -> Result<(), BuildError> {
        (self.says)(&change.to_string());
        succeeded(change, change.run(log, self.runner)?)
    }

    /// Lets systemd read its configuration again, where it runs. It does so at the next boot in any case.
    fn reload(&mut self) {
        if !(self.exists)("/run/systemd/system") {
            return;
        }
        let reload = systemctl::daemon_reload();
        (self.says)(&reload.to_string());
        let why = match self.runner.ask(&reload) {
            Ok(output) if output.code == Some(0) => return,
            Ok(output) => output.complaint(),
            Err(e) => e.to_string(),
        };
        (self.says)(&format!("{reload} failed: {why}; the next boot does it"));
    }

    fn settle(&self, claims: &impl Claimed) -> Result<(), BuildError> {
        claims.settle(self.runner).map_err(BuildError::Drives)
    }

    /// Waits for a device node.
    pub fn appears(&self, path: &str) -> Result<(), BuildError> {
        let until = Instant::now() + APPEARS;
        while !(self.exists)(path) {
            if Instant::now() > until {
                return Err(BuildError::Absent(path.to_owned()));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }
}

/// Waits until all members of an array have their data, without one that is known to be away.
pub fn filled(build: &Build, away: Option<usize>, cancel: &Cancel) -> Result<(), BuildError> {
    let root = Sysroot::live();
    let stopped = |what: &str| Err(BuildError::Array(format!("{what} while {} was filled", build.name)));
    loop {
        let health = build.health(&root, &Inventory::read(&root));
        let busy = health.work.as_ref().is_some_and(|work| work.action != Action::Frozen);
        let is_lost = |at: &usize| {
            away != Some(*at)
                && matches!(
                    health.members[*at],
                    MemberState::Failed | MemberState::Unused | MemberState::Absent
                )
        };
        match (health.state, (0..health.members.len()).find(is_lost)) {
            (_, Some(at)) => return stopped(&format!("{} was lost", build.members[at].label)),
            (State::Active | State::ReadOnly, None)
                if !busy && health.degraded == u64::from(away.is_some()) =>
            {
                return Ok(());
            }
            (State::Active | State::ReadOnly, None) => {}
            _ => return stopped("the array stopped"),
        }
        if cancel.is_set() {
            return stopped("interrupted");
        }
        thread::sleep(PROGRESS);
    }
}

fn succeeded<Altered>(change: &Change<Altered>, output: Output) -> Result<(), BuildError> {
    match output.code {
        Some(0) => Ok(()),
        _ => Err(BuildError::Failed { command: change.to_string(), why: output.complaint() }),
    }
}

/// A new UUID.
pub fn uuid() -> Result<String, BuildError> {
    const RANDOM: &str = "/proc/sys/kernel/random/uuid";
    Ok(fs::read_to_string(RANDOM).map_err(BuildError::file(RANDOM))?.trim().to_owned())
}

/// Whether a path exists on this machine.
pub fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// Whether all programs that do these steps, stop the pool and remove it are installed, so that it doesn't end halfway.
pub fn ready_for(build: &Build, steps: &[Step], system: &System) -> Result<(), ToolError> {
    let paths = vec![String::new(); build.members.len()];
    steps.iter().try_for_each(|step| system.has(&build.change(*step, &paths)))?;
    let undo = (0..paths.len()).flat_map(|at| build.undo(at, &build.steps(), ""));
    undo.into_iter().try_for_each(|change| system.has(&change))?;
    system.has(&build.stop(&build.path()))
}

/// The same for a new pool, which may be mounted.
pub fn ready(build: &Build, dir: Option<&Path>, system: &System) -> Result<(), ToolError> {
    ready_for(build, &build.steps(), system)?;
    dir.map_or(Ok(()), |dir| {
        let dir = dir.to_string_lossy();
        system.has(&mount::mount(&build.path(), build.filesystem.name(), &dir))?;
        system.has(&mount::unmount(&build.path(), &dir))
    })
}

/// Joins drives at these paths, in the order of the pool's members. [`complete`] comes next.
pub fn join(
    build: &Build,
    drives: &[String],
    claims: &impl Claimed,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    let steps = build.steps().into_iter().filter(|step| *step != Step::Format);
    let (wipes, rest): (Vec<Step>, Vec<Step>) = steps.partition(|step| matches!(step, Step::Wipe(_)));
    for step in wipes {
        perform(build, step, drives, claims, log, commands)?;
    }
    commands.settle(claims)?;
    rest.into_iter().try_for_each(|step| perform(build, step, drives, claims, log, commands))
}

/// Makes the filesystem of a pool whose drives are joined, mounts it, and adds it to the system's configuration.
pub fn complete(
    build: &Build,
    drives: &[String],
    dir: Option<&Path>,
    keep: &[Lines],
    claims: &impl Claimed,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    perform(build, Step::Format, drives, claims, log, commands)?;
    if let Some(dir) = dir {
        log.mount(dir)?;
        // From here on its removal is in the log.
        if dir.starts_with(FOR_RUNS) {
            make_dir(dir).map_err(BuildError::file(dir))?;
        }
        commands.alter(&mount::mount(&build.path(), build.filesystem.name(), &dir.to_string_lossy()), log)?;
    }
    for lines in keep {
        (commands.says)(&format!("adding to {}: {}", lines.file, lines.lines.join("; ")));
        log.configure(Path::new(&lines.file))?;
        keep::add(&build.name, lines)
            .map_err(|source| BuildError::Config { file: lines.file.clone().into(), source })?;
    }
    if !keep.is_empty() {
        commands.reload();
    }
    Ok(log.finished()?)
}

/// A step of building, noted in the log before and after it.
fn perform(
    build: &Build,
    step: Step,
    drives: &[String],
    claims: &impl Claimed,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    log.will(step)?;
    commands.erase(&build.change(step, drives), claims)?;
    match step {
        Step::Partition(at) => commands.appears(&build.member_path(at, &drives[at]))?,
        Step::Join => commands.appears(&build.path())?,
        _ => {}
    }
    Ok(log.done(step)?)
}

/// Unmounts and stops a pool of the drives with these names, so that they can be claimed.
pub fn stop(
    built: &Built,
    drives: &[&str],
    inventory: &Inventory,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    let Some(device) = found(built, inventory, log) else { return Ok(()) };
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
fn covering(mountinfo: &str, path: &str) -> Option<Mount> {
    parse_mountinfo(mountinfo).into_iter().rfind(|mount| mount.path == path)
}

/// The first block device in a directory of slaves that is no disk of these names and no partition of one.
fn others(slaves: &Path, drives: &[&str]) -> Option<String> {
    let entries = fs::read_dir(slaves).into_iter().flatten().flatten();
    // The link of one that is gone leads nowhere.
    let mut paths = entries.filter_map(|entry| entry.path().canonicalize().ok());
    let ours = |path: &Path| path.iter().rev().take(2).any(|name| drives.iter().any(|drive| name == *drive));
    let other = paths.find(|path| !ours(path))?;
    Some(other.file_name()?.to_string_lossy().into_owned())
}

/// The device of the pool, which its log may change.
fn found(built: &Built, inventory: &Inventory, log: &mut PoolLog) -> Option<Device> {
    let device = built.build.device(&Sysroot::live(), inventory)?;
    log.found(&device.path());
    Some(device)
}

/// Removes what building left on drives, each given with its path and the number of its member, and in the system's
/// configuration. The drives are claimed, so the pool is not active.
pub fn remove(
    built: &Built,
    drives: &[(usize, String)],
    claims: &impl Claimed,
    mut log: PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    if let Some(file) = built.foreign_file() {
        let source = io::Error::other("the log of the pool names it, but no lines of pools are there");
        return Err(BuildError::Config { file: file.to_owned(), source });
    }
    log.removing()?;
    for file in &built.configured {
        (commands.says)(&format!("removing the lines of the pool from {}", file.display()));
        keep::remove(&built.build.name, file)
            .map_err(|source| BuildError::Config { file: file.clone(), source })?;
    }
    if !built.configured.is_empty() {
        commands.reload();
    }
    for (at, drive) in drives {
        erase(built, *at, drive, claims, commands)?;
    }
    // Of a pool that a run built: its directory, and that of the run once it is empty. While the log exists, this can be
    // tried again.
    let below = |dir: &&PathBuf| {
        dir.starts_with(FOR_RUNS) && !dir.components().any(|part| part == Component::ParentDir)
    };
    if let Some(dir) = built.mount.as_ref().filter(below) {
        fs::remove_dir(dir).or_else(gone).map_err(BuildError::file(dir))?;
        let above = dir.parent().filter(|above| *above != Path::new(FOR_RUNS));
        let _others_are_left = above.map(fs::remove_dir);
    }
    Ok(log.removed()?)
}

fn gone(e: io::Error) -> io::Result<()> {
    if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }
}

/// Removes what building left on the drive of a member.
pub fn erase(
    built: &Built,
    at: usize,
    drive: &str,
    claims: &impl Claimed,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    for change in built.build.undo(at, &built.begun, drive) {
        // A partition that was not made has nothing to remove.
        if change.devices().iter().all(|path| (commands.exists)(path)) {
            commands.erase(&change, claims)?;
        }
    }
    Ok(())
}
