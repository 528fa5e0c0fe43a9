//! A pool whose drive is away, and what is looked for on it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use super::{
    HANG, POLL,
    files::{Checking, READ, check, drop_caches, place},
    gone::Gone,
    ledger::Ledger,
};
use crate::{
    engine::Aligned,
    inventory::{Drive, Inventory},
    plan::{FileTree, Pull},
    record::{FilesFound, LedgerFound},
    run::{
        journal::Journal,
        pool::{BuildError, Built, PoolLog},
    },
    tools::Runner,
};

/// Of what may be written: before, while the drive is away, and until it is back.
pub const THIRDS: u64 = 3;

/// A pool that a run built, and where it may be changed from.
pub struct Site<'a> {
    /// Its name, and where it is mounted.
    pub pool: &'a str,
    pub dir: &'a Path,
    pub store: &'a Path,
    pub erase: &'a [String],
    pub journal: &'a Journal,
    pub runner: &'a dyn Runner,
}

/// A pool without one of its drives.
#[derive(Debug)]
pub struct Away {
    pub act: Pull,
    pub gone: Gone,
    pub ledger: Arc<Mutex<Ledger>>,
    /// Files with a part on the drive, where that is known.
    pub on_drive: Option<Vec<bool>>,
}

/// The pool and its drive, by the log of the pool.
pub fn known(site: &Site<'_>) -> Result<(PoolLog, Built), BuildError> {
    PoolLog::open(site.store, site.pool).map_err(BuildError::NoLog)
}

/// A drive of the pool, by its place and its identity: an edited record may name another drive of the machine.
pub fn its_drive<'i>(
    built: &Built,
    inventory: &'i Inventory,
    (member, identity): (u32, &str),
) -> Result<&'i Drive, BuildError> {
    let found = built.build.drives(inventory).get(member as usize).copied().flatten();
    found.filter(|drive| drive.identity() == identity).ok_or_else(|| {
        BuildError::Drives(format!(
            "the drive {identity} is not here, or is not drive {} of {}",
            member + 1,
            built.build.name
        ))
    })
}

/// Does what may hang on a thread of its own; none if it takes too long.
pub fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = mpsc::channel();
    thread::Builder::new().spawn(move || done.send(work())).ok()?;
    result.recv_timeout(limit).ok()
}

/// Reads the tree and the places of the ledger past the page cache.
pub fn look(dir: &Path, away: &Away) -> (FilesFound, LedgerFound) {
    look_at(dir, &away.act.tree, away.on_drive.clone(), &away.ledger, HANG * 4)
}

/// The same; `on_drive` has the files with a part on the drive in question, where that is known. Reading the ledger's places may take
/// `limit`.
pub fn look_at(
    dir: &Path,
    tree: &FileTree,
    on_drive: Option<Vec<bool>>,
    ledger: &Arc<Mutex<Ledger>>,
    limit: Duration,
) -> (FilesFound, LedgerFound) {
    let files = tree_found(dir, tree, on_drive);
    let copy = || ledger.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (dir, all) = (dir.to_owned(), copy());
    let found = within(limit, move || {
        let mut buffer = Aligned::new(READ);
        all.compare(|file, offset, length| place(&dir, file, offset, length, &mut buffer))
    });
    // What can't be read to its end is not known to be there.
    let hung = || copy().compare(|_, _, _| Err("reading hung".to_owned()));
    (files, found.unwrap_or_else(hung))
}

/// The files of the tree; those after one whose reading hangs are not read.
fn tree_found(dir: &Path, tree: &FileTree, on_drive: Option<Vec<bool>>) -> FilesFound {
    let on = on_drive.as_ref().map(|on| on.iter().filter(|on| **on).count() as u64);
    let (dir, tree) = (dir.to_owned(), *tree);
    let check = move |checking: &Arc<Checking>| check(&dir, &tree, on_drive.as_deref(), checking);
    FilesFound { on_drive: on, ..checked(tree.files(), check) }
}

/// What `check` finds of so many files; those after one whose reading hangs are not read.
pub fn checked(all: u64, check: impl FnOnce(&Arc<Checking>) + Send + 'static) -> FilesFound {
    let checking = Arc::new(Checking::new());
    let thread = thread::Builder::new().spawn({
        let checking = Arc::clone(&checking);
        move || check(&checking)
    });
    if let Ok(thread) = thread {
        let hangs = || checking.since.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > HANG;
        while !thread.is_finished() && !hangs() {
            thread::sleep(POLL);
        }
    }
    let found = checking.found();
    FilesFound { unread: all.saturating_sub(found.all() + found.changed), ..found }
}

/// Empties the page cache, so that what is read next comes from drives. What can't be written to them is lost by now.
pub fn cool(dir: &Path) {
    let dir = dir.to_owned();
    let _ = within(HANG, move || drop_caches(&dir));
}
