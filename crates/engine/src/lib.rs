//! Engines run loads and time each operation. There is one trait and one conformance suite for all of them.

use drivebench_host::tools;
use drivebench_units as units;

mod buffers;
mod cancel;
mod fio;
pub mod loop_device;
mod op_sequence;
mod psync;
mod pulse;
mod select;
pub mod swap_file;
mod target;
#[cfg(test)]
mod testing;
#[cfg(not(target_arch = "arm"))]
mod uring;
mod verify;
mod windows;
mod workers;
mod write_back;

pub use buffers::Aligned;
pub use cancel::{Cancel, Clock};
pub use fio::{Fio, command_line as fio_command_line};
pub use psync::Psync;
pub use pulse::Pulse;
pub use select::{open, uring_available};
pub use target::FileTarget;
#[cfg(not(target_arch = "arm"))]
pub use uring::Uring;
pub use write_back::sync;

use std::io;

use serde::{Deserialize, Serialize};

pub use crate::units::{Ended, EngineInfo, Outcome};
use crate::units::{Extent, Load, Window};

/// A load on one of an engine's targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The position of the target in the engine's list, from 0.
    pub target: usize,
    pub load: Load,
    /// The range. For direct loads, offset and length are multiples of the block size; a partial last block is not used.
    pub extent: Extent,
    /// How far into the range a sequential load begins, bytes: a multiple of the block size. A random one goes to other places.
    pub begin: u64,
    /// Bytes to move, rounded up to whole blocks. A sequential load wraps around at the extent's end.
    pub bytes: u64,
    /// The smallest window, bytes. Windows double in size until they last [`WINDOW_SECONDS`] or more.
    pub window: u64,
}

/// Windows of fast drives grow by doubling, once, after [`WINDOW_PILOT`] windows, until they last about this long (s).
pub const WINDOW_SECONDS: f64 = 0.004;
/// After how many windows the size of later ones is determined; a power of two.
pub const WINDOW_PILOT: u64 = 64;

/// A watcher's reply to a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// Stop this job; others continue.
    Stop,
}

/// The outcomes of all jobs, in the order of the jobs.
pub type Outcomes = Result<Vec<Outcome>, EngineError>;

/// Called with each window while the loads run: the job's position in the list, and the window.
pub type Watch<'a> = dyn FnMut(usize, &Window) -> Flow + 'a;

/// Why an engine can't run a load; no bytes were moved.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Load(#[from] crate::units::LoadError),
    #[error("{0}")]
    Job(String),
    /// The target or its filesystem refuses `O_DIRECT`.
    #[error("{0} refuses direct I/O (O_DIRECT)")]
    NoDirect(String),
    #[error("the {engine} engine can't be used here: {why}")]
    Unavailable {
        engine: &'static str,
        /// What is missing, and how to get it.
        why: String,
    },
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
}

/// Runs loads and times their operations.
pub trait Engine {
    fn info(&self) -> EngineInfo;

    /// Starts all jobs at the same time and returns when the last has ended, with the outcomes in the order of `jobs`.
    /// `watch` is called on the caller's thread. Windows that end after a job was stopped are not passed on, but the bytes
    /// they moved are in the outcome. Cancelling returns within 200 ms even if the drive hangs. A deadline stops the jobs, too:
    /// those that end within its grace were stopped, others were cancelled.
    fn run(&mut self, jobs: &[Job], cancel: &Cancel, watch: &mut Watch<'_>) -> Outcomes;
}

/// Makes a call that a signal may interrupt until it succeeds (0), or fails for another reason, which is in `errno`.
fn again_if_interrupted(call: impl Fn() -> i32) -> io::Result<()> {
    loop {
        if call() == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
