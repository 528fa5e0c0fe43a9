//! Reads files whose content is known past the page cache, and tells what they hold.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::OFlags;

use super::{FilesFound, HANG, POLL, content::PIECE, locked};
use crate::{engine::Aligned, record::open_own};

pub type Random = Xoshiro256PlusPlus;

/// Bytes of a file that are read at a time.
pub const READ: usize = 128 << 10;

/// What is found of a file or of a piece of it.
#[derive(Debug)]
pub enum FileLook {
    Whole,
    /// Another program changed, replaced or removed it: nothing is known of it.
    Changed,
    /// It holds something else, although nothing changed it.
    Wrong,
    Failed(io::Error),
}

/// What is found of a piece of a file.
#[derive(Debug)]
pub struct PieceLook {
    /// Where the piece begins, and its length, bytes.
    pub at: u64,
    pub length: u64,
    pub look: FileLook,
}

/// Files whose content is known; they are numbered from 0.
pub trait KnownFiles: Send + Sync + 'static {
    fn count(&self) -> usize;

    /// Bytes that are read of a file.
    fn bytes(&self, number: usize) -> u64;

    /// Reads a file; `progress` is called before each piece.
    fn look(&self, number: usize, buffer: &mut Aligned, progress: &Progress) -> FileLook;

    /// Reads a piece of a file.
    fn look_at_piece(&self, number: usize, random: &mut Random, buffer: &mut Aligned) -> PieceLook;
}

/// What was found so far, and since when the present piece is read.
#[derive(Debug)]
pub struct Progress {
    found: Mutex<FilesFound>,
    since: Mutex<Instant>,
}

impl Progress {
    pub fn begins(&self) {
        *locked(&self.since) = Instant::now();
    }
}

/// Reads all files. Those after one whose reading hangs are not read.
pub fn verify(files: &Arc<impl KnownFiles + ?Sized>) -> FilesFound {
    let progress = Arc::new(Progress { found: Mutex::default(), since: Mutex::new(Instant::now()) });
    let thread = thread::Builder::new().spawn({
        let (files, progress) = (Arc::clone(files), Arc::clone(&progress));
        move || look_at_all(&*files, &progress)
    });
    if let Ok(thread) = thread {
        while !thread.is_finished() && locked(&progress.since).elapsed() <= HANG {
            thread::sleep(POLL);
        }
    }
    let found = locked(&progress.found).clone();
    FilesFound { unread: (files.count() as u64).saturating_sub(found.all() + found.changed), ..found }
}

fn look_at_all(files: &(impl KnownFiles + ?Sized), progress: &Progress) {
    let mut buffer = Aligned::new(READ);
    for number in 0..files.count() {
        progress.begins();
        let mut look = || files.look(number, &mut buffer, progress);
        let first = look();
        let was_wrong = matches!(first, FileLook::Wrong);
        // What is stored wrong stays wrong.
        let then = if was_wrong { look() } else { first };
        let mut found = locked(&progress.found);
        if matches!(then, FileLook::Wrong | FileLook::Failed(_)) {
            found.lost_bytes += files.bytes(number);
        }
        match then {
            FileLook::Whole => {
                found.whole += 1;
                found.unsteady += u64::from(was_wrong);
            }
            FileLook::Changed => found.changed += 1,
            FileLook::Wrong => found.wrong += 1,
            FileLook::Failed(e) => {
                found.failed += 1;
                found.error.get_or_insert(e.to_string());
            }
        }
    }
}

/// Opens a file to read it past the page cache.
pub fn open(path: &Path) -> io::Result<File> {
    open_own(path, OFlags::RDONLY | OFlags::DIRECT)
}

/// Reads so many bytes of a file, which may end before. `offset` begins a page.
pub fn read<'b>(file: &File, offset: u64, length: u64, buffer: &'b mut Aligned) -> io::Result<&'b [u8]> {
    let whole = (length as usize).next_multiple_of(PIECE).min(buffer.len());
    let mut read = 0;
    while read < whole {
        match file.read_at(&mut buffer[read..whole], offset + read as u64)? {
            0 => break,
            n => read += n,
        }
        // Past the page cache, only the end of a file is no whole page.
        if read % PIECE != 0 {
            break;
        }
    }
    Ok(&buffer[..read.min(length as usize)])
}
