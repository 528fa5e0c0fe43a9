//! Executes a plan step by step, appends to the record, and undoes its changes on every exit.

pub(crate) mod act;
mod execute;
mod execution;
mod held;
mod journal;
mod local;
mod lock;
mod measure;
mod place;
mod pool;
mod scratch;
mod scratch_dir;
mod world;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use act::{Move, Wanted, movable};
pub use execute::execute;
pub use execution::{Execution, Held, State, Troubles};
pub use journal::{
    AppendLog, DriveInStandby, Entry, Journal, Kept, Left, Leftover, Undo, host, open_trusted, sweep,
};
pub use local::{Local, in_time, now, stays};
pub use lock::{Lock, LockError, Locks};
pub use measure::Progress;
pub use place::Place;
pub use pool::{
    BuildError, Building, Built, Commands, FOR_RUNS, Former, PoolLine, PoolLog, Replacement, Wait, begin,
    can_build, can_keep, claim, destroy, exists, filled, former, in_no_pool, is_left, pools, ready_for,
    remove_for_run, resync, scrub, to_remove, unclean, uuid,
};
pub use scratch::Scratch;
pub use scratch_dir::Folder;
pub use world::World;

use crate::{
    engine::{Cancel, EngineError},
    inventory::Inventory,
    plan::Step,
    record::{Event, Log},
    tools::ToolError,
    units::{shell_word, size},
};

/// Why a step can't be done. Earlier results stay valid.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("can't create a file of {} in {dir}: {source}", size(*.bytes), dir = dir.display())]
    Scratch { dir: PathBuf, bytes: u64, source: io::Error },
    #[error("can't create a directory in {dir}: {source}", dir = dir.display())]
    Folder { dir: PathBuf, source: io::Error },
    #[error("{path} can't be opened: {source}", path = path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{path} can't be synced before it is read: {source}", path = path.display())]
    Cool { path: PathBuf, source: io::Error },
    #[error("{path} was not removed ({source}); {}", journal::remedy(path, command, source), path = shell_word(path))]
    Leftover { path: PathBuf, command: &'static str, source: io::Error },
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A person ended the run while a drive did not respond.
    #[error("interrupted")]
    Interrupted,
    /// The time was up before the drive could count as not responding.
    #[error("the time was up")]
    TimeUp,
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("{0}")]
    Pool(#[from] BuildError),
    /// An act of one experiment failed.
    #[error("{0}")]
    Act(String),
    #[error("WRONG DATA: {0}")]
    WrongData(String),
    /// The undo journal can't be written, so nothing is changed.
    #[error("{0}")]
    Journal(io::Error),
    /// The record can't be written, so no result would be kept.
    #[error("the record can't be written: {0}")]
    Record(#[from] io::Error),
}

/// Minimum time without a completed operation before a drive is reported, s.
const SILENT: f64 = 1.0;

/// Receives the events of a run.
pub trait Watcher {
    /// A line of the record.
    fn event(&mut self, _event: &Event) {}
    /// A step without loads that takes some time begins.
    fn begins(&mut self, _step: &Step) {}
    /// A person has to do this now.
    fn asks(&mut self, _text: &str) {}
    /// A command that changes drives is about to be run.
    fn runs(&mut self, _command: &str) {}
    /// The progress of something that is waited for.
    fn waits(&mut self, _text: &str) {}
    /// Drives must be moved before the plan continues; called again whenever the moves change.
    fn arrange(&mut self, _wanted: &Wanted) {}
    /// The progress of a load, after each window.
    fn progress(&mut self, _progress: &Progress<'_>) {}
}

pub struct RunContext<'a> {
    /// The name of the run.
    pub run: &'a str,
    pub world: &'a mut dyn World,
    /// The inventory at the start.
    pub inventory: &'a Inventory,
    /// The store's directory, which must not be on a drive that is sent to standby.
    pub store: &'a Path,
    pub log: &'a mut dyn Log,
    pub watcher: &'a mut dyn Watcher,
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
