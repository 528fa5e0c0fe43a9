//! A directory for files of our own: made for the purpose, filled, read, and gone afterwards with all that is ours in it.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{
    Advice, AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, fadvise, flock, fstatvfs, mkdirat,
    openat, syncfs, unlinkat,
};

use super::scratch::{PREFIX, Swept, mark};
use crate::{engine::Cancel, plan::FileSet, record::ActResult};

const SUFFIX: &str = ".files";
/// How often a wait looks whether someone asked to stop.
const LOOK: Duration = Duration::from_millis(20);
/// How long work that was asked to stop may take to do so by itself.
const GRACE: Duration = Duration::from_millis(100);
/// Bytes moved between two looks whether it is enough.
const PIECE: usize = 256 << 10;
/// Left for others.
const SPARE_INODES: u64 = 64;

/// A directory of our own. Its files are named by numbers; nothing else in it is ever touched.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Open and locked, for whoever finds the directory but not the marker.
    dir: Arc<File>,
    marker: PathBuf,
    /// Holds the lock that says the directory is in use.
    _held: File,
    removed: bool,
}

/// What is done in a folder.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Remove what is there, write these files, and bring them to the drive.
    Write { set: FileSet, seed: u64 },
    /// Drop these files from the page cache, and read them.
    Read { set: FileSet },
}

impl Folder {
    /// Makes one in `parent`; `store` keeps the marker, `run` is part of the name.
    pub fn create(parent: &Path, store: &Path, run: &str) -> io::Result<Self> {
        let path = parent.canonicalize()?.join(format!("{PREFIX}{run}{SUFFIX}"));
        let (marker, held) = mark(store, &format!("{run}{SUFFIX}"), &path)?;
        let made = mkdirat(CWD, &path, Mode::RWXU).map_err(io::Error::from).and_then(|()| open(&path));
        match made {
            Ok(dir) => Ok(Self { path, dir: Arc::new(dir), marker, _held: held, removed: false }),
            Err(e) => {
                fs::remove_file(&marker)?;
                Err(e)
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does this for at most so many seconds; what it took, and what went wrong. Whoever asks to stop doesn't wait for
    /// a drive that hangs.
    pub fn work(&self, work: Work, seconds: f64, cancel: &Cancel) -> (ActResult, Option<String>) {
        let (done, result) = mpsc::channel();
        let mut task =
            Task { dir: Arc::clone(&self.dir), cancel: cancel.clone(), seconds, took: ActResult::default() };
        std::thread::spawn(move || {
            let failed = task.run(work).err();
            done.send((task.took, failed))
        });
        loop {
            let patience = if cancel.is_set() { GRACE } else { LOOK };
            match result.recv_timeout(patience) {
                Ok((took, failed)) => {
                    let cut_short = cancel.is_set() || failed.is_some();
                    return (ActResult { cut_short, ..took }, failed);
                }
                Err(_) if cancel.is_set() => {
                    return (ActResult { cut_short: true, ..ActResult::default() }, None);
                }
                Err(_) => {}
            }
        }
    }

    /// Removes it. What `drop` does in silence is said here: the path that is left and why.
    pub fn remove(mut self) -> Result<(), (PathBuf, io::Error)> {
        self.clear_away()
    }

    fn clear_away(&mut self) -> Result<(), (PathBuf, io::Error)> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        match remove(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err((self.path.clone(), e)),
            _ => fs::remove_file(&self.marker).map_err(|e| (self.marker.clone(), e)),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // On an unwinding path nobody can be told; the marker stays, and the next start removes both.
        let _ = self.clear_away();
    }
}

/// Work under way, on a thread of its own.
struct Task {
    dir: Arc<File>,
    cancel: Cancel,
    seconds: f64,
    took: ActResult,
}

impl Task {
    fn run(&mut self, work: Work) -> Result<(), String> {
        match work {
            Work::Write { set, seed } => self.write(set, seed),
            Work::Read { set } => self.read(set),
        }
    }

    fn write(&mut self, set: FileSet, seed: u64) -> Result<(), String> {
        let failed = |what: &str, e: io::Error| format!("{what}: {e}");
        empty(&self.dir).map_err(|e| failed("the files before can't be removed", e))?;
        self.room(set)?;
        // Larger than a piece, so that files begin at different places of it and no two are alike.
        let mut content = vec![0; PIECE + 4096];
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut content);
        // What others have left unwritten is not this set's to wait for.
        syncfs(&self.dir).map_err(|e| failed("the filesystem can't be synced", e.into()))?;
        let since = Instant::now();
        let mut result = Ok(());
        for number in 0..set.files {
            if self.enough(since) {
                break;
            }
            let written = self.write_file(number, set.size, &content[number as usize % 4096..], since);
            if let Err(e) = written {
                result = Err(failed(&format!("file {} of {} can't be written", number + 1, set.files), e));
                break;
            }
        }
        if result.is_ok() && !self.cancel.is_set() {
            result =
                syncfs(&self.dir).map_err(|e| failed("the files can't be brought to the drive", e.into()));
        }
        self.took.seconds = since.elapsed().as_secs_f64();
        result
    }

    /// Refuses what the filesystem has no room for: files need inodes as well as bytes.
    fn room(&self, set: FileSet) -> Result<(), String> {
        let Ok(space) = fstatvfs(&self.dir) else { return Ok(()) };
        // Filesystems that make inodes as they go say that they have none at all.
        let (all, free) = (space.f_files, space.f_favail);
        if all > 0 && free < set.files.saturating_add(SPARE_INODES) {
            return Err(format!(
                "the filesystem has {free} inodes free, and {} need more: remove some files, or choose another directory",
                set.describe()
            ));
        }
        Ok(())
    }

    fn write_file(&mut self, number: u64, size: u64, content: &[u8], since: Instant) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(openat(&self.dir, number.to_string(), flags, mode)?);
        let mut left = size;
        while left > 0 && !self.enough(since) {
            let piece = &content[..PIECE.min(left as usize)];
            file.write_all(piece)?;
            left -= piece.len() as u64;
            self.took.bytes += piece.len() as u64;
        }
        self.took.files += 1;
        Ok(())
    }

    fn read(&mut self, set: FileSet) -> Result<(), String> {
        let open = |number: u64| -> io::Result<File> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(File::from(openat(&self.dir, number.to_string(), flags, Mode::empty())?))
        };
        let failed =
            |number: u64, e: io::Error| format!("file {} of {} can't be read: {e}", number + 1, set.files);
        for number in 0..set.files {
            match open(number).and_then(|file| Ok(fadvise(&file, 0, None, Advice::DontNeed)?)) {
                // The set before was cut short by its time: what is there is read.
                Err(e) if e.kind() == io::ErrorKind::NotFound => break,
                other => other.map_err(|e| failed(number, e))?,
            }
        }
        let mut buffer = vec![0; PIECE];
        let since = Instant::now();
        for number in 0..set.files {
            if self.enough(since) {
                break;
            }
            let mut file = match open(number) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => break,
                other => other.map_err(|e| failed(number, e))?,
            };
            self.took.files += 1;
            while !self.enough(since) {
                match file.read(&mut buffer).map_err(|e| failed(number, e))? {
                    0 => break,
                    n => self.took.bytes += n as u64,
                }
                self.took.seconds = since.elapsed().as_secs_f64();
            }
        }
        self.took.seconds = since.elapsed().as_secs_f64();
        Ok(())
    }

    fn enough(&self, since: Instant) -> bool {
        self.cancel.is_set() || since.elapsed().as_secs_f64() >= self.seconds
    }
}

/// Whether this is a directory's name of ours.
pub(super) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)).is_some()
}

/// A directory that no run holds, locked; anything else may belong to somebody and is left alone.
pub(super) fn free(path: &Path) -> Option<File> {
    open(path).ok()
}

/// Removes what a killed run left; `None` where there is nothing.
pub(super) fn sweep(path: &Path) -> Option<Swept> {
    match remove(path) {
        Ok(()) => Some(Swept::Removed(path.to_owned())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => Some(Swept::Left(path.to_owned(), e.to_string())),
    }
}

/// Opens a directory, not a link to one, and takes its lock where the filesystem has locks.
fn open(path: &Path) -> io::Result<File> {
    let dir = File::from(openat(CWD, path, directory(), Mode::empty())?);
    match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(dir),
    }
}

fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Removes a directory with the files that are ours; anything else in it stays, and so does the directory.
fn remove(path: &Path) -> io::Result<()> {
    let dir = File::from(openat(CWD, path, directory(), Mode::empty())?);
    empty(&dir)?;
    fs::remove_dir(path)
}

/// Removes the files that are ours: plain ones whose names are numbers.
fn empty(dir: &File) -> io::Result<()> {
    let ours = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_digit);
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let plain = [FileType::RegularFile, FileType::Unknown].contains(&entry.file_type());
        if plain && ours(entry.file_name().to_bytes()) {
            names.push(entry.file_name().to_owned());
        }
    }
    for name in names {
        unlinkat(dir, name, AtFlags::empty())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{
        super::scratch::{sweep as sweep_store, sweep_directory},
        *,
    };

    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (dir, store) = (home.path().join("drive"), home.path().join("store"));
        fs::create_dir(&dir).expect("drive");
        (home, dir, store)
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("lists");
        entries.map(|e| e.expect("entry").file_name().into_string().expect("UTF-8")).collect()
    }

    const SET: FileSet = FileSet { files: 5, size: 700_000 };

    fn write(folder: &Folder) -> (ActResult, Option<String>) {
        folder.work(Work::Write { set: SET, seed: 1 }, 60.0, &Cancel::default())
    }

    #[test]
    fn files_are_written_and_read_whole_and_all_goes_with_the_value() {
        let (_home, dir, store) = place();
        let folder = Folder::create(&dir, &store, "rabc0").expect("creates");
        for _ in 0..2 {
            let (took, failed) = write(&folder);
            assert_eq!((took.files, took.bytes, took.cut_short, failed), (5, 3_500_000, false, None));
        }
        let content = |number: u32| fs::read(folder.path().join(number.to_string())).expect("reads");
        assert!(content(0).len() == 700_000 && content(0) != content(1));
        let (took, failed) = folder.work(Work::Read { set: SET }, 60.0, &Cancel::default());
        assert_eq!((took.files, took.bytes, failed), (5, 3_500_000, None));
        assert!(took.seconds > 0.0);
        // While it is held, no other start touches it.
        assert_eq!((sweep_store(&store), sweep_directory(&dir)), (vec![], vec![]));
        folder.remove().expect("removes");
        assert_eq!((names(&dir), names(&store.join("leftovers"))), (vec![], vec![]));
    }

    #[test]
    fn asked_to_stop_or_out_of_time_it_ends_with_what_it_did() {
        let (_home, dir, store) = place();
        let folder = Folder::create(&dir, &store, "rabc0").expect("creates");
        let stopped = Cancel::default();
        stopped.set();
        let (took, failed) = folder.work(Work::Write { set: SET, seed: 1 }, 60.0, &stopped);
        assert!(took.cut_short && failed.is_none());
        let (took, _) = folder.work(Work::Write { set: SET, seed: 1 }, 0.0, &Cancel::default());
        assert_eq!((took.files, took.cut_short), (0, false));
        let (took, failed) = folder.work(Work::Read { set: SET }, 60.0, &Cancel::default());
        assert_eq!((took.files, took.bytes, failed), (0, 0, None));
        let many = FileSet { files: u64::MAX, size: 0 };
        let (took, failed) = folder.work(Work::Write { set: many, seed: 1 }, 1.0, &Cancel::default());
        assert!(took.cut_short && failed.as_ref().is_some_and(|f| f.contains("inodes free")), "{failed:?}");
    }

    /// What kill -9 leaves: directory and marker, held by nobody.
    fn killed(dir: &Path, store: &Path) -> PathBuf {
        let mut folder = Folder::create(dir, store, "rabc0").expect("creates");
        write(&folder);
        folder.removed = true;
        folder.path.clone()
    }

    #[test]
    fn the_next_start_removes_what_a_killed_run_left_by_marker_or_by_name() {
        for by_marker in [true, false] {
            let (_home, dir, store) = place();
            let left = killed(&dir, &store);
            assert_eq!(names(&left).len(), 5);
            let swept = if by_marker { sweep_store(&store) } else { sweep_directory(&dir) };
            assert_eq!(swept, [Swept::Removed(left)]);
            assert_eq!(names(&dir), [""; 0]);
            assert_eq!(sweep_store(&store), []);
            assert_eq!(names(&store.join("leftovers")), [""; 0]);
        }
    }

    #[test]
    fn what_is_not_ours_stays_and_is_said() {
        let (_home, dir, store) = place();
        let left = killed(&dir, &store);
        fs::write(left.join("thesis.txt"), "years of work").expect("writes");
        fs::create_dir(left.join("7")).expect("a directory named by a number");
        assert!(matches!(&sweep_store(&store)[..], [Swept::Left(path, _)] if *path == left));
        let mut kept = names(&left);
        kept.sort();
        assert_eq!(kept, ["7", "thesis.txt"]);

        let (_home, dir, store) = place();
        let precious = dir.join("precious");
        fs::create_dir(&precious).expect("creates");
        fs::write(precious.join("1"), "mine").expect("writes");
        symlink(&precious, dir.join(".drivebench-rlink0.files")).expect("a link");
        assert_eq!(sweep_directory(&dir), []);
        fs::create_dir_all(store.join("leftovers")).expect("markers");
        fs::write(
            store.join("leftovers/rlink0.files"),
            dir.join(".drivebench-rlink0.files").to_str().expect("UTF-8"),
        )
        .expect("writes");
        fs::write(store.join("leftovers/rother0.files"), precious.to_str().expect("UTF-8")).expect("writes");
        sweep_store(&store);
        assert!(precious.join("1").exists());
    }
}
