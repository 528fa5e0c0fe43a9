//! A tree of files of many sizes, each with a content that follows from the seed, its number and the place in it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rand::Rng;
use rustix::fs::{OFlags, syncfs};
use serde::{Deserialize, Serialize};

use super::{
    FileLook, KnownFiles, READ, Random,
    content::{PIECE, Source},
    open, read,
};
use crate::{
    engine::{Aligned, Cancel},
    record::open_own,
    units::{KIB, MIB},
};

/// The files of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FileTree {
    /// All files together, bytes; a little more if the last file ends later.
    pub bytes: u64,
    pub seed: u64,
}

/// The sizes of files, in turn; none is a multiple of all block sizes.
const SIZES: [u64; 7] = [1000, 4 * KIB, 20 * KIB + 1, 64 * KIB, 256 * KIB + 7, MIB, 4 * MIB];
/// Directories that the files are spread over.
const DIRECTORIES: usize = 8;
/// No file has more than this share of all bytes.
const LARGEST: u64 = 16;

impl FileTree {
    /// The size of each file, bytes.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        let (all, most) = (self.bytes, (self.bytes / LARGEST).max(SIZES[0]));
        let mut sum = 0_u64;
        SIZES.into_iter().cycle().map(move |size| size.min(most)).take_while(move |size| {
            let begun = sum < all;
            sum = sum.saturating_add(*size);
            begun
        })
    }

    pub fn files(&self) -> u64 {
        self.sizes().count() as u64
    }

    /// The path of a file.
    pub fn path(dir: &Path, number: usize) -> PathBuf {
        dir.join(format!("d{}", number % DIRECTORIES)).join(number.to_string())
    }

    fn source(&self, number: usize) -> Source {
        Source { seed: self.seed, file: number as u64, write: 0 }
    }

    /// Writes the files to a directory, and syncs them. Returns the bytes.
    pub fn fill(&self, dir: &Path, cancel: &Cancel) -> io::Result<u64> {
        for directory in 0..DIRECTORIES {
            fs::create_dir(dir.join(format!("d{directory}")))?;
        }
        let mut bytes = 0;
        let mut buffer = vec![0; READ];
        for (number, size) in self.sizes().enumerate() {
            let mut file = create(&Self::path(dir, number))?;
            let mut at = 0;
            while at < size {
                if cancel.is_set() {
                    return Ok(bytes);
                }
                let piece = &mut buffer[..(READ as u64).min(size - at) as usize];
                self.source(number).fill(at, piece);
                file.write_all(piece)?;
                at += piece.len() as u64;
            }
            bytes += size;
        }
        syncfs(File::open(dir)?)?;
        Ok(bytes)
    }
}

/// The files of a tree in a directory.
#[derive(Debug)]
pub struct TreeFiles {
    dir: PathBuf,
    tree: FileTree,
    sizes: Vec<u64>,
}

impl TreeFiles {
    pub fn new(dir: &Path, tree: FileTree) -> Self {
        Self { dir: dir.to_owned(), tree, sizes: tree.sizes().collect() }
    }

    /// Whether a piece of a file holds what it should.
    fn is_right(&self, file: &File, number: usize, at: u64, buffer: &mut Aligned) -> io::Result<bool> {
        let length = self.piece_length(number, at);
        let bytes = read(file, at, length, buffer)?;
        Ok(bytes.len() as u64 == length && self.tree.source(number).matching(at, bytes) == bytes.len())
    }

    fn piece_length(&self, number: usize, at: u64) -> u64 {
        (READ as u64).min(self.sizes[number] - at)
    }

    /// Whether a file can be read and holds what it should.
    fn is_whole(&self, number: usize, buffer: &mut Aligned) -> io::Result<bool> {
        let (file, size) = (open(&FileTree::path(&self.dir, number))?, self.sizes[number]);
        if file.metadata()?.len() != size {
            return Ok(false);
        }
        for at in (0..size).step_by(READ) {
            if !self.is_right(&file, number, at, buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl KnownFiles for TreeFiles {
    fn count(&self) -> usize {
        self.sizes.len()
    }

    fn bytes(&self, number: usize) -> u64 {
        self.sizes[number]
    }

    fn look(&self, number: usize, buffer: &mut Aligned) -> FileLook {
        self.is_whole(number, buffer).into()
    }

    fn look_at_piece(&self, number: usize, random: &mut Random, buffer: &mut Aligned) -> (u64, FileLook) {
        let at = random.random_range(0..self.sizes[number].div_ceil(PIECE as u64)) * PIECE as u64;
        let file = open(&FileTree::path(&self.dir, number));
        let is_right = file.and_then(|file| self.is_right(&file, number, at, buffer));
        (self.piece_length(number, at), is_right.into())
    }
}

/// Makes a file; the error if there is one.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Opens a file of the ledger to write to it.
pub(super) fn open_to_write(path: &Path) -> io::Result<File> {
    open_own(path, OFlags::WRONLY)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::FileExt, sync::Arc};

    use super::{super::verify, *};

    #[test]
    fn the_files_of_a_tree_have_its_bytes() {
        for bytes in [1, 1000, 100 * KIB, 3 * MIB, 300 * MIB] {
            let tree = FileTree { bytes, seed: 1 };
            let sum: u64 = tree.sizes().sum();
            assert!(sum >= bytes && sum - bytes < 4 * MIB, "{bytes}: {sum}");
            assert!(tree.sizes().all(|size| size <= (bytes / LARGEST).max(1000)));
        }
        assert_eq!(FileTree { bytes: 0, seed: 1 }.files(), 0);
    }

    #[test]
    fn damaged_missing_and_short_files_are_told_apart() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let tree = FileTree { bytes: 3 << 20, seed: 5 };
        let bytes = tree.fill(dir.path(), &Cancel::default()).expect("fills");
        assert_eq!(bytes, tree.sizes().sum::<u64>());
        let files = Arc::new(TreeFiles::new(dir.path(), tree));
        let all = verify(&files);
        assert_eq!((all.whole, all.failed, all.wrong, all.lost_bytes), (tree.files(), 0, 0, 0));
        // One byte, a missing end, a missing file.
        let path = |number: usize| FileTree::path(dir.path(), number);
        let flip = OpenOptions::new().read(true).write(true).open(path(4)).expect("opens");
        let mut byte = [0];
        flip.read_exact_at(&mut byte, 100_000).expect("reads");
        flip.write_all_at(&[byte[0] ^ 1], 100_000).expect("writes");
        flip.sync_all().expect("syncs");
        let short = OpenOptions::new().write(true).open(path(1)).expect("opens");
        short.set_len(4000).expect("shortens");
        fs::remove_file(path(2)).expect("removes");
        let found = verify(&files);
        assert_eq!((found.whole, found.failed, found.wrong), (tree.files() - 3, 1, 2));
        let sizes: Vec<u64> = tree.sizes().collect();
        assert_eq!(found.lost_bytes, sizes[4] + sizes[1] + sizes[2]);
        assert!(found.error.expect("of the missing file").contains("No such file"));
    }
}
