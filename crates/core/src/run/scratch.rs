//! The scratch file that loads write and read; it is removed afterwards.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, FallocateFlags, IFlags, Mode, OFlags, fallocate, fstatfs, ioctl_setflags, openat},
    io::Errno,
};

use super::{
    held,
    journal::{Entry, Journal, OwnFile},
};
use crate::record::lock;

const PREFIX: &str = ".drivebench-";
pub(super) const FILE: &str = ".scratch";
pub(super) const DIRECTORY: &str = ".files";

/// The name for the `at`th target of a run.
pub(super) fn name(run: &str, at: usize, suffix: &str) -> String {
    format!("{PREFIX}{run}{at}{suffix}")
}

/// Whether this is such a name of this run.
pub(super) fn is_name(run: &str, path: &Path, suffix: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(suffix));
    let at = name.and_then(|name| name.strip_prefix(run));
    at.is_some_and(|at| !at.is_empty() && at.bytes().all(|b| b.is_ascii_digit()))
}

/// A scratch file. It has no name if the filesystem supports that; otherwise it is removed on drop.
#[derive(Debug)]
pub struct Scratch {
    pub file: File,
    /// Its path, the directory it is in, and its entry in the journal, if it has a name.
    named: Option<(PathBuf, File, Entry)>,
}

impl Scratch {
    /// Creates a file in `dir` for the `at`th target. A file that needs a name gets a journal entry first.
    pub(super) fn create(dir: &Path, journal: &Journal, at: usize) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(CWD, dir, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => Ok(Self { file: File::from(fd), named: None }),
            // Filesystems without O_TMPFILE return different errors; kernels without the flag return EISDIR.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS) => {
                Self::named(dir, journal, at)
            }
            Err(e) => Err(e.into()),
        }
    }

    /// Creates a file with a name, for calls of the kernel that take a path.
    pub fn named(dir: &Path, journal: &Journal, at: usize) -> io::Result<Self> {
        let path = journal.scratch_path(dir, at, FILE)?;
        let (above, name) = (held::above(&path)?, path.file_name().unwrap_or_default());
        let entry = journal.will(OwnFile { path: path.clone() })?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match openat(&above, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                let file = File::from(file);
                // The lock protects the file from a cleanup that does not see the journal. Without locks, only the journal protects it.
                let _ = lock(&file);
                entry.made(&file)?;
                Ok(Self { file, named: Some((path, above, entry)) })
            }
            Err(e) => {
                entry.done()?;
                Err(e.into())
            }
        }
    }

    pub fn path(&self) -> Option<&Path> {
        self.named.as_ref().map(|(path, ..)| path.as_path())
    }

    /// Where it is now: it may have been moved.
    pub fn place(&self) -> PathBuf {
        held::path_of(&self.file).unwrap_or_default()
    }

    /// Removes it and reports errors, which `drop` can't.
    pub fn remove(&mut self) -> io::Result<()> {
        let Some((path, above, entry)) = self.named.take() else { return Ok(()) };
        entry.removed(held::remove_file(&self.file, &above, &path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // After an error the journal entry stays, and the next run removes both.
        let _ = self.remove();
    }
}

/// Reserves bytes for an empty file, if its filesystem supports that.
pub(super) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    write_in_place(file);
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Reserves bytes beyond the end of an empty file, or none of them. Nothing is written until blocks are: FAT then writes all
/// that lies before them.
pub(super) fn reserve_unwritten(file: &File, bytes: u64) -> io::Result<()> {
    write_in_place(file);
    fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes)
        .map_err(|e| file.set_len(0).err().unwrap_or(e.into()))
}

/// On btrfs, direct I/O on files with checksums goes through the page cache, and each write takes new blocks.
fn write_in_place(file: &File) {
    const BTRFS: u64 = 0x9123_683e;
    if fstatfs(file).is_ok_and(|fs| fs.f_type as u64 & 0xffff_ffff == BTRFS) {
        // Where it is refused, the drive's counters show what never reached the drive.
        let _ = ioctl_setflags(file, IFlags::NOCOW);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::journal::sweep, *};

    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (dir, store) = (home.path().join("drive"), home.path().join("store"));
        fs::create_dir(&dir).expect("drive");
        (home, dir, store)
    }

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir)
            .expect("lists")
            .map(|e| e.expect("entry").file_name().into_string().expect("UTF-8"));
        names.collect()
    }

    #[test]
    fn a_file_without_a_name_leaves_nothing_behind() {
        let (_home, dir, store) = place();
        let journal = Journal::open(&store, "rabc");
        let scratch = Scratch::create(&dir, &journal, 0).expect("creates");
        assert_eq!((scratch.path(), names(&dir), store.exists()), (None, vec![], false));
        scratch.file.set_len(4096).expect("can be written");
    }

    #[test]
    fn a_named_file_and_its_journal_are_removed_on_drop() {
        let (_home, dir, store) = place();
        let journal = Journal::open(&store, "rabc");
        let mut scratch = Scratch::named(&dir, &journal, 0).expect("creates");
        assert_eq!(names(&dir), [".drivebench-rabc0.scratch"]);
        assert_eq!(names(&store.join("journals")), ["rabc.0"]);
        // While it is locked, a cleanup does not touch it.
        assert_eq!(sweep(&store), []);
        scratch.remove().expect("removes");
        drop(Scratch::named(&dir, &journal, 1).expect("creates"));
        assert_eq!(names(&dir), [""; 0]);
        drop(journal);
        assert_eq!(names(&store.join("journals")), [""; 0]);
    }

    #[test]
    fn a_moved_file_is_removed_where_it_is_and_what_took_its_place_stays() {
        // The file is moved, or the directory that it is in.
        for above in [false, true] {
            let (home, dir, store) = place();
            let journal = Journal::open(&store, "rabc");
            let mut scratch = Scratch::named(&dir, &journal, 0).expect("creates");
            let path = dir.join(".drivebench-rabc0.scratch");
            let away = home.path().join("away");
            fs::rename(if above { &dir } else { &path }, &away).expect("moves");
            fs::create_dir_all(&dir).and_then(|()| fs::write(&path, "mine")).expect("writes");
            scratch.remove().expect("removes");
            drop(journal);
            assert_eq!(fs::read_to_string(&path).expect("stays"), "mine");
            assert!(if above { names(&away).is_empty() } else { !away.exists() });
            assert_eq!(names(&store.join("journals")), [""; 0]);
        }
    }

    #[test]
    fn existing_files_are_not_overwritten() {
        let (_home, dir, store) = place();
        let journal = Journal::open(&store, "rabc");
        fs::write(dir.join(".drivebench-rabc0.scratch"), "mine").expect("writes");
        assert!(Scratch::named(&dir, &journal, 0).is_err());
        drop(journal);
        assert_eq!(sweep(&store), []);
        assert_eq!(names(&dir), [".drivebench-rabc0.scratch"]);
    }

    #[test]
    fn only_scratch_names_match() {
        assert_eq!(name("rk6q", 1, FILE), ".drivebench-rk6q1.scratch");
        let path = |file: &str| Path::new("/mnt/a").join(file);
        assert!(is_name("rk6q", &path(".drivebench-rk6q1.scratch"), FILE));
        for other in [
            "thesis.txt",
            ".drivebench-rk6q1.files",
            ".drivebench-rk6q.scratch",
            ".drivebench-rk6qx.scratch",
            ".drivebench-rother0.scratch",
            "a/.drivebench-rk6q1.scratch/b",
        ] {
            assert!(!is_name("rk6q", &path(other), FILE), "{other}");
        }
    }
}
