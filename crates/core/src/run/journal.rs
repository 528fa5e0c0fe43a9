//! The undo journal: an entry is written and synced before each change, and struck out after the undo.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, fstatfs, openat},
    io::Errno,
    process::geteuid,
};
use serde::{Deserialize, Serialize};

use super::{place::Place, scratch_name};
use crate::{
    record::{Host, PRIVATE, hand_over, keep_for_root, make_dir},
    sysroot::Sysroot,
    tools::{Right, State},
    units::shell_word,
};

/// The directory of journals in the store.
const JOURNALS: &str = "journals";
/// The maximum size of a journal, bytes.
const LONGEST: u64 = 4 << 20;
/// FAT, exFAT and many FUSE filesystems assign new inode numbers on each lookup.
const RENUMBERED: [i64; 3] = [0x4d44, 0x2011_bab0, 0x6573_5546];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum Undo {
    File {
        path: PathBuf,
    },
    /// Remove a directory with the numbered files that the run made in it.
    Directory {
        path: PathBuf,
    },
    /// Remove what has a temporary name of this output: a file, or a directory of these files.
    Output {
        path: PathBuf,
        files: Vec<String>,
    },
    /// A drive was taken away; writing to this file in sysfs brings it back.
    Unplugged {
        back: PathBuf,
    },
    /// The kernel swaps to this file or device: it is to stop that; one of zram is removed.
    Swap {
        path: PathBuf,
    },
    /// A control group: what runs in it is ended, and it is removed.
    Group {
        dir: PathBuf,
    },
    /// zswap was off.
    ZswapOff,
    /// A drive was sent to standby. The next access wakes it, so there is nothing to do.
    Standby {
        device: String,
    },
}

/// Identifies a file. The device number is not part of it, because it changes when the drive is plugged in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileId {
    pub uid: u32,
    /// Its inode number, if the filesystem keeps it.
    pub inode: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "line")]
enum Line {
    Begun {
        host: Host,
    },
    /// A change is about to be made; this undoes it.
    Will {
        id: u64,
        undo: Undo,
        #[serde(default)]
        place: Option<Place>,
    },
    /// The file or directory was created.
    Made {
        id: u64,
        file: FileId,
    },
    /// Files with the numbers below this are about to be created in the directory.
    Files {
        id: u64,
        files: u64,
    },
    /// The change was undone.
    Done {
        id: u64,
    },
}

/// The command that undoes what the journals of a store list.
pub(super) fn cleanup(store: &Path) -> String {
    format!("drivebench cleanup --store {}", shell_word(store))
}

/// The journal of the current run. Its file exists only while there is something to undo.
#[derive(Debug, Clone)]
pub struct Journal {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug)]
struct Open {
    /// None for a modelled machine, which leaves nothing behind.
    dir: Option<PathBuf>,
    run: String,
    /// Locked while the run lasts.
    file: Option<(PathBuf, File)>,
    next: u64,
    left: BTreeSet<u64>,
}

/// A journal entry of a change that is not undone yet.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    undo: Undo,
    /// Of a file or directory.
    place: Option<Place>,
    journal: Journal,
}

/// The entry of a drive's standby, or of a swap area, is the right to change its state.
impl Right<State> for Entry {
    fn covers(&self, path: &str) -> Result<(), String> {
        self.undo.covers(path)
    }
}

/// What was not undone may be undone later.
impl Right<State> for Left {
    fn covers(&self, path: &str) -> Result<(), String> {
        self.undo.covers(path)
    }
}

impl Journal {
    pub(super) fn open(store: &Path, run: &str) -> Self {
        Self::new(Some(store.join(JOURNALS)), run)
    }

    /// The journal of a run on a modelled machine, without a file.
    pub(super) fn modelled() -> Self {
        Self::new(None, "")
    }

    fn new(dir: Option<PathBuf>, run: &str) -> Self {
        let open = Open { dir, run: run.to_owned(), file: None, next: 0, left: BTreeSet::new() };
        Self { open: Arc::new(Mutex::new(open)) }
    }

    /// What undoes what is in it, after a kill.
    pub(super) fn cleanup(&self) -> String {
        let dir = self.lock().dir.clone();
        dir.as_deref().and_then(Path::parent).map_or_else(|| "drivebench cleanup".to_owned(), cleanup)
    }

    /// The path of a scratch file or directory in `dir` for the `at`th target of the run.
    pub(super) fn scratch_path(&self, dir: &Path, at: usize, suffix: &str) -> io::Result<PathBuf> {
        Ok(dir.canonicalize()?.join(scratch_name::of(&self.lock().run, at, suffix)))
    }

    /// Records how to undo a change that is about to be made. The entry is synced when this returns.
    pub(super) fn will(&self, undo: Undo) -> io::Result<Entry> {
        let place = undo.path().and_then(Place::of);
        let mut open = self.lock();
        let id = open.next;
        open.append(&Line::Will { id, undo: undo.clone(), place: place.clone() })?;
        if undo.is_roots() {
            open.keep_for_root()?;
        }
        open.next += 1;
        open.left.insert(id);
        Ok(Entry { id, undo, place, journal: self.clone() })
    }

    /// The run's name.
    pub(super) fn run(&self) -> String {
        self.lock().run.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Records which file was created, so that no other file is removed instead.
    pub fn made(&self, file: &File) -> io::Result<()> {
        let file = FileId::of(file)?;
        self.journal.lock().append(&Line::Made { id: self.id, file })
    }

    /// Records that files with the numbers below `files` are about to be created in the directory.
    pub fn files(&self, files: u64) -> io::Result<()> {
        self.journal.lock().append(&Line::Files { id: self.id, files })
    }

    /// Strikes the entry out: the change was undone, or not made.
    pub fn done(self) -> io::Result<()> {
        let mut open = self.journal.lock();
        open.append(&Line::Done { id: self.id })?;
        open.left.remove(&self.id);
        Ok(())
    }

    /// Strikes the entry out if the change was undone by this removal or earlier.
    pub fn removed(self, removed: io::Result<()>) -> io::Result<()> {
        match (removed, self.place.as_ref().zip(self.undo.path())) {
            (Err(e), _) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            (Err(_), Some((place, path))) => place.check(path)?,
            _ => {}
        }
        self.done()
    }
}

impl Undo {
    /// Of what is removed, or has temporary names beside it.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File { path } | Self::Directory { path } | Self::Output { path, .. } => Some(path),
            Self::Unplugged { .. }
            | Self::Standby { .. }
            | Self::Swap { .. }
            | Self::Group { .. }
            | Self::ZswapOff => None,
        }
    }

    /// It is undone on root's word only, which is a journal that nobody else can write.
    pub fn is_roots(&self) -> bool {
        match self {
            Self::Unplugged { .. } | Self::Swap { .. } | Self::Group { .. } | Self::ZswapOff => true,
            Self::File { .. } | Self::Directory { .. } | Self::Output { .. } | Self::Standby { .. } => false,
        }
    }

    fn covers(&self, path: &str) -> Result<(), String> {
        match self {
            Self::Standby { device } if device == path => Ok(()),
            Self::Swap { path: own } if own.to_str() == Some(path) => Ok(()),
            other => Err(format!("the journal's entry is for another change, {other:?}")),
        }
    }
}

impl Open {
    /// Errors name the journal, because callers know only the drive.
    fn append(&mut self, line: &Line) -> io::Result<()> {
        let Some(dir) = self.dir.clone() else { return Ok(()) };
        self.append_in(&dir, line).map_err(|e| {
            let text = format!("the undo journal in {} can't be written: {e}", dir.display());
            io::Error::new(e.kind(), text)
        })
    }

    fn append_in(&mut self, dir: &Path, line: &Line) -> io::Result<()> {
        if self.file.is_none() {
            let (path, file) = self.create(dir)?;
            let begun = Line::Begun { host: host(&Sysroot::live()) };
            write(self.file.insert((path, file)), &begun)?;
            File::open(dir)?.sync_all()?;
        }
        self.file.as_ref().map_or(Ok(()), |file| write(file, line))
    }

    /// With sudo, journals belong to the user who called it: not this one.
    fn keep_for_root(&self) -> io::Result<()> {
        match &self.file {
            Some((_, file)) => keep_for_root(file),
            None => Ok(()),
        }
    }

    /// Creates the file. Names are numbered, because a resumed run may have left a journal earlier.
    fn create(&self, dir: &Path) -> io::Result<(PathBuf, File)> {
        make_dir(dir)?;
        refuse_link(dir)?;
        let mut number = 0u32;
        loop {
            let path = dir.join(format!("{}.{number}", self.run));
            match OpenOptions::new().append(true).create_new(true).mode(PRIVATE).open(&path) {
                Ok(file) => {
                    // A cleanup may have locked the empty file first; it removes it and goes on.
                    flock(&file, FlockOperation::LockExclusive)?;
                    if file.metadata()?.nlink() > 0 {
                        hand_over(&file, &File::open(dir)?)?;
                        return Ok((path, file));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
                Err(e) => return Err(e),
            }
        }
    }
}

/// A link would lead root to another user's files.
fn refuse_link(dir: &Path) -> io::Result<()> {
    match fs::symlink_metadata(dir) {
        Ok(about) if about.is_symlink() => Err(io::Error::other("it is a symbolic link: remove it")),
        _ => Ok(()),
    }
}

/// Whether a file has the name of a journal: of a run or an output, and a number.
fn is_name(file: &OsStr) -> bool {
    let alphanumeric =
        |run: &str| !run.is_empty() && run.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let digits = |number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let parts = file.to_str().and_then(|name| name.split_once('.'));
    parts.is_some_and(|(run, number)| alphanumeric(run) && digits(number))
}

fn write((_, file): &(PathBuf, File), line: &Line) -> io::Result<()> {
    let mut file: &File = file;
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.sync_data()
}

impl Drop for Open {
    fn drop(&mut self) {
        // A journal that can't be removed has no open entries; the next cleanup removes it.
        if let Some((path, _)) = self.file.as_ref().filter(|_| self.left.is_empty()) {
            let _ = fs::remove_file(path);
        }
    }
}

impl FileId {
    /// Of an open file or directory.
    #[allow(clippy::unnecessary_cast, reason = "the type of a filesystem is narrower on 32-bit machines")]
    pub fn of(file: &File) -> io::Result<Self> {
        let data = file.metadata()?;
        let renumbered = fstatfs(file).is_ok_and(|about| RENUMBERED.contains(&(about.f_type as i64)));
        Ok(Self { uid: data.uid(), inode: (!renumbered).then_some(data.ino()) })
    }
}

pub fn host(root: &Sysroot) -> Host {
    Host { boot_id: root.word("/proc/sys/kernel/random/boot_id"), machine_id: root.word("/etc/machine-id") }
}

/// The journal of a run that has ended, read back.
#[derive(Debug)]
pub(super) struct Abandoned {
    pub path: PathBuf,
    pub run: String,
    /// Whose it is: its word counts for what this user owns.
    pub owner: u32,
    /// Where it was written.
    pub host: Host,
    /// Changes that were not undone, the last one first.
    pub left: Vec<Left>,
    /// Why it can't be read completely, if so.
    pub unreadable: Option<String>,
    /// Locked, so that no other process undoes the same.
    _locked: File,
}

/// A change that was not undone.
#[derive(Debug, Clone)]
pub(super) struct Left {
    id: u64,
    pub undo: Undo,
    pub place: Option<Place>,
    /// The file or directory, if the run recorded it.
    pub made: Option<FileId>,
    /// Files in the directory have the numbers below this.
    pub files: u64,
}

impl Abandoned {
    /// The directory of a store's journals, and the journals in it.
    pub fn paths(store: &Path) -> (PathBuf, io::Result<Vec<PathBuf>>) {
        let dir = store.join(JOURNALS);
        let read = || -> io::Result<Vec<PathBuf>> {
            refuse_link(&dir)?;
            let mut paths: Vec<PathBuf> = match fs::read_dir(&dir) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
                entries => entries?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
            };
            paths.retain(|path| path.file_name().is_some_and(is_name));
            paths.sort();
            Ok(paths)
        };
        let paths = read();
        (dir, paths)
    }

    /// Reads a journal; `None` if its run is still active, or if it is not a regular file.
    pub fn read(path: PathBuf) -> io::Result<Option<Self>> {
        let run = path.file_name().and_then(|name| name.to_str()?.split('.').next()).map(str::to_owned);
        let (Some(run), true) = (run, fs::symlink_metadata(&path).is_ok_and(|data| data.is_file())) else {
            return Ok(None);
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(rustix::fs::CWD, &path, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            file => File::from(file?),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        let about = file.metadata()?;
        // Another cleanup may have removed it before it was locked, and its name may be used again.
        if about.nlink() == 0 {
            return Ok(None);
        }
        // What somebody else put there may be no journal of this store, and root must not act on it.
        let above = path.parent().unwrap_or(&path).metadata()?;
        if ![0, above.uid(), geteuid().as_raw()].contains(&about.uid()) {
            return Err(io::Error::other("it belongs to another user than its directory"));
        }
        let mut text = Vec::new();
        let read = (&file).take(LONGEST + 1).read_to_end(&mut text);
        let mut unreadable = read.err().map(|e| e.to_string());
        if text.len() as u64 > LONGEST {
            unreadable = Some("it is larger than any journal".to_owned());
        }
        let (mut host, mut left) = (Host::default(), Vec::<Left>::new());
        for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let mut change = |id: u64, change: &dyn Fn(&mut Left)| {
                left.iter_mut().filter(|left| left.id == id).for_each(change);
            };
            match serde_json::from_slice(line) {
                Ok(Line::Begun { host: begun }) => host = begun,
                Ok(Line::Will { id, undo, place }) => {
                    left.push(Left { id, undo, place, made: None, files: 0 })
                }
                Ok(Line::Made { id, file }) => change(id, &|left| left.made = Some(file)),
                Ok(Line::Files { id, files }) => change(id, &|left| left.files = files),
                Ok(Line::Done { id }) => left.retain(|left| left.id != id),
                // An incomplete last line: the run was killed while writing it, before the change.
                Err(e) if e.is_eof() && line.last() != Some(&b'\n') => {}
                Err(e) => unreadable = Some(format!("line {}: {e}", number + 1)),
            }
        }
        left.reverse();
        Ok(Some(Self { path, run, owner: about.uid(), host, left, unreadable, _locked: file }))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_journals_of_this_store_are_read() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let [store, others] = ["store", "others"].map(|name| home.path().join(name));
        for dir in [&store.join(JOURNALS), &others] {
            fs::create_dir_all(dir).expect("creates");
            for name in ["__init__.py", ".gitkeep", "2024-01-01.md", "note", "rabc.0", "output-77.0"] {
                fs::write(dir.join(name), "").expect("writes");
            }
        }
        let paths = Abandoned::paths(&store).1.expect("lists");
        let names: Vec<_> = paths.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["output-77.0", "rabc.0"]);
        // Elsewhere the names are nobody's.
        fs::remove_dir_all(store.join(JOURNALS)).expect("removes");
        symlink(&others, store.join(JOURNALS)).expect("links");
        let refused = Abandoned::paths(&store).1.expect_err("a link").to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
        let entry = Journal::open(&store, "rdef").will(Undo::File { path: others.join("x") });
        assert!(entry.expect_err("a link").to_string().contains("symbolic link"));
        assert_eq!(fs::read_dir(&others).expect("lists").count(), 6);
    }
}
