//! Files of a pool whose content is known: written, and read past the page cache.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use rustix::fs::{OFlags, syncfs};

use super::{
    content::Source,
    ledger::{AREA, Answer, BLOCK, Ledger, Write, name},
};
use crate::{
    engine::{Aligned, Cancel},
    plan::{FileTree, TREE_DIRECTORIES},
    record::{FilesFound, open_own},
};

/// Bytes of a file that are read at a time.
pub const READ: usize = 128 << 10;
/// Blocks of the area that is written over and over.
pub const AREA_BLOCKS: u64 = 256;

/// The path of a file of the tree.
pub fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("d{}", number % TREE_DIRECTORIES as u64)).join(name(number))
}

/// The path of a file of the ledger.
pub fn ledger_path(dir: &Path, file: u64) -> PathBuf {
    dir.join(name(file))
}

/// Where a file of the tree comes from.
pub fn source(tree: &FileTree, number: u64) -> Source {
    Source { seed: tree.seed, file: number, write: 0 }
}

/// Fills a pool with the files of a tree, and syncs them. Returns the bytes.
pub fn fill(dir: &Path, tree: &FileTree, cancel: &Cancel) -> io::Result<u64> {
    for directory in 0..TREE_DIRECTORIES {
        fs::create_dir(dir.join(format!("d{directory}")))?;
    }
    let mut bytes = 0;
    let mut buffer = vec![0; READ];
    for (number, size) in (0..).zip(tree.sizes()) {
        let mut file = create(&path(dir, number))?;
        let mut at = 0;
        while at < size {
            if cancel.is_set() {
                return Ok(bytes);
            }
            let piece = &mut buffer[..(READ as u64).min(size - at) as usize];
            source(tree, number).fill(at, piece);
            file.write_all(piece)?;
            at += piece.len() as u64;
        }
        bytes += size;
    }
    syncfs(File::open(dir)?)?;
    Ok(bytes)
}

/// Makes the area of the ledger: each block is a write that was acknowledged.
pub fn make_area(dir: &Path, ledger: &mut Ledger) -> io::Result<()> {
    let mut file = create(&ledger_path(dir, AREA))?;
    let mut block = vec![0; BLOCK as usize];
    for write in area_writes() {
        ledger.source(&write).fill(write.offset, &mut block);
        file.write_all(&block)?;
        ledger.writes.push(write);
    }
    file.sync_all()?;
    File::open(dir)?.sync_all()
}

/// The writes that made the area.
pub fn area_writes() -> impl Iterator<Item = Write> {
    let write = |number| Write {
        file: AREA,
        offset: (number - 1) * BLOCK,
        length: BLOCK,
        number,
        answer: Answer::Acknowledged,
    };
    (1..=AREA_BLOCKS).map(write)
}

/// Makes a file; the error if there is one.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Opens the area to write to it.
pub fn open_area(dir: &Path) -> io::Result<File> {
    open_own(&ledger_path(dir, AREA), OFlags::WRONLY)
}

/// As `touch`.
pub fn touch(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path).map(drop)
}

pub fn append(path: &Path) -> io::Result<File> {
    open_own(path, OFlags::WRONLY | OFlags::APPEND)
}

/// As `ls`.
pub fn list(dir: &Path) -> io::Result<()> {
    fs::read_dir(dir)?.try_for_each(|entry| entry.map(drop))
}

/// Syncs a filesystem and empties the page cache. What can't be written to the drives is lost by now.
pub fn drop_caches(dir: &Path) -> io::Result<()> {
    let _lost = File::open(dir).and_then(|dir| Ok(syncfs(dir)?));
    empty_cache()
}

/// Empties the page cache of what is on the drives already.
pub fn empty_cache() -> io::Result<()> {
    fs::write("/proc/sys/vm/drop_caches", "3")
}

/// Opens a file to read it past the page cache.
pub fn open(path: &Path) -> io::Result<File> {
    open_own(path, OFlags::RDONLY | OFlags::DIRECT)
}

/// Reads so many bytes of a file, which may end before. `offset` begins a page.
pub fn read<'b>(file: &File, offset: u64, length: u64, buffer: &'b mut Aligned) -> io::Result<&'b [u8]> {
    let whole = (length as usize).next_multiple_of(super::content::PIECE).min(buffer.len());
    let mut read = 0;
    while read < whole {
        match file.read_at(&mut buffer[read..whole], offset + read as u64)? {
            0 => break,
            n => read += n,
        }
        // Past the page cache, only the end of a file is no whole page.
        if read % super::content::PIECE != 0 {
            break;
        }
    }
    Ok(&buffer[..read.min(length as usize)])
}

/// What was found so far, and since when the present file is read.
#[derive(Debug)]
pub struct Checking {
    pub found: Mutex<FilesFound>,
    pub since: Mutex<Instant>,
}

impl Checking {
    pub fn new() -> Self {
        Self { found: Mutex::default(), since: Mutex::new(Instant::now()) }
    }

    pub fn found(&self) -> FilesFound {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads all files of a tree past the page cache. `on_drive` has the files with a part on the drive in question.
pub fn check(dir: &Path, tree: &FileTree, on_drive: Option<&[bool]>, checking: &Arc<Checking>) {
    let mut buffer = Aligned::new(READ);
    for (number, size) in (0..).zip(tree.sizes()) {
        *checking.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let mut read = || whole(&path(dir, number), size, source(tree, number), &mut buffer);
        let first = read();
        // What is stored wrong stays wrong.
        let is_unsteady = matches!(first, Ok(false)) && matches!(read(), Ok(true));
        let result = if is_unsteady { Ok(true) } else { first };
        let mut found = checking.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_whole = matches!(result, Ok(true));
        found.unsteady += u64::from(is_unsteady);
        match result {
            Ok(true) => found.whole += 1,
            Ok(false) => found.wrong += 1,
            Err(e) => {
                found.failed += 1;
                found.error.get_or_insert(e.to_string());
            }
        }
        found.lost_bytes += if is_whole { 0 } else { size };
        if on_drive.and_then(|on| on.get(number as usize)).is_some_and(|on| *on) {
            *found.on_drive_whole.get_or_insert(0) += u64::from(is_whole);
        }
    }
}

/// Whether a file can be read and holds what it should.
fn whole(path: &Path, size: u64, source: Source, buffer: &mut Aligned) -> io::Result<bool> {
    let file = open(path)?;
    if file.metadata()?.len() != size {
        return Ok(false);
    }
    let mut at = 0;
    while at < size {
        let length = (READ as u64).min(size - at);
        let bytes = read(&file, at, length, buffer)?;
        if bytes.len() as u64 != length || source.matching(at, bytes) != bytes.len() {
            return Ok(false);
        }
        at += length;
    }
    Ok(true)
}

/// Reads a place of the ledger past the page cache.
pub fn place(
    dir: &Path,
    file: u64,
    offset: u64,
    length: u64,
    buffer: &mut Aligned,
) -> Result<Vec<u8>, String> {
    let mut read_all = || {
        let file = open(&ledger_path(dir, file))?;
        read(&file, offset, length, buffer).map(<[u8]>::to_vec)
    };
    read_all().map_err(|e: io::Error| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_missing_and_short_files_are_told_apart() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let tree = FileTree { bytes: 3 << 20, seed: 5 };
        assert_eq!(fill(dir.path(), &tree, &Cancel::default()).expect("fills"), tree.sizes().sum::<u64>());
        let on: Vec<bool> = tree.sizes().map(|size| size > 100_000).collect();
        let found = |on: Option<&[bool]>| {
            let checking = Arc::new(Checking::new());
            check(dir.path(), &tree, on, &checking);
            checking.found()
        };
        let all = found(Some(&on));
        assert_eq!((all.whole, all.failed, all.wrong, all.lost_bytes), (tree.files(), 0, 0, 0));
        assert_eq!(all.on_drive_whole, Some(on.iter().filter(|on| **on).count() as u64));
        // One byte, a missing end, a missing file.
        let flip = OpenOptions::new().read(true).write(true).open(path(dir.path(), 4)).expect("opens");
        let mut byte = [0];
        flip.read_exact_at(&mut byte, 100_000).expect("reads");
        flip.write_all_at(&[byte[0] ^ 1], 100_000).expect("writes");
        flip.sync_all().expect("syncs");
        let short = OpenOptions::new().write(true).open(path(dir.path(), 1)).expect("opens");
        short.set_len(4000).expect("shortens");
        fs::remove_file(path(dir.path(), 2)).expect("removes");
        let found = found(None);
        assert_eq!((found.whole, found.failed, found.wrong), (tree.files() - 3, 1, 2));
        let sizes: Vec<u64> = tree.sizes().collect();
        assert_eq!(found.lost_bytes, sizes[4] + sizes[1] + sizes[2]);
        assert!(found.error.expect("of the missing file").contains("No such file"));
    }

    #[test]
    fn the_area_is_a_ledger_of_acknowledged_blocks() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let mut ledger = Ledger { seed: 9, writes: Vec::new() };
        make_area(dir.path(), &mut ledger).expect("makes");
        let mut buffer = Aligned::new(READ);
        let found = ledger.compare(|file, at, length| place(dir.path(), file, at, length, &mut buffer));
        assert_eq!((found.kept_bytes, found.lost_bytes), (AREA_BLOCKS * BLOCK, 0));
    }
}
