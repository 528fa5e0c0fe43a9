//! Files whose content follows from a seed: written, used by a load, and compared with what is stored.

mod content;
mod found;
mod ledger;
mod load;
mod tree;
mod verify;

use std::{
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

pub(crate) use found::{FilesFound, LedgerFound, Operations, losses};
pub(crate) use ledger::{AREA, AREA_BLOCKS, BLOCK, LARGEST, Ledger, Write, area_writes, file_name};
pub(crate) use load::{Load, Outcome, WriteLog, Writes, sum};
pub(crate) use tree::{FileTree, TreeFiles};
pub(crate) use verify::{FileLook, KnownFiles, READ, Random, open, read, verify};

/// How long operations may take to end: SCSI tries a command that gets no answer for half a minute, resets, and tries again.
pub(crate) const HANG: Duration = Duration::from_secs(120);
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// Does what may hang on a thread of its own; none if it takes longer than `limit`.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = mpsc::channel();
    thread::Builder::new().spawn(move || done.send(work())).ok()?;
    result.recv_timeout(limit).ok()
}

/// The value of a mutex, also if a thread panicked while it had it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
