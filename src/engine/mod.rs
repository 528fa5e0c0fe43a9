//! Engines move bytes and time them. One trait, one conformance suite that all of them pass.

mod buffers;
mod fio;
mod op_sequence;
mod psync;
mod select;
pub mod sim;
mod target;
#[cfg(test)]
mod testing;
#[cfg(not(target_arch = "arm"))]
mod uring;
mod verify;
mod windows;
mod workers;

pub use fio::{Fio, command_line as fio_command_line};
pub use psync::Psync;
pub use select::{open, uring_available};
pub use target::FileTarget;
#[cfg(not(target_arch = "arm"))]
pub use uring::Uring;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::{Deserialize, Serialize};

pub use crate::units::{Ended, EngineInfo, Outcome};
use crate::units::{Extent, Load, Window};

/// Asks running loads to stop; cheap to clone, safe to set from a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Wraps a flag that someone else sets, such as a signal handler.
    pub fn from_flag(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Asks to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether someone asked to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A load on one of the targets an engine was opened with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Which of the engine's targets, counting from 0.
    pub target: usize,
    /// What is asked of it.
    pub load: Load,
    /// Where: offset and length are multiples of the block size in direct loads; a last partial block is not used.
    pub extent: Extent,
    /// Bytes to move, rounded up to whole blocks; a sequential load that reaches the extent's end starts again.
    pub bytes: u64,
    /// The smallest window, bytes. Windows double in size until they last [`WINDOW_SECONDS`] or more.
    pub window: u64,
}

/// Windows of fast drives grow by doubling, once, after [`WINDOW_PILOT`] windows, until they last about this long (s).
pub const WINDOW_SECONDS: f64 = 0.004;
/// After how many windows the size of the others is settled; a power of two.
pub const WINDOW_PILOT: u64 = 64;

/// What a watcher wants after a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop this job; others go on.
    Stop,
}

/// What came of each job, in the order of the jobs.
pub type Outcomes = Result<Vec<Outcome>, EngineError>;

/// Sees each window while the loads run: the job's position in the list that was given, and the window.
pub type Watch<'a> = dyn FnMut(usize, &Window) -> Flow + 'a;

/// Why an engine can't do what is asked; nothing was moved.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The load itself is out of range.
    #[error(transparent)]
    Load(#[from] crate::units::LoadError),
    /// The job doesn't fit the target.
    #[error("{0}")]
    Job(String),
    /// The target or its filesystem refuses `O_DIRECT`.
    #[error("{0} refuses direct I/O (O_DIRECT)")]
    NoDirect(String),
    /// The engine isn't to be had here.
    #[error("the {engine} engine can't be used here: {why}")]
    Unavailable {
        /// Its name.
        engine: &'static str,
        /// What is missing and what would bring it.
        why: String,
    },
    /// The system refused something before the load began.
    #[error("{what}: {source}")]
    System {
        /// What was tried, on what.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Moves bytes and times them.
pub trait Engine {
    /// What it is.
    fn info(&self) -> EngineInfo;

    /// Runs all jobs from one start and returns when the last has ended, with the outcomes in the order of `jobs`.
    /// `watch` is called on the caller's thread. Windows that end after a job was stopped are not shown, but what
    /// they moved is in the outcome. Cancelling returns within 200 ms even where the drive hangs.
    fn run(&mut self, jobs: &[Job], cancel: &Cancel, watch: &mut Watch<'_>) -> Outcomes;
}
