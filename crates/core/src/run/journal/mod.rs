//! The undo journal: an entry is written and synced before each change, and struck out after the undo.

mod log;
mod recovery;
mod undo;

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::fs::{OFlags, fstatfs};
use serde::{Deserialize, Serialize};

pub use self::{
    log::{AppendLog, open_trusted, read_lines, undamaged},
    recovery::{Kept, Leftover, sweep},
    undo::{DriveInStandby, OwnDirectory, OwnFile, Undo},
};
pub(super) use recovery::{REMOVAL_LIMIT, remedy, within};

use super::{place::Place, scratch};
use crate::{
    record::{self, Host, keep_for_root, lock, make_dir},
    sysroot::Sysroot,
    tagged::Tagged,
    tools::{Right, State},
    units::shell_word,
};

/// The directory of journals in the store.
const JOURNALS: &str = "journals";
/// FAT, exFAT and many FUSE filesystems assign new inode numbers on each lookup.
const RENUMBERED: [i64; 3] = [0x4d44, 0x2011_bab0, 0x6573_5546];

/// Identifies a file. The device number is not part of it, because it changes when the drive is plugged in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    pub uid: u32,
    /// Its inode number, if the filesystem keeps it.
    pub inode: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "line")]
enum Line {
    Begun {
        host: Host,
    },
    /// A change is about to be made; this undoes it.
    Will {
        id: u64,
        undo: Tagged<dyn Undo>,
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
    /// `None` for a modelled machine, which leaves nothing behind.
    dir: Option<PathBuf>,
    run: String,
    log: Option<AppendLog>,
    next: u64,
    left: BTreeSet<u64>,
}

/// A journal entry of a change that is not undone yet.
#[derive(Debug)]
pub struct Entry {
    id: u64,
    undo: Tagged<dyn Undo>,
    /// The filesystem of a file or directory.
    place: Option<Place>,
    journal: Journal,
}

/// The entry of a change is the right to make it. What was not undone may be undone later.
impl Right<State> for Entry {
    fn covers(&self, path: &str) -> Result<(), String> {
        covers(&self.undo, path)
    }
}

impl Right<State> for Left {
    fn covers(&self, path: &str) -> Result<(), String> {
        covers(&self.undo, path)
    }
}

fn covers(undo: &Tagged<dyn Undo>, path: &str) -> Result<(), String> {
    match undo.device() {
        Some(device) if device == Path::new(path) => Ok(()),
        _ => Err(format!("the journal's entry is for another change, {undo:?}")),
    }
}

impl Journal {
    pub fn open(store: &Path, run: &str) -> Self {
        Self::new(Some(store.join(JOURNALS)), run)
    }

    /// The journal of a run on a modelled machine, without a file.
    pub fn modelled() -> Self {
        Self::new(None, "")
    }

    fn new(dir: Option<PathBuf>, run: &str) -> Self {
        let open = Open { dir, run: run.to_owned(), log: None, next: 0, left: BTreeSet::new() };
        Self { open: Arc::new(Mutex::new(open)) }
    }

    /// The command that undoes its entries after a kill.
    pub fn cleanup(&self) -> String {
        let dir = self.lock().dir.clone();
        dir.as_deref().and_then(Path::parent).map_or_else(|| "drivebench cleanup".to_owned(), cleanup)
    }

    /// The path of a scratch file or directory in `dir` for the `at`th target of the run.
    pub(super) fn scratch_path(&self, dir: &Path, at: usize, suffix: &str) -> io::Result<PathBuf> {
        Ok(dir.canonicalize()?.join(scratch::name(&self.lock().run, at, suffix)))
    }

    /// Records how to undo a change that is about to be made. The entry is synced when this returns.
    pub fn will(&self, undo: impl Undo) -> io::Result<Entry> {
        let undo = Tagged::from(Arc::new(undo) as Arc<dyn Undo>);
        let place = undo.is_file().then(|| Place::of(&undo.path())).flatten();
        let mut open = self.lock();
        let id = open.next;
        open.append(&Line::Will { id, undo: undo.clone(), place: place.clone() })?;
        // With sudo, other journals belong to the user who called it.
        if let Some(log) = open.log.as_ref().filter(|_| undo.needs_root()) {
            keep_for_root(log.file())?;
        }
        open.next += 1;
        open.left.insert(id);
        Ok(Entry { id, undo, place, journal: self.clone() })
    }

    /// The run's name.
    pub fn run(&self) -> String {
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
        match (removed, &self.place) {
            (Err(e), _) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            (Err(_), Some(place)) => place.check(&self.undo.path())?,
            _ => {}
        }
        self.done()
    }
}

impl Open {
    /// Errors name the journal, because callers know only the drive.
    fn append(&mut self, line: &Line) -> io::Result<()> {
        let Some(dir) = self.dir.clone() else { return Ok(()) };
        let mut append = || match &self.log {
            Some(log) => log.append(line),
            None => self.log.insert(self.create(&dir)?).append(line),
        };
        append().map_err(|e| {
            let text = format!("the undo journal in {} can't be written: {e}", dir.display());
            io::Error::new(e.kind(), text)
        })
    }

    /// Names are numbered, because a resumed run may have left a journal earlier.
    fn create(&self, dir: &Path) -> io::Result<AppendLog> {
        make_dir(dir)?;
        refuse_link(dir)?;
        let begun = Line::Begun { host: host(&Sysroot::live()) };
        let mut number = 0u32;
        loop {
            match AppendLog::create(&dir.join(format!("{}.{number}", self.run)), &begun) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
                created => return created,
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

/// Whether a file has the name of a journal: of a run, and a number.
fn is_name(file: &OsStr) -> bool {
    let parts = file.to_str().and_then(|name| name.split_once('.'));
    parts.is_some_and(|(run, number)| record::is_name(run) && number.parse::<u32>().is_ok())
}

impl Drop for Open {
    fn drop(&mut self) {
        // A journal that can't be removed has no open entries; the next cleanup removes it.
        if let Some(log) = self.log.as_ref().filter(|_| self.left.is_empty()) {
            let _ = log.remove();
        }
    }
}

impl FileId {
    /// The identity of an open file or directory.
    #[allow(clippy::unnecessary_cast, reason = "the type of a filesystem is narrower on 32-bit machines")]
    pub fn of(file: &File) -> io::Result<Self> {
        let data = file.metadata()?;
        let renumbered = fstatfs(file).is_ok_and(|about| RENUMBERED.contains(&(about.f_type as i64)));
        Ok(Self { uid: data.uid(), inode: (!renumbered).then_some(data.ino()) })
    }
}

pub fn host(root: &Sysroot) -> Host {
    Host {
        boot_id: root.word("/proc/sys/kernel/random/boot_id"),
        machine_id: root.word("/etc/machine-id"),
        name: root.word("/proc/sys/kernel/hostname"),
    }
}

/// The journal of a run that has ended, read back.
#[derive(Debug)]
struct Abandoned {
    pub path: PathBuf,
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
pub struct Left {
    id: u64,
    pub undo: Tagged<dyn Undo>,
    place: Option<Place>,
    pub run: String,
    /// The user who owns the journal, which is trusted only for files of this user.
    pub owner: u32,
    /// The file or directory, if the run recorded it.
    pub made: Option<FileId>,
    /// Files in the directory have the numbers below this.
    pub files: u64,
}

impl Left {
    /// The filesystem of what it names is mounted where it was.
    pub fn check_place(&self) -> io::Result<()> {
        self.place.as_ref().map_or(Ok(()), |place| place.check(&self.undo.path()))
    }

    /// The path has the name that this run gives to its files.
    pub fn is_own_file(&self, path: &Path) -> bool {
        scratch::is_name(&self.run, path, scratch::FILE)
    }
}

impl Abandoned {
    /// The directory of a store's journals, and the journals in it.
    fn paths(store: &Path) -> (PathBuf, io::Result<Vec<PathBuf>>) {
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
        let file = match open_trusted(&path, OFlags::RDONLY) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match lock(&file) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            locked => locked?,
        }
        let about = file.metadata()?;
        // Another cleanup may have removed it before it was locked, and its name may be used again.
        if about.nlink() == 0 {
            return Ok(None);
        }
        let (mut host, mut left, owner) = (Host::default(), Vec::<Left>::new(), about.uid());
        let read = read_lines(&file, |line: Line| {
            let mut change = |id: u64, change: &dyn Fn(&mut Left)| {
                left.iter_mut().filter(|left| left.id == id).for_each(change);
            };
            match line {
                Line::Begun { host: begun } => host = begun,
                Line::Will { id, undo, place } => {
                    left.push(Left { id, undo, place, run: run.clone(), owner, made: None, files: 0 });
                }
                Line::Made { id, file } => change(id, &|left| left.made = Some(file)),
                Line::Files { id, files } => change(id, &|left| left.files = files),
                Line::Done { id } => left.retain(|left| left.id != id),
            }
            Ok(())
        });
        let unreadable = read.map_or_else(|e| Some(e.to_string()), |(_, damage)| damage);
        left.reverse();
        Ok(Some(Self { path, host, left, unreadable, _locked: file }))
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
        assert_eq!(names, ["rabc.0"]);
        // Outside the directory of journals, such names mean nothing.
        fs::remove_dir_all(store.join(JOURNALS)).expect("removes");
        symlink(&others, store.join(JOURNALS)).expect("links");
        let refused = Abandoned::paths(&store).1.expect_err("a link").to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
        let entry = Journal::open(&store, "rdef").will(OwnFile { path: others.join("x") });
        assert!(entry.expect_err("a link").to_string().contains("symbolic link"));
        assert_eq!(fs::read_dir(&others).expect("lists").count(), 6);
    }
}
