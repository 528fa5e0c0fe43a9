//! Carries a plan out step by step, appends to the record, and undoes what it set up on any exit.

mod act;
mod execute;
mod journal;
mod leftovers;
mod local;
mod lock;
mod measure;
mod modelled;
mod scratch;
mod scratch_dir;
mod scratch_name;
mod world;
mod zones;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use act::{Move, Wanted, movable};
pub use execute::execute;
pub use journal::{Journal, host};
pub use leftovers::{Kept, Leftover, sweep, sweep_directory};
pub use local::{Local, now};
pub use lock::{Lock, LockError};
pub use measure::Progress;
pub use modelled::Modelled;
pub use world::World;

use crate::{
    engine::{Cancel, EngineError},
    inventory::Inventory,
    plan::Step,
    record::{Event, Log},
    tools::ToolError,
    units::{shell_word, size},
};

/// Why a step can't be done. What was measured before stands.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No file can be made for the loads.
    #[error("no file of {} can be made in {dir}: {source}", size(*.bytes), dir = dir.display())]
    Scratch {
        /// The directory.
        dir: PathBuf,
        /// The size that was to be reserved.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// No directory can be made for files of our own.
    #[error("no directory for files can be made in {dir}: {source}", dir = dir.display())]
    Folder {
        /// The directory that was to hold it.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The target can't be opened.
    #[error("{path} can't be opened: {source}", path = path.display())]
    Open {
        /// The file or device.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What was written can't be brought to the drive.
    #[error("{path} can't be synced before it is read: {source}", path = path.display())]
    Cool {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file made for the loads is still there.
    #[error(
        "{path} is left ({source}); the next run or `drivebench cleanup` removes it, or: {command} {path}",
        path = shell_word(&path.to_string_lossy())
    )]
    Leftover {
        /// What is left.
        path: PathBuf,
        /// The command that removes it.
        command: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The drive can't be moved while the machine runs.
    #[error("{drive} can't be moved: {why}")]
    Stays {
        /// The drive.
        drive: String,
        /// What holds it.
        why: String,
    },
    /// Nothing to read: the load before wrote nothing.
    #[error("nothing was written that could be read back")]
    NothingWritten,
    /// Another program can't be asked.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Only root may talk to a drive past the kernel.
    #[error(
        "only root may send {0} to standby and ask whether it sleeps, which a user who may read it may not: \
         call it with sudo"
    )]
    NotRoot(String),
    /// What is recorded would wake the drive.
    #[error(
        "the results are kept on {0} itself, and every line of them would wake it: keep them on another drive, \
         with --store DIR"
    )]
    StoreWakes(String),
    /// What must be undone can't be written down, so nothing is changed.
    #[error("the journal of what must be undone can't be written: {0}")]
    Journal(io::Error),
    /// The record can't be written on, so no result would be kept.
    #[error("the record can't be written: {0}")]
    Record(#[from] io::Error),
}

/// Sees what happens while it happens.
pub trait Watcher {
    /// A line of the record.
    fn event(&mut self, _event: &Event) {}
    /// A step begins that runs no loads and takes a while.
    fn begins(&mut self, _step: &Step) {}
    /// Drives must be moved before the plan goes on; called again whenever what is wanted changes.
    fn arrange(&mut self, _wanted: &Wanted) {}
    /// How far a load has come; after each window.
    fn progress(&mut self, _progress: &Progress<'_>) {}
}

/// What a plan is carried out with.
pub struct RunContext<'a> {
    /// The machine with its drives.
    pub world: &'a mut dyn World,
    /// What was here at the start.
    pub inventory: &'a Inventory,
    /// The store's directory, which must not be on a drive that is to sleep.
    pub store: &'a Path,
    /// The record.
    pub log: &'a mut dyn Log,
    /// Who looks on.
    pub watcher: &'a mut dyn Watcher,
    /// Asks to stop.
    pub cancel: &'a Cancel,
}

impl RunContext<'_> {
    /// Appends an event to the record and shows it.
    pub fn emit(&mut self, event: Event) -> io::Result<()> {
        self.log.append(&event)?;
        self.watcher.event(&event);
        Ok(())
    }
}
