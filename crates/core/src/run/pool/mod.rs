//! Builds, mends and removes pools.

mod array;
mod building;
mod keep;
mod log;
mod removal;
mod temporary;
#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

pub use array::{Former, Wait, former, resync, scrub, unclean};
pub use building::{Building, begin, claim, in_no_pool, to_remove};
pub use keep::can_keep;
pub use log::{Built, Line as PoolLine, PoolLog, Replacement, pools};
pub use removal::destroy;
pub use temporary::{build_for_run, can_build, is_left, rebuild_for_run, remove_for_run};

use crate::{
    danger::{Claimed, Refusal},
    engine::Cancel,
    inventory::Inventory,
    pool::{
        Build, Step,
        health::{Action, MemberState, State},
    },
    sysroot::Sysroot,
    tools::{self, Change, Content, Output, Runner, System, ToolError, mount, systemctl},
};

/// How long a device may take to appear after the command that makes it: udev reads it first, while its drives are being filled,
/// and gives up after three minutes. Four slow sticks took more than 10 s.
const APPEARS: Duration = Duration::from_secs(180);
/// Where pools are mounted that a run builds and removes.
pub const FOR_RUNS: &str = "/run/drivebench";
const POLL: Duration = Duration::from_millis(20);
/// How often an array that is filled is read.
const PROGRESS: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("'{command}' failed: {why}")]
    Failed { command: String, why: String },
    #[error("{0} did not appear")]
    Absent(String),
    #[error("the log of the pool can't be written: {0}")]
    Log(io::Error),
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
        let reload = systemctl::daemon_reload();
        if (self.exists)("/run/systemd/system") {
            (self.says)(&reload.to_string());
            let _at_boot_else = self.runner.ask(&reload);
        }
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

pub fn uuid() -> Result<String, BuildError> {
    const RANDOM: &str = "/proc/sys/kernel/random/uuid";
    Ok(fs::read_to_string(RANDOM).map_err(BuildError::file(RANDOM))?.trim().to_owned())
}

pub fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// Whether the kernel has the layout's module, and all programs that do these steps, mount the pool, stop it and remove it are
/// installed, so that it doesn't end halfway.
pub fn ready_for(
    build: &Build,
    steps: &[Step],
    mount: Option<&Path>,
    system: &System,
) -> Result<(), ToolError> {
    let module = build.layout.module();
    let is_loaded = Path::new("/sys/module").join(module).exists();
    // Without modprobe, the module counts as present.
    let lacks = || system.ask(&tools::find_module(module)).is_ok_and(|answer| tools::lacks_module(&answer));
    if !steps.is_empty() && !is_loaded && lacks() {
        return Err(ToolError::Module(module));
    }
    let paths = vec![String::new(); build.members.len()];
    steps.iter().try_for_each(|step| system.has(&build.change(*step, &paths)))?;
    if let Some(dir) = mount {
        system.has(&mount::mount(&build.path(), build.filesystem.name(), &dir.to_string_lossy()))?;
    }
    system.has(&mount::unmount(&build.path(), ""))?;
    let undo = (0..paths.len()).flat_map(|at| build.undo(at, &build.steps(), ""));
    undo.into_iter().try_for_each(|change| system.has(&change))?;
    system.has(&build.stop(&build.path()))
}
