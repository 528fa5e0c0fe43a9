//! Leftovers of killed runs: found by journal or by name, and removed if a run created them.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, openat, unlinkat};

use super::{
    journal::{Abandoned, FileId, Undo, host},
    scratch_dir,
    scratch_name::{self, lock},
};
use crate::{record::Host, sysroot::Sysroot, units::shell_word};

/// How long a removal may take before the drive counts as failed.
const REMOVAL_LIMIT: Duration = Duration::from_secs(5);

/// Something that a killed run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    /// How the run ended, as a part of a sentence.
    pub ended: &'static str,
    /// Why it is still there and the command that removes it; none if it was removed.
    pub kept: Option<Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub why: String,
    pub command: String,
}

/// Undoes what the journals of killed runs list. Files of active runs and of other machines stay.
pub fn sweep(store: &Path) -> Vec<Leftover> {
    let here = host(&Sysroot::live());
    let abandoned = Abandoned::paths(store).into_iter().filter_map(Abandoned::read);
    abandoned.filter(|journal| is_of(&journal.host, &here)).flat_map(|journal| undo(journal, &here)).collect()
}

/// Removes leftovers of killed runs in this directory, whatever their store: the drive may have been unplugged when its
/// journal was processed. Files that an active run has locked stay.
pub fn sweep_directory(dir: &Path) -> Vec<Leftover> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let swept = |path: PathBuf| {
        let kind = fs::symlink_metadata(&path).ok()?;
        let undo = if kind.is_file() && scratch_name::is_scratch(&path, scratch_name::FILE) {
            Undo::File { path: path.clone() }
        } else if kind.is_dir() && scratch_name::is_scratch(&path, scratch_name::DIRECTORY) {
            Undo::Directory { path: path.clone() }
        } else {
            return None;
        };
        match remove(&undo, Known::ByName) {
            Err(e) if is_in_use(&e) => None,
            removed => leftover(path, "an earlier run that was cut off", removed, &undo),
        }
    };
    entries.filter_map(|entry| swept(entry.path())).collect()
}

/// A journal without a machine id counts as this machine's.
fn is_of(journal: &Host, here: &Host) -> bool {
    journal.machine_id.is_none() || here.machine_id.is_none() || journal.machine_id == here.machine_id
}

fn undo(journal: Abandoned, here: &Host) -> Vec<Leftover> {
    let ended = if journal.host.boot_id == here.boot_id {
        "a run that was killed"
    } else {
        "a run that a reboot or power cut ended"
    };
    let mut left = Vec::new();
    for (undo, made) in &journal.left {
        let (path, suffix) = match undo {
            Undo::File { path } => (path, scratch_name::FILE),
            Undo::Directory { path } => (path, scratch_name::DIRECTORY),
            // The next access wakes the drive.
            Undo::Standby { .. } => continue,
        };
        // Anyone who can write to the store can edit a journal, so only paths with the name of its run are removed.
        if !path.is_absolute() || !scratch_name::is_of(&journal.run, path, suffix) {
            continue;
        }
        let known = made.map_or(Known::Empty, Known::As);
        let removed = patiently({
            let undo = undo.clone();
            move || remove(&undo, known)
        });
        left.extend(leftover(path.clone(), ended, removed, undo));
    }
    if left.iter().all(|one| one.kept.is_none()) {
        let path = journal.path.clone();
        let command = format!("rm {}", shell_word(&path.to_string_lossy()));
        let why = match &journal.unreadable {
            Some(why) => Some(format!("it can't be read: {why}")),
            None => fs::remove_file(&journal.path).err().map(|e| e.to_string()),
        };
        left.extend(why.map(|why| Leftover { path, ended, kept: Some(Kept { why, command }) }));
    }
    left
}

/// The evidence that a run created a file.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// The journal has its inode number and owner.
    As(FileId),
    /// The run ended before recording them, so the file must be empty.
    Empty,
    /// There is no journal; only the name matches.
    ByName,
}

impl Known {
    /// Refuses a file other than the one that the run created.
    fn check(self, file: &File) -> io::Result<()> {
        let ours = match self {
            Self::As(made) => {
                let now = FileId::of(file)?;
                now.uid == made.uid && (made.inode.is_none() || now.inode == made.inode)
            }
            Self::Empty => file.metadata()?.len() == 0,
            Self::ByName => true,
        };
        let other = || io::Error::other("it is not the file that the run created: check it first");
        ours.then_some(()).ok_or_else(other)
    }
}

/// Removes what a run created; without a journal, only if no process has locked it.
fn remove(undo: &Undo, known: Known) -> io::Result<()> {
    match undo {
        Undo::File { path } => remove_file(path, known),
        Undo::Directory { path } if matches!(known, Known::Empty) => fs::remove_dir(path),
        Undo::Directory { path } => {
            let dir = scratch_dir::open(path)?;
            known.check(&dir)?;
            scratch_dir::remove(&dir, path)
        }
        Undo::Standby { .. } => Ok(()),
    }
}

fn remove_file(path: &Path, known: Known) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file: check it first"));
    }
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let dir = openat(CWD, above, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&dir, name, flags, Mode::empty())?);
    match known {
        // Without a journal only the lock shows that no run holds it.
        Known::ByName => flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?,
        Known::As(_) | Known::Empty => lock(&file)?,
    }
    known.check(&file)?;
    Ok(unlinkat(&dir, name, AtFlags::empty())?)
}

fn is_in_use(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::WouldBlock
}

fn leftover(path: PathBuf, ended: &'static str, removed: io::Result<()>, undo: &Undo) -> Option<Leftover> {
    let why = match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
        Err(e) if is_in_use(&e) => Some("another program uses it".to_owned()),
        Err(e) => Some(e.to_string()),
        Ok(()) => None,
    };
    let remove = if matches!(undo, Undo::Directory { .. }) { "rm -r" } else { "rm" };
    let command = format!("{remove} {}", shell_word(&path.to_string_lossy()));
    let kept = why.map(|why| Kept { why, command });
    Some(Leftover { path, ended, kept })
}

/// Removes with a time limit: a removal hangs in the kernel while the drive does not respond,
/// and cleanup must not wait for a failed drive.
pub(super) fn patiently(remove: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    let (done, removed) = mpsc::channel();
    std::thread::spawn(move || done.send(remove()));
    removed
        .recv_timeout(REMOVAL_LIMIT)
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the drive does not respond")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::run::journal::Journal;

    /// A target directory and a store.
    struct Place {
        _home: tempfile::TempDir,
        dir: PathBuf,
        store: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let home = tempfile::tempdir().expect("a temporary directory");
            let (dir, store) = (home.path().join("drive"), home.path().join("store"));
            fs::create_dir(&dir).expect("drive");
            Self { _home: home, dir, store }
        }

        /// What kill -9 leaves of run `rabc`: a file and its journal, both unlocked.
        fn killed(&self) -> PathBuf {
            let path = self.dir.join(".drivebench-rabc0.scratch");
            fs::write(&path, "data").expect("writes");
            self.journal(Undo::File { path: path.clone() }, Some(&path));
            path
        }

        /// The same with a directory of five files.
        fn killed_directory(&self) -> PathBuf {
            let path = self.dir.join(".drivebench-rabc0.files");
            fs::create_dir(&path).expect("creates");
            (0..5).for_each(|n| fs::write(path.join(n.to_string()), "data").expect("writes"));
            self.journal(Undo::Directory { path: path.clone() }, Some(&path));
            path
        }

        fn journal(&self, undo: Undo, made: Option<&Path>) {
            let journal = Journal::open(&self.store, "rabc");
            let entry = journal.will(undo).expect("is written");
            if let Some(made) = made {
                entry.made(&File::open(made).expect("opens")).expect("is written");
            }
        }

        fn journals(&self) -> Vec<String> {
            names(&self.store.join("journals"))
        }

        /// Rewrites the only journal.
        fn edit(&self, edit: impl Fn(String) -> String) {
            let [path] = &Abandoned::paths(&self.store)[..] else { panic!("one journal") };
            let text = fs::read_to_string(path).expect("reads");
            fs::write(path, edit(text)).expect("writes");
        }
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("lists");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    const KILLED: &str = "a run that was killed";

    fn removed(path: &Path, ended: &'static str) -> Leftover {
        Leftover { path: path.to_owned(), ended, kept: None }
    }

    fn why(swept: &[Leftover]) -> Vec<&str> {
        swept.iter().map(|one| one.kept.as_ref().map_or("removed", |kept| &kept.why)).collect()
    }

    #[test]
    fn leftovers_are_removed_by_journal_or_by_name() {
        for directory in [false, true] {
            for by_name in [false, true] {
                let place = Place::new();
                let left = if directory { place.killed_directory() } else { place.killed() };
                let (swept, ended) = if by_name {
                    (sweep_directory(&place.dir), "an earlier run that was cut off")
                } else {
                    (sweep(&place.store), KILLED)
                };
                assert_eq!(swept, [removed(&left, ended)]);
                assert_eq!((sweep(&place.store), names(&place.dir)), (vec![], vec![]));
                assert_eq!(place.journals(), [""; 0]);
            }
        }
    }

    #[test]
    fn leftovers_on_an_unplugged_drive_are_removed_at_its_next_run() {
        let place = Place::new();
        let left = place.killed();
        let away = place.dir.with_extension("away");
        fs::rename(&place.dir, &away).expect("unplugs");
        assert_eq!(sweep(&place.store), []);
        fs::rename(&away, &place.dir).expect("plugs in");
        fs::write(place.dir.join("keep.scratch"), "mine").expect("writes");
        assert_eq!(sweep_directory(&place.dir), [removed(&left, "an earlier run that was cut off")]);
        assert_eq!(names(&place.dir), ["keep.scratch"]);
    }

    #[test]
    fn a_reboot_is_reported_and_journals_of_other_machines_stay() {
        let place = Place::new();
        let left = place.killed();
        let here = host(&Sysroot::live());
        let boot = here.boot_id.clone().expect("the kernel has one");
        place.edit(|text| text.replace(&boot, "before"));
        assert_eq!(sweep(&place.store), [removed(&left, "a run that a reboot or power cut ended")]);

        place.killed();
        let elsewhere = Host { machine_id: Some("elsewhere".to_owned()), ..Host::default() };
        assert!(is_of(&here, &here) && is_of(&Host::default(), &elsewhere));
        assert!(!is_of(&elsewhere, &Host { machine_id: Some("here".to_owned()), ..Host::default() }));
    }

    #[test]
    fn struck_out_and_incomplete_entries_are_not_undone() {
        let place = Place::new();
        let path = place.dir.join(".drivebench-rabc0.scratch");
        let journal = Journal::open(&place.store, "rabc");
        let kept = journal.will(Undo::Standby { device: "/dev/sda".to_owned() }).expect("is written");
        journal.will(Undo::File { path: path.clone() }).expect("is written").done().expect("is struck out");
        assert_eq!(sweep(&place.store), [], "its run is active");
        drop((journal, kept));
        fs::write(&path, "").expect("writes");
        place.edit(|text| text + "{\"line\":\"will\",\"id\":7,\"undo\":{\"kind\":\"file\",\"path\":\"/m");
        assert_eq!((sweep(&place.store), place.journals()), (vec![], vec![]));
        assert_eq!(names(&place.dir), [".drivebench-rabc0.scratch"]);
    }

    #[test]
    fn a_file_without_recorded_inode_is_removed_only_if_empty() {
        for (content, expected) in
            [("", "removed"), ("x", "it is not the file that the run created: check it first")]
        {
            let place = Place::new();
            let path = place.dir.join(".drivebench-rabc0.scratch");
            fs::write(&path, content).expect("writes");
            place.journal(Undo::File { path }, None);
            assert_eq!(why(&sweep(&place.store)), [expected]);
        }
        let place = Place::new();
        let path = place.dir.join(".drivebench-rabc0.files");
        fs::create_dir(&path).expect("creates");
        fs::write(path.join("0"), "mine").expect("writes");
        place.journal(Undo::Directory { path: path.clone() }, None);
        assert!(sweep(&place.store)[0].kept.is_some());
        assert_eq!(names(&path), ["0"]);
    }

    #[test]
    fn an_edited_journal_removes_no_other_files() {
        let place = Place::new();
        let thesis = place.dir.join("thesis.txt");
        fs::write(&thesis, "years of work").expect("writes");
        let precious = place.dir.join("precious");
        fs::create_dir(&precious).expect("creates");
        fs::write(precious.join("1"), "mine").expect("writes");
        let link = place.dir.join(".drivebench-rabc1.files");
        symlink(&precious, &link).expect("a link");
        let other = place.dir.join(".drivebench-rother0.scratch");
        fs::write(&other, "of another run").expect("writes");
        let inside = place.dir.join("precious/../thesis.txt");
        for path in [&thesis, &precious, &other, &inside, &PathBuf::from(".drivebench-rabc0.scratch")] {
            place.journal(Undo::File { path: path.clone() }, Some(&thesis));
            place.journal(Undo::Directory { path: path.clone() }, Some(&precious));
        }
        place.journal(Undo::Directory { path: link.clone() }, Some(&precious));
        assert_eq!(sweep(&place.store).len(), 1, "the link is reported, nothing is removed");
        assert_eq!(names(&place.dir).len(), 4);
        assert_eq!(names(&precious), ["1"]);
        fs::remove_file(&link).expect("removes");

        // A different file at the same path, then a FIFO, whose open would block.
        let path = place.killed();
        fs::rename(&path, place.dir.join("old")).expect("renames");
        fs::write(&path, "another").expect("writes");
        assert_eq!(why(&sweep(&place.store)), ["it is not the file that the run created: check it first"]);
        fs::remove_file(&path).expect("removes");
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR, 0).expect("a fifo");
        assert_eq!(why(&sweep(&place.store)), ["it is not a regular file: check it first"]);
        fs::create_dir(place.dir.join(".drivebench-rdir0.scratch")).expect("a directory of that name");
        fs::remove_file(&other).expect("removes");
        assert_eq!(sweep_directory(&place.dir), []);
        assert!(path.exists() && thesis.exists());
    }

    #[test]
    fn leftovers_are_reported_with_the_command_that_removes_them() {
        let place = Place::new();
        let left = place.killed_directory();
        fs::write(left.join("thesis.txt"), "years of work").expect("writes");
        fs::create_dir(left.join("7")).expect("a directory named by a number");
        let swept = sweep(&place.store);
        let kept = swept[0].kept.as_ref().expect("it stays");
        assert_eq!(kept.command, format!("rm -r {}", left.display()));
        assert!(kept.why.contains("not empty"), "{}", kept.why);
        assert_eq!(names(&left), ["7", "thesis.txt"]);
        assert_eq!(sweep(&place.store), swept, "the journal stays until it is gone");
    }

    #[test]
    fn a_journal_of_a_later_version_is_kept() {
        let place = Place::new();
        let left = place.killed();
        place.edit(|text| text + "{\"line\":\"will\",\"id\":9,\"undo\":{\"kind\":\"array\"}}\n");
        let swept = sweep(&place.store);
        assert_eq!(swept[0], removed(&left, KILLED));
        assert!(swept[1].kept.as_ref().is_some_and(|kept| kept.why.contains("unknown variant `array`")));
        assert_eq!(place.journals().len(), 1);
    }
}
