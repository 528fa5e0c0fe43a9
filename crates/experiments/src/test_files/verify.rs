//! Reads files whose content is known past the page cache, and tells what they hold.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path, sync::Arc, time::Duration};

use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::OFlags;

use super::{FilesFound, HANG, content::PIECE, within};
use crate::{engine::Aligned, record::open_own, units::MIB};

pub type Random = Xoshiro256PlusPlus;

/// Bytes of a file that are read at a time.
pub const READ: usize = 128 << 10;

/// What is found of a file, or of a piece of it.
#[derive(Debug)]
pub enum FileLook {
    Whole,
    /// Another program changed, replaced or removed it: nothing is known of it.
    Changed,
    /// It holds something else, although nothing changed it.
    Wrong,
    Failed(io::Error),
}

impl From<io::Result<bool>> for FileLook {
    /// Whether it could be read, and held what it should.
    fn from(is_right: io::Result<bool>) -> Self {
        match is_right {
            Ok(true) => Self::Whole,
            Ok(false) => Self::Wrong,
            Err(e) => Self::Failed(e),
        }
    }
}

/// Files whose content is known; they are numbered from 0.
pub trait KnownFiles: Send + Sync + 'static {
    fn count(&self) -> usize;

    /// Bytes that are read of a file.
    fn bytes(&self, number: usize) -> u64;

    /// Reads a file.
    fn look(&self, number: usize, buffer: &mut Aligned) -> FileLook;

    /// Reads a piece of a file: its length in bytes, and what was found.
    fn look_at_piece(&self, number: usize, random: &mut Random, buffer: &mut Aligned) -> (u64, FileLook);
}

/// Reads all files. Those after one whose reading hangs are not read.
pub fn verify(files: &Arc<impl KnownFiles + ?Sized>) -> FilesFound {
    let mut found = FilesFound::default();
    for number in 0..files.count() {
        let bytes = files.bytes(number);
        // Besides, a slow drive reads a MiB in a second.
        let limit = HANG + Duration::from_secs(bytes / MIB);
        let files = Arc::clone(files);
        let looked = within(limit, move || {
            let mut buffer = Aligned::new(READ);
            match files.look(number, &mut buffer) {
                // What is stored wrong stays wrong.
                FileLook::Wrong => (true, files.look(number, &mut buffer)),
                look => (false, look),
            }
        });
        let Some((was_wrong, look)) = looked else { break };
        if matches!(look, FileLook::Wrong | FileLook::Failed(_)) {
            found.lost_bytes += bytes;
        }
        match look {
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
    FilesFound { unread: (files.count() as u64).saturating_sub(found.all() + found.changed), ..found }
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
