//! The log of a pool: what is to be built, and which steps of building and removing it were begun and done. It is the only
//! memory of a pool that was built halfway.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::{BuildError, FOR_RUNS};
use crate::{
    inventory::{Drive, Inventory},
    pool::{
        Build, Holds, Member, Step,
        config::has_lines,
        health::{Device, MemberState, in_array},
        is_name,
    },
    run::journal::{AppendLog, open_trusted, read_lines, undamaged},
    sysroot::Sysroot,
    tools::{Right, State},
};

/// The directory of the logs in the store.
const POOLS: &str = "pools";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "line")]
pub enum Line {
    Planned {
        build: Box<Build>,
    },
    /// A step is about to be done.
    Will {
        step: Step,
    },
    /// The pool is about to be mounted here.
    Mount {
        dir: PathBuf,
    },
    /// Lines are about to be added to this file.
    Configure {
        file: PathBuf,
    },
    /// Another drive is about to be prepared for a member.
    Replacing {
        replacement: Box<Replacement>,
    },
    /// The other drive is the member now.
    Replaced,
    /// The other drive failed or is gone, and will not become the member.
    GivenUp,
    Finished,
    /// The pool is about to be removed, and its log with it.
    Removing,
}

/// A drive that replaces a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// The number of the member.
    pub at: usize,
    pub member: Member,
}

impl Replacement {
    /// The state of the drive in the array; `None` if there is no array.
    pub fn state(
        &self,
        built: &Built,
        drive: Option<&Drive>,
        array: Option<&Device>,
        root: &Sysroot,
    ) -> MemberState {
        let Some(drive) = drive else { return MemberState::Absent };
        let mut after = built.build.clone();
        after.members[self.at] = self.member.clone();
        let part = after.member_path(self.at, &drive.name);
        array.map_or(MemberState::Unused, |array| in_array(&array.name, &part, root))
    }
}

/// How far a pool was built or removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    pub build: Build,
    pub begun: Vec<Step>,
    pub mount: Option<PathBuf>,
    /// Files of the system with lines of the pool.
    pub configured: Vec<PathBuf>,
    pub finished: bool,
    /// A replacement that was begun and not completed.
    pub replacing: Option<Replacement>,
    /// The drive of that replacement was changed.
    pub reached: bool,
    pub removing: bool,
    /// A process changes it now.
    pub busy: bool,
}

impl Built {
    /// Members whose drives were changed, with their numbers, including a replacement.
    pub fn touched(&self) -> Vec<(usize, &Member)> {
        let changed = |at: &usize| self.begun.iter().any(|step| step.member() == Some(*at));
        let members = (0..self.build.members.len()).filter(changed).map(|at| (at, &self.build.members[at]));
        members
            .chain(self.replacing.iter().filter(|_| self.reached).map(|new| (new.at, &new.member)))
            .collect()
    }

    /// The drives of these members that are plugged in, including a replacement.
    pub fn find<'a>(&self, members: &[(usize, &Member)], inventory: &'a Inventory) -> Vec<Option<&'a Drive>> {
        let replaces = |member: &Member| self.replacing.iter().any(|new| new.member == *member);
        let holds = |member: &Member| match self.removing {
            // Until it is finished, they may hold what they held before.
            _ if !self.finished || replaces(member) => Holds::Anything,
            true => Holds::PoolOrNothing,
            false => Holds::Pool,
        };
        let members: Vec<_> = members.iter().map(|(_, member)| (*member, holds(member))).collect();
        self.build.drives_of(&members, inventory)
    }

    /// Whether a run built it for its measurements.
    pub fn is_of_run(&self) -> bool {
        self.mount.as_ref().is_some_and(|dir| dir.starts_with(FOR_RUNS))
    }

    /// Whether the drive belongs to the pool.
    pub fn has(&self, drive: &Drive, inventory: &Inventory) -> bool {
        let new = self.replacing.iter().map(|new| (new.at, &new.member));
        let all: Vec<(usize, &Member)> = self.build.members.iter().enumerate().chain(new).collect();
        self.find(&all, inventory).iter().flatten().any(|found| found.name == drive.name)
    }

    /// A file that the log lists as configured, although it has no lines of a pool. Root doesn't trust such a log.
    pub fn foreign_file(&self) -> Option<&Path> {
        self.configured.iter().map(PathBuf::as_path).find(|file| !has_lines(file, &self.build.name))
    }
}

/// The log of one pool, open and locked.
#[derive(Debug)]
pub struct PoolLog {
    path: PathBuf,
    log: AppendLog,
    /// The paths of the pool that may be mounted, unmounted and stopped.
    devices: Vec<String>,
}

/// The log of a pool is the right to mount, unmount and stop it.
impl Right<State> for PoolLog {
    fn covers(&self, path: &str) -> Result<(), String> {
        let ours = self.devices.iter().any(|device| device == path);
        ours.then_some(()).ok_or_else(|| format!("the pool is {}", self.devices.join(" or ")))
    }
}

fn path(store: &Path, name: &str) -> PathBuf {
    store.join(POOLS).join(format!("{name}.jsonl"))
}

impl PoolLog {
    /// Begins the log of a pool that is to be built; the error is `AlreadyExists` if there is one of that name.
    pub fn begin(store: &Path, build: &Build) -> io::Result<Self> {
        let path = path(store, &build.name);
        let log = AppendLog::create(&path, &Line::Planned { build: Box::new(build.clone()) })?;
        Ok(Self { path, log, devices: vec![build.path()] })
    }

    /// Opens the log of an existing pool to change it; the error is `WouldBlock` if another process does.
    pub fn open(store: &Path, name: &str) -> io::Result<(Self, Built)> {
        // A name, not a path.
        if name.contains('/') {
            return Err(io::ErrorKind::NotFound.into());
        }
        let path = path(store, name);
        let mut built = None;
        let log = AppendLog::open(&path, |line| apply(&mut built, line))?;
        let built = whole(built, &path)?;
        Ok((Self { path, log, devices: vec![built.build.path()] }, built))
    }

    /// Allows changes of the pool at this path, which the kernel chose.
    pub fn found(&mut self, path: &str) {
        self.devices.push(path.to_owned());
    }

    /// The device of the pool, which may be changed from here on.
    pub(super) fn find_device(&mut self, built: &Built, inventory: &Inventory) -> Option<Device> {
        let device = built.build.device(&Sysroot::live(), inventory)?;
        self.found(&device.path());
        Some(device)
    }

    /// The device of the pool, which must be active.
    pub fn device(&mut self, built: &Built, inventory: &Inventory) -> Result<Device, BuildError> {
        let stopped = || BuildError::Array(format!("{} is not active", built.build.name));
        self.find_device(built, inventory).ok_or_else(stopped)
    }

    /// Appends a line and syncs it. If that fails, the next step must not be done.
    pub fn append(&mut self, next: &Line) -> Result<(), BuildError> {
        self.log.append(next).map_err(BuildError::Log)
    }

    /// Removes the log of a pool that is gone.
    pub(super) fn removed(self) -> Result<(), BuildError> {
        let above = self.path.parent().unwrap_or(&self.path);
        // A power cut must not bring it back: its drives may have other uses soon.
        let removed = self.log.remove().and_then(|()| File::open(above)?.sync_all());
        removed.map_err(BuildError::Log)
    }
}

/// The pools of a store, and logs that can't be read.
pub fn pools(store: &Path) -> (Vec<Built>, Vec<(PathBuf, io::Error)>) {
    let entries = fs::read_dir(store.join(POOLS)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    paths.sort();
    let (mut pools, mut damaged) = (Vec::new(), Vec::new());
    for path in paths {
        let look = |file: File| {
            let busy = flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
            let mut built = None;
            undamaged(read_lines(&file, |line| apply(&mut built, line))?)?;
            Ok(Built { busy, ..whole(built, &path)? })
        };
        match open_trusted(&path, OFlags::RDONLY).and_then(look) {
            Ok(built) => pools.push(built),
            Err(e) => damaged.push((path, e)),
        }
    }
    (pools, damaged)
}

/// Adds a line of a log to what is known of the pool.
fn apply(pool: &mut Option<Built>, line: Line) -> Result<(), String> {
    match (line, pool) {
        (Line::Planned { build }, none @ None) => {
            *none = Some(Built {
                build: *build,
                begun: Vec::new(),
                mount: None,
                configured: Vec::new(),
                finished: false,
                replacing: None,
                reached: false,
                removing: false,
                busy: false,
            });
        }
        (Line::Will { step }, Some(built)) => {
            built.begun.push(step);
            built.reached |= built.replacing.is_some();
        }
        (Line::Mount { dir }, Some(built)) => built.mount = Some(dir),
        (Line::Configure { file }, Some(built)) => built.configured.push(file),
        (Line::Finished, Some(built)) => built.finished = true,
        (Line::Replacing { replacement }, Some(built)) if replacement.at < built.build.members.len() => {
            (built.replacing, built.reached) = (Some(*replacement), false);
        }
        (Line::Replaced, Some(built)) => {
            if let Some(Replacement { at, member }) = built.replacing.take() {
                built.build.members[at] = member;
            }
        }
        (Line::GivenUp, Some(built)) => built.replacing = None,
        (Line::Removing, Some(built)) => built.removing = true,
        _ => return Err("its lines are not in order".to_owned()),
    }
    Ok(())
}

/// The pool of a log that was read to its end.
fn whole(pool: Option<Built>, path: &Path) -> io::Result<Built> {
    let built = pool.ok_or_else(|| io::Error::other("it ends before the plan of the pool"))?;
    let name = &built.build.name;
    if !is_name(name) || path.file_stem().is_none_or(|stem| stem != name.as_str()) {
        return Err(io::Error::other("it belongs to a pool with another name"));
    }
    Ok(built)
}
