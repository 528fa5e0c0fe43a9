//! The file that loads write and read: made for the purpose, gone afterwards.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use super::scratch_dir;
use rustix::{
    fs::{FallocateFlags, FlockOperation, Mode, OFlags, fallocate, flock, openat},
    io::Errno,
};

/// A scratch file. Where the filesystem can, it never has a name; else it is removed when this value goes.
#[derive(Debug)]
pub struct Scratch {
    /// The file, open for reading and writing.
    pub file: File,
    named: Option<Named>,
}

/// A file with a name, and the marker in the store that tells the next start of it.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    marker: PathBuf,
    /// Holds the lock that says the file is in use.
    _held: File,
}

/// Where markers of named scratch files are kept, within the store.
const MARKERS: &str = "leftovers";
pub(super) const PREFIX: &str = ".drivebench-";
const SUFFIX: &str = ".scratch";

impl Scratch {
    /// Makes a file in `dir` with `bytes` reserved where the filesystem can reserve. `store` keeps the marker of a
    /// file that needs a name; `run` is part of that name.
    pub fn create(dir: &Path, bytes: u64, store: &Path, run: &str) -> io::Result<Self> {
        let scratch = match openat(
            rustix::fs::CWD,
            dir,
            OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        ) {
            Ok(fd) => Self { file: File::from(fd), named: None },
            // Filesystems that can't say so in different ways; ISDIR is what kernels without the flag answer.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS) => {
                Self::named(dir, store, run)?
            }
            Err(e) => return Err(e.into()),
        };
        match fallocate(&scratch.file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(scratch),
            Err(e) => Err(e.into()),
        }
    }

    fn named(dir: &Path, store: &Path, run: &str) -> io::Result<Self> {
        let path = dir.canonicalize()?.join(format!("{PREFIX}{run}{SUFFIX}"));
        let (marker, held) = mark(store, run, &path)?;
        let named = Named { path, marker, _held: held };
        match OpenOptions::new().read(true).write(true).create_new(true).open(&named.path) {
            Ok(file) => {
                // For whoever finds the file but not the marker; where files can't be locked the marker must do.
                let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
                Ok(Self { file, named: Some(named) })
            }
            Err(e) => {
                fs::remove_file(&named.marker)?;
                Err(e)
            }
        }
    }

    /// Its name, where it has one.
    pub fn path(&self) -> Option<&Path> {
        self.named.as_ref().map(|n| n.path.as_path())
    }

    /// Removes it. What `drop` does in silence is said here: the path that is left and why.
    pub fn remove(mut self) -> Result<(), (PathBuf, io::Error)> {
        self.named.take().map_or(Ok(()), |n| n.remove())
    }
}

/// Leaves a marker in the store that tells the next start of `path`: its own path, and the file that holds its lock. It
/// is on the drive before anything is made at `path`, so that nothing is there without one.
pub(super) fn mark(store: &Path, name: &str, path: &Path) -> io::Result<(PathBuf, File)> {
    let markers = store.join(MARKERS);
    fs::create_dir_all(&markers)?;
    let marker = markers.join(name);
    let held = OpenOptions::new().write(true).create_new(true).open(&marker)?;
    flock(&held, FlockOperation::NonBlockingLockExclusive)?;
    io::Write::write_all(&mut &held, path.as_os_str().as_encoded_bytes())?;
    held.sync_all()?;
    File::open(&markers)?.sync_all()?;
    Ok((marker, held))
}

impl Named {
    fn remove(self) -> Result<(), (PathBuf, io::Error)> {
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err((self.path, e)),
            _ => fs::remove_file(&self.marker).map_err(|e| (self.marker, e)),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // On an unwinding path nobody can be told; the marker stays, and the next start removes both.
        if let Some(named) = self.named.take() {
            let _ = named.remove();
        }
    }
}

/// What became of a file that a killed run left.
#[derive(Debug, PartialEq, Eq)]
pub enum Swept {
    /// It was removed.
    Removed(PathBuf),
    /// It could not be removed, and why.
    Left(PathBuf, String),
}

/// Removes what killed runs left behind, wherever the store's markers point. Files of runs that still go on stay.
pub fn sweep(store: &Path) -> Vec<Swept> {
    let Ok(markers) = fs::read_dir(store.join(MARKERS)) else { return Vec::new() };
    markers.flatten().filter_map(|m| sweep_marked(&m.path())).collect()
}

/// Removes what killed runs left in this directory, whatever store they had: the drive may have been away when its
/// marker was swept. Files that a run still holds stay.
pub fn sweep_directory(dir: &Path) -> Vec<Swept> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let swept = |path: PathBuf| {
        if scratch_dir::is_ours(&path) {
            scratch_dir::free(&path)?;
            return scratch_dir::sweep(&path);
        }
        run_of(&path)?;
        free(&path)?;
        remove_file(&path)
    };
    entries.flatten().filter_map(|e| swept(e.path())).collect()
}

fn sweep_marked(marker: &Path) -> Option<Swept> {
    let _held = free(marker)?;
    let path = PathBuf::from(OsString::from_vec(fs::read(marker).ok()?));
    // The marker is only as good as whoever can write the store: nothing but what is ours is removed.
    let swept = match path.is_absolute() {
        true if run_of(&path).is_some() => remove_file(&path),
        true if scratch_dir::is_ours(&path) => scratch_dir::sweep(&path),
        _ => None,
    };
    if let Some(Swept::Left(..)) = swept {
        return swept;
    }
    match fs::remove_file(marker) {
        Err(e) => Some(Swept::Left(marker.to_owned(), e.to_string())),
        Ok(()) => swept,
    }
}

/// A plain file that no run holds, locked; anything else may belong to somebody and is left alone.
fn free(path: &Path) -> Option<File> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(rustix::fs::CWD, path, flags, Mode::empty()).ok()?);
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// The run that a scratch file belongs to, from the file's name.
fn run_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

/// Removes a plain file; `None` where there is none.
fn remove_file(path: &Path) -> Option<Swept> {
    let removed = match fs::symlink_metadata(path) {
        Ok(m) if m.is_file() => fs::remove_file(path),
        Ok(_) => Err(io::Error::other("it is not a plain file")),
        Err(e) => Err(e),
    };
    match removed {
        Ok(()) => Some(Swept::Removed(path.to_owned())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => Some(Swept::Left(path.to_owned(), e.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_file_without_a_name_leaves_nothing_to_find() {
        let (_home, dir, store) = place();
        let scratch = Scratch::create(&dir, 1 << 20, &store, "rabc").expect("creates");
        assert_eq!((scratch.path(), names(&dir)), (None, vec![]));
        scratch.file.set_len(4096).expect("can be written");
    }

    #[test]
    fn a_named_file_goes_with_its_value_and_its_marker() {
        let (_home, dir, store) = place();
        let scratch = Scratch::named(&dir, &store, "rabc").expect("creates");
        assert_eq!(names(&dir), [".drivebench-rabc.scratch"]);
        assert_eq!(names(&store.join(MARKERS)), ["rabc"]);
        // While it is held, no other start touches it.
        assert_eq!((sweep(&store), sweep_directory(&dir)), (vec![], vec![]));
        scratch.remove().expect("removes");
        assert_eq!((names(&dir), names(&store.join(MARKERS))), (vec![], vec![]));
        drop(Scratch::named(&dir, &store, "rdef").expect("creates"));
        assert_eq!((names(&dir), names(&store.join(MARKERS))), (vec![], vec![]));
    }

    /// What kill -9 leaves: the file and the marker, held by nobody.
    fn killed(dir: &Path, store: &Path, run: &str) -> PathBuf {
        let mut scratch = Scratch::named(dir, store, run).expect("creates");
        scratch.named.take().expect("named").path.clone()
    }

    #[test]
    fn the_next_start_removes_what_a_killed_run_left() {
        let (_home, dir, store) = place();
        let left = killed(&dir, &store, "rabc");
        assert!(left.exists());
        assert_eq!(sweep(&store), [Swept::Removed(left)]);
        assert_eq!((names(&dir), names(&store.join(MARKERS))), (vec![], vec![]));
        assert_eq!(sweep(&store), []);
    }

    #[test]
    fn a_drive_that_was_away_is_swept_when_it_is_measured_again() {
        let (_home, dir, store) = place();
        let left = killed(&dir, &store, "rabc");
        let away = dir.with_extension("away");
        fs::rename(&dir, &away).expect("unplugs");
        assert_eq!(sweep(&store), []);
        fs::rename(&away, &dir).expect("plugs in");
        fs::write(dir.join("keep.scratch"), "mine").expect("writes");
        assert_eq!(sweep_directory(&dir), [Swept::Removed(left)]);
        assert_eq!(names(&dir), ["keep.scratch"]);
    }

    #[test]
    fn a_marker_that_points_elsewhere_removes_nothing() {
        let (_home, dir, store) = place();
        let precious = dir.join("thesis.txt");
        fs::write(&precious, "years of work").expect("writes");
        fs::create_dir_all(store.join(MARKERS)).expect("markers");
        fs::write(store.join(MARKERS).join("rxyz"), precious.as_os_str().as_encoded_bytes()).expect("writes");
        assert_eq!(sweep(&store), []);
        fs::create_dir(dir.join(".drivebench-rdir.scratch")).expect("a directory of that name");
        let fifo = dir.join(".drivebench-rpipe.scratch");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0)
            .expect("a fifo");
        assert_eq!(sweep_directory(&dir), []);
        assert!(precious.exists());
    }
}
