//! The scratch directory in which sets of files are written and read; it is removed afterwards.

use std::{
    ffi::CStr,
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::{
    fs::{
        Advice, AtFlags, Dir, FileType, Mode, OFlags, Stat, fadvise, fstat, mkdirat, openat, syncfs, unlinkat,
    },
    io::Errno,
    path::Arg,
};

use super::{
    held,
    journal::{Entry, Journal, OwnDirectory},
    local::unless_cancelled,
    scratch::{self, reserve_unwritten},
};
use crate::{
    engine::{Cancel, Pulse},
    plan::{FileSet, FileWork, Files},
    record::{ActResult, lock},
};

/// Bytes moved between two checks of the time limit.
const PIECE: usize = 256 << 10;

/// A scratch directory. Its files are named by numbers from 0; other files in it are never touched.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Open and locked, so that a cleanup that does not see the journal leaves it alone.
    dir: Arc<File>,
    /// `None` after removal.
    entry: Option<Entry>,
    /// Its files have the numbers below this.
    files: u64,
}

impl Folder {
    /// Creates one in `parent` for the `at`th target. The journal entry is written first.
    pub fn create(parent: &Path, journal: &Journal, at: usize) -> io::Result<Self> {
        let path = journal.scratch_path(parent, at, scratch::DIRECTORY)?;
        let (above, name) = (held::above(&path)?, path.file_name().unwrap_or_default());
        let entry = journal.will(OwnDirectory { path: path.clone() })?;
        if let Err(e) = mkdirat(&above, name, Mode::RWXU) {
            entry.done()?;
            return Err(e.into());
        }
        let dir = open(&above, name)?;
        entry.made(&dir)?;
        Ok(Self { path, dir: Arc::new(dir), entry: Some(entry), files: 0 })
    }

    /// Where it is now: it may have been moved.
    pub fn path(&self) -> PathBuf {
        held::path_of(&self.dir).unwrap_or_else(|| self.path.clone())
    }

    /// Writes files and syncs them, or drops them from the page cache and reads them; returns the result, and an error
    /// if any. Cancellation does not wait for a drive that hangs.
    pub fn work(&mut self, files: &Files, cancel: &Cancel) -> (ActResult, Option<String>) {
        let &Files { set, work, seconds } = files;
        let (dir, before, took) = (Arc::clone(&self.dir), self.files, ActResult::default());
        let mut task = Task { dir, cancel: cancel.clone(), before, seconds, took };
        let cut_off = |failed: Option<io::Error>| {
            (ActResult { cut_short: true, ..ActResult::default() }, failed.map(|e| e.to_string()))
        };
        if let Err(e) = self.will_have(set.files) {
            return cut_off(Some(e));
        }
        let pulse = Pulse::since(Instant::now());
        let worked = unless_cancelled(cancel, move || {
            let (worked, how) = match work {
                FileWork::Write { seed, .. } => (task.write(set, seed), "written"),
                FileWork::Read => (task.read(set), "read"),
            };
            let failed = worked.err().map(|e| format!("{} can't be {how}: {e}", set.describe()));
            (task.took, failed)
        });
        match worked {
            Ok(Some((took, failed))) => {
                let suspended = pulse.missed(0, u64::MAX) as f64 / 1e9;
                let cut_short = cancel.is_set() || failed.is_some() || suspended > 0.0;
                (ActResult { cut_short, suspended, ..took }, failed)
            }
            Ok(None) => cut_off(None),
            Err(e) => cut_off(Some(e)),
        }
    }

    /// Whether this is its `stat`.
    pub fn is_same(&self, other: &Stat) -> io::Result<bool> {
        let own = fstat(&self.dir)?;
        Ok((own.st_dev, own.st_ino) == (other.st_dev, other.st_ino))
    }

    /// Makes up to this many files with blocks that are reserved and not written, open for direct I/O; fewer where the space runs out.
    pub fn reserve(&mut self, files: u64, bytes: u64, cancel: &Cancel) -> io::Result<Vec<File>> {
        self.will_have(files)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
        let mut reserved = Vec::new();
        for number in 0..files {
            let file = File::from(openat(&self.dir, number.to_string(), flags, Mode::RUSR | Mode::WUSR)?);
            match reserve_unwritten(&file, bytes) {
                _ if cancel.is_set() => return Err(io::ErrorKind::Interrupted.into()),
                Err(e) if e.kind() == io::ErrorKind::StorageFull => break,
                other => other?,
            }
            reserved.push(file);
        }
        Ok(reserved)
    }

    /// Announces the number of files in it, so that the journal knows before they are made.
    pub fn will_have(&mut self, files: u64) -> io::Result<()> {
        if files > self.files {
            self.entry.as_ref().map_or(Ok(()), |entry| entry.files(files))?;
            self.files = files;
        }
        Ok(())
    }

    /// Removes it and reports errors, which `drop` can't.
    pub fn remove(&mut self) -> io::Result<()> {
        self.entry.take().map_or(Ok(()), |entry| entry.removed(remove(&self.dir, &self.path, self.files)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // After an error the journal entry stays, and the next run removes both.
        let _ = self.remove();
    }
}

/// Work under way, on a thread of its own.
struct Task {
    dir: Arc<File>,
    cancel: Cancel,
    /// Files from before have the numbers below this.
    before: u64,
    seconds: f64,
    took: ActResult,
}

impl Task {
    fn write(&mut self, set: FileSet, seed: u64) -> io::Result<()> {
        let stopped = || self.cancel.is_set();
        empty(&self.dir, self.before, stopped)?;
        if stopped() {
            return Ok(());
        }
        // Larger than a piece, so that files start at different offsets in it and no two are equal.
        let mut content = vec![0; PIECE + 4096];
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut content);
        // Sync first, so that unwritten data of other programs is not part of the measured time.
        syncfs(&self.dir)?;
        let since = Instant::now();
        let mut result = Ok(());
        for number in 0..set.files {
            if result.is_err() || self.enough(since) {
                break;
            }
            result = self.write_file(number, set, &content[number as usize % 4096..], since);
        }
        if result.is_ok() && !self.cancel.is_set() {
            result = syncfs(&self.dir).map_err(io::Error::from);
        }
        self.took.seconds = since.elapsed().as_secs_f64();
        result
    }

    fn write_file(&mut self, number: u64, set: FileSet, content: &[u8], since: Instant) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(openat(&self.dir, number.to_string(), flags, mode)?);
        let mut left = set.size;
        while left > 0 && !self.enough(since) {
            let piece = &content[..PIECE.min(left as usize)];
            file.write_all(piece)?;
            left -= piece.len() as u64;
            let before = self.took.bytes / Files::SYNC;
            self.took.bytes += piece.len() as u64;
            // The sync at the end is one of them.
            if self.took.bytes / Files::SYNC > before && self.took.bytes < set.bytes() {
                syncfs(&self.dir)?;
            }
        }
        self.took.files += 1;
        Ok(())
    }

    fn read(&mut self, set: FileSet) -> io::Result<()> {
        // The time limit may have ended the write early; only the existing files are read.
        let open = |number: u64| -> io::Result<Option<File>> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&self.dir, number.to_string(), flags, Mode::empty()) {
                Err(Errno::NOENT) => Ok(None),
                file => Ok(Some(File::from(file?))),
            }
        };
        for number in 0..set.files {
            let Some(file) = open(number)? else { break };
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        let mut buffer = vec![0; PIECE];
        let since = Instant::now();
        for number in 0..set.files {
            let Some(mut file) = open(number)?.filter(|_| !self.enough(since)) else { break };
            self.took.files += 1;
            while !self.enough(since) {
                match file.read(&mut buffer)? {
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

/// Opens a directory in another, but not through a symbolic link, and locks it if the filesystem supports locks.
pub(super) fn open(above: impl AsFd, path: impl Arg) -> io::Result<File> {
    let dir = File::from(openat(above, path, held::directory(), Mode::empty())?);
    lock(&dir)?;
    Ok(dir)
}

/// Removes the files with the numbers below `files`, and the directory, wherever it is now. If it holds other files, they
/// stay and so does the directory.
pub(super) fn remove(dir: &File, path: &Path, files: u64) -> io::Result<()> {
    empty(dir, files, || false)?;
    held::remove_dir(dir, path)
}

/// Removes the regular files and sockets with the numbers below `files`, as they were named, until it is `stopped`.
fn empty(dir: &File, files: u64, stopped: impl Fn() -> bool) -> io::Result<()> {
    let number = |name: &str| name.parse::<u64>().ok().filter(|number| number.to_string() == name);
    let ours = |name: &CStr| name.to_str().ok().and_then(number).is_some_and(|number| number < files);
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let plain = [FileType::RegularFile, FileType::Socket, FileType::Unknown].contains(&entry.file_type());
        if plain && ours(entry.file_name()) {
            names.push(entry.file_name().to_owned());
        }
    }
    for name in names {
        if stopped() {
            break;
        }
        match unlinkat(dir, name, AtFlags::empty()) {
            // Work that was cancelled may still remove files.
            Err(Errno::NOENT) => {}
            other => other?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::CWD;

    use super::{super::journal::sweep, *};

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

    const WRITE: Files = Files { set: SET, work: FileWork::Write { seed: 1, predict: None }, seconds: 60.0 };
    const READ: Files = Files { work: FileWork::Read, ..WRITE };

    #[test]
    fn files_are_written_read_and_removed_on_drop() {
        let (_home, dir, store) = place();
        let journal = Journal::open(&store, "rabc");
        let mut folder = Folder::create(&dir, &journal, 0).expect("creates");
        for _ in 0..2 {
            let (took, failed) = folder.work(&WRITE, &Cancel::default());
            assert_eq!((took.files, took.bytes, took.cut_short, failed), (5, 3_500_000, false, None));
        }
        let content = |number: u32| fs::read(folder.path().join(number.to_string())).expect("reads");
        assert!(content(0).len() == 700_000 && content(0) != content(1));
        let (took, failed) = folder.work(&READ, &Cancel::default());
        assert_eq!((took.files, took.bytes, failed), (5, 3_500_000, None));
        assert!(took.seconds > 0.0);
        // While it is locked, a cleanup does not touch it.
        assert_eq!(sweep(&store), []);
        folder.remove().expect("removes");
        drop(journal);
        assert_eq!((names(&dir), names(&store.join("journals"))), (vec![], vec![]));
    }

    #[test]
    fn a_stop_while_earlier_files_are_removed_leaves_nothing_unknown() {
        let (_home, dir, store) = place();
        let journal = Journal::open(&store, "rabc");
        let mut folder = Folder::create(&dir, &journal, 0).expect("creates");
        assert_eq!(folder.work(&WRITE, &Cancel::default()).1, None);
        // Stopped from the start: the files before stay for the removal at the end.
        let stopped = Cancel::default();
        stopped.set();
        let (took, failed) = folder.work(&WRITE, &stopped);
        assert_eq!((took.files, took.cut_short, failed), (0, true, None));
        assert_eq!(names(&folder.path()).len(), 5);
        folder.remove().expect("removes");
        drop(journal);
        assert_eq!((names(&dir), names(&store.join("journals"))), (vec![], vec![]));
    }

    #[test]
    fn a_moved_directory_is_emptied_where_it_is_and_what_took_its_place_stays() {
        // The directory itself is moved, or the one above it.
        for above in [false, true] {
            let (home, dir, store) = place();
            let journal = Journal::open(&store, "rabc");
            let mut folder = Folder::create(&dir, &journal, 0).expect("creates");
            let path = folder.path();
            assert_eq!(folder.work(&WRITE, &Cancel::default()).1, None);
            let away = home.path().join("away");
            fs::rename(if above { &dir } else { &path }, &away).expect("moves");
            fs::create_dir_all(&path).expect("creates");
            (0..9).for_each(|n| fs::write(path.join(n.to_string()), "mine").expect("writes"));
            assert_eq!(folder.work(&READ, &Cancel::default()).0.files, 5);
            assert_eq!(folder.work(&WRITE, &Cancel::default()).1, None);
            folder.remove().expect("removes");
            drop(journal);
            assert_eq!(names(&path).len(), 9, "foreign files");
            assert!(if above { names(&away).is_empty() } else { !away.exists() });
            assert_eq!(names(&store.join("journals")), [""; 0]);
        }
    }

    #[test]
    fn what_cannot_be_removed_from_a_moved_directory_is_named_and_stays_in_the_journal() {
        let (home, dir, store) = place();
        let journal = Journal::open(&store, "rabc");
        let mut folder = Folder::create(&dir, &journal, 0).expect("creates");
        assert_eq!(folder.work(&WRITE, &Cancel::default()).1, None);
        let away = home.path().join("away");
        fs::rename(folder.path(), &away).expect("moves");
        fs::write(away.join("thesis.txt"), "mine").expect("writes");
        assert_eq!(folder.path(), away.canonicalize().expect("is there"));
        folder.remove().expect_err("not empty");
        drop(journal);
        assert_eq!(names(&away), ["thesis.txt"]);
        assert_eq!(names(&store.join("journals")), ["rabc.0"]);
    }

    #[test]
    fn two_may_remove_the_same_files() {
        let (_home, dir, _) = place();
        for number in 0..5000 {
            fs::write(dir.join(number.to_string()), "").expect("writes");
        }
        let handle = open(CWD, &dir).expect("opens");
        let both: Vec<_> = std::thread::scope(|scope| {
            let work =
                [0, 1].map(|_| scope.spawn(|| empty(&handle.try_clone().expect("clones"), 5000, || false)));
            work.into_iter().map(|work| work.join().expect("ends").map_err(|e| e.kind())).collect()
        });
        assert_eq!((both, names(&dir)), (vec![Ok(()), Ok(())], vec![]));
    }

    #[test]
    fn cancellation_and_time_limit_return_a_partial_result() {
        let (_home, dir, store) = place();
        let mut folder = Folder::create(&dir, &Journal::open(&store, "rabc"), 0).expect("creates");
        let stopped = Cancel::default();
        stopped.set();
        let (took, failed) = folder.work(&WRITE, &stopped);
        assert!(took.cut_short && failed.is_none());
        let (took, _) = folder.work(&Files { seconds: 0.0, ..WRITE }, &Cancel::default());
        assert_eq!((took.files, took.cut_short), (0, false));
        let (took, failed) = folder.work(&READ, &Cancel::default());
        assert_eq!((took.files, took.bytes, failed), (0, 0, None));
    }
}
