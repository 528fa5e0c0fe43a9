//! Leftovers of killed runs: found by their journals, and removed if the run created them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::{super::place::Away, Abandoned, Left, cleanup, host};
use crate::{
    record::{Host, Store},
    sysroot::Sysroot,
    units::shell_word,
};

/// How long a removal may take before the drive counts as failed.
pub(in crate::run) const REMOVAL_LIMIT: Duration = Duration::from_secs(5);

/// Something that a killed run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    /// How the run ended, as a part of a sentence.
    pub ended: &'static str,
    /// What was done about it, or why it is still there.
    pub outcome: Result<String, Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub why: String,
    /// What to do, usually a command.
    pub remedy: String,
}

/// Undoes what the journals of killed runs list. Files of active runs and of other machines stay.
pub fn sweep(store: &Path) -> Vec<Leftover> {
    Store::at(store.to_owned()).sweep();
    let here = host(&Sysroot::live());
    let unreadable = |path: PathBuf, e: io::Error| {
        let (ended, remedy) = match e.kind() {
            io::ErrorKind::PermissionDenied => ("a run of another user", format!("sudo {}", cleanup(store))),
            _ => ("a run with a damaged journal, or of another user", "check it".to_owned()),
        };
        vec![Leftover { path, ended, outcome: Err(Kept { why: format!("it can't be read: {e}"), remedy }) }]
    };
    let (dir, paths) = Abandoned::paths(store);
    let swept = |path: PathBuf| match Abandoned::read(path.clone()) {
        Ok(Some(journal)) if is_of(&journal.host, &here) => undo(journal, &here, store),
        Ok(_) => Vec::new(),
        Err(e) => unreadable(path, e),
    };
    paths.map_or_else(|e| unreadable(dir, e), |paths| paths.into_iter().flat_map(swept).collect())
}

/// A journal without a machine id counts as this machine's.
fn is_of(journal: &Host, here: &Host) -> bool {
    journal.machine_id.is_none() || here.machine_id.is_none() || journal.machine_id == here.machine_id
}

fn undo(journal: Abandoned, here: &Host, store: &Path) -> Vec<Leftover> {
    let is_this_boot = journal.host.boot_id == here.boot_id;
    let ended = if is_this_boot { "a run that was killed" } else { "a run that a reboot or power cut ended" };
    let rm_journal = format!("rm {}", shell_word(&journal.path));
    let or_else = format!("run `{}`, or if it is gone for good: {rm_journal}", cleanup(store));
    let mut leftovers = Vec::new();
    for left in &journal.left {
        // After a reboot all drives are present, and swap is off.
        if left.undo.is_in_kernel() && !is_this_boot {
            continue;
        }
        if left.undo.needs_root() && left.owner != 0 {
            let why = "it says that root changed something, but root does not own it".to_owned();
            let outcome = Err(Kept { why, remedy: format!("check what it says, then {rm_journal}") });
            leftovers.push(Leftover { path: journal.path.clone(), ended, outcome });
            continue;
        }
        if !left.undo.path().is_absolute() {
            continue;
        }
        let undone = within(left.undo.patience(), {
            let left = left.clone();
            move || left.undo.undo(&left)
        });
        leftovers.extend(leftover(left, undone, ended, &or_else));
    }
    if leftovers.iter().all(|one| one.outcome.is_ok()) {
        let path = journal.path.clone();
        let kept = match &journal.unreadable {
            // It may say where blocks of a drive belong that were saved beside it.
            Some(why) => Some(Kept {
                why: format!("it can't be read: {why}"),
                remedy: format!(
                    "use the drivebench that wrote it, or if no .saved file of its run is beside it: {rm_journal}"
                ),
            }),
            None => {
                let failed = fs::remove_file(&journal.path).err();
                failed.map(|e| Kept { why: e.to_string(), remedy: rm_journal })
            }
        };
        leftovers.extend(kept.map(|kept| Leftover { path, ended, outcome: Err(kept) }));
    }
    leftovers
}

/// What to do about a file or directory of a run that could not be removed at its end.
pub(in crate::run) fn remedy(path: &Path, command: &str, why: &io::Error) -> String {
    let command = format!("{command} {}", shell_word(path));
    match why.kind() {
        io::ErrorKind::DirectoryNotEmpty => keeping_theirs(&command),
        _ => format!("the next run or `drivebench cleanup`, with the same store, removes it, or: {command}"),
    }
}

/// Advice before removing a directory in which others have put something.
fn keeping_theirs(command: &str) -> String {
    format!("what is in it is not drivebench's: keep what you want of it, then {command}")
}

fn leftover(left: &Left, undone: io::Result<bool>, ended: &'static str, or_else: &str) -> Option<Leftover> {
    let path = left.undo.path();
    let command = left.undo.by_hand().map(|command| format!("{command} {}", shell_word(&path)));
    let outcome = match undone {
        Ok(false) => return None,
        Ok(true) => Ok(left.undo.report(ended)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
        Err(e) => {
            let is_away = e.get_ref().is_some_and(|e| e.is::<Away>());
            let remedy = match command.filter(|_| !is_away) {
                Some(command) if e.kind() == io::ErrorKind::DirectoryNotEmpty => keeping_theirs(&command),
                Some(command) => command,
                None => or_else.to_owned(),
            };
            Err(Kept { why: e.to_string(), remedy })
        }
    };
    Some(Leftover { path, ended, outcome })
}

/// Removes with a time limit: a removal hangs in the kernel while the drive does not respond.
pub(in crate::run) fn within<T: Send + 'static>(
    limit: Duration,
    remove: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, removed) = mpsc::channel();
    thread::Builder::new().spawn(move || done.send(remove()))?;
    removed.recv_timeout(limit).unwrap_or_else(|_| {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "it took too long: the drive is slow, or does not respond",
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        os::unix::fs::symlink,
        sync::atomic::{AtomicBool, Ordering},
    };

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{
        super::{DriveInStandby, Journal, OwnDirectory, OwnFile, Undo},
        *,
    };
    use crate::{
        run::RunError,
        tools::{Output, Replay, hdparm},
    };

    /// A target directory and a store.
    struct Place {
        _home: tempfile::TempDir,
        dir: PathBuf,
        store: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            // Beside this program: temporary directories may be in memory.
            let tests = std::env::current_exe().expect("this program");
            let home = tempfile::tempdir_in(tests.parent().expect("a directory")).expect("a directory");
            let real = home.path().canonicalize().expect("is there");
            let (dir, store) = (real.join("drive"), real.join("store"));
            fs::create_dir(&dir).expect("drive");
            Self { _home: home, dir, store }
        }

        /// What kill -9 leaves of run `rabc`: a file and its journal, both unlocked.
        fn killed(&self) -> PathBuf {
            let path = self.dir.join(".drivebench-rabc0.scratch");
            fs::write(&path, "data").expect("writes");
            self.journal(OwnFile { path: path.clone() }, Some(&path));
            path
        }

        /// The same with a directory of five files.
        fn killed_directory(&self) -> PathBuf {
            let path = self.dir.join(".drivebench-rabc0.files");
            fs::create_dir(&path).expect("creates");
            (0..5).for_each(|n| fs::write(path.join(n.to_string()), "data").expect("writes"));
            let journal = Journal::open(&self.store, "rabc");
            let entry = journal.will(OwnDirectory { path: path.clone() }).expect("is written");
            entry.made(&File::open(&path).expect("opens")).expect("is written");
            entry.files(5).expect("is written");
            path
        }

        fn journal(&self, undo: impl Undo, made: Option<&Path>) {
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
            let paths = Abandoned::paths(&self.store).1.expect("lists");
            let [path] = &paths[..] else { panic!("one journal") };
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
        let outcome = Ok(format!("Removed {}, left by {ended}.", path.display()));
        Leftover { path: path.to_owned(), ended, outcome }
    }

    fn why(swept: &[Leftover]) -> Vec<&str> {
        swept
            .iter()
            .map(|one| one.outcome.as_ref().map_or_else(|kept| kept.why.as_str(), |_| "removed"))
            .collect()
    }

    #[test]
    fn leftovers_are_removed_by_journal() {
        for directory in [false, true] {
            let place = Place::new();
            let left = if directory { place.killed_directory() } else { place.killed() };
            assert_eq!(sweep(&place.store), [removed(&left, KILLED)]);
            assert_eq!((sweep(&place.store), names(&place.dir)), (vec![], vec![]));
            assert_eq!(place.journals(), [""; 0]);
        }
    }

    #[test]
    fn what_has_only_the_name_of_a_leftover_stays() {
        let place = Place::new();
        fs::create_dir(place.dir.join(".drivebench-rphotos.files")).expect("creates");
        fs::write(place.dir.join(".drivebench-rdiary.scratch"), "mine").expect("writes");
        assert_eq!(sweep(&place.store), []);
        assert_eq!(names(&place.dir), [".drivebench-rdiary.scratch", ".drivebench-rphotos.files"]);
    }

    #[test]
    fn only_the_files_that_the_run_numbered_are_removed() {
        let place = Place::new();
        let left = place.killed_directory();
        let theirs = ["007", "20240101", "5", "99999999999999999999999"];
        theirs.iter().for_each(|name| fs::write(left.join(name), "mine").expect("writes"));
        assert!(why(&sweep(&place.store))[0].contains("not empty"));
        assert_eq!(names(&left), theirs);
    }

    #[test]
    fn leftovers_on_an_absent_drive_are_removed_when_it_is_back() {
        let place = Place::new();
        let left = place.killed();
        let here = crate::run::place::Place::of(&left).expect("is mounted");
        let here = serde_json::to_string(&here).expect("JSON");
        let moved = here.replace(r#""mount":""#, r#""mount":"/elsewhere"#);
        let away = here.replace(r#""filesystem":""#, r#""filesystem":"another "#);
        for now in [&moved, &away] {
            place.edit(|text| text.replace(&here, now));
            let swept = sweep(&place.store);
            assert!(why(&swept)[0].contains("is not mounted on"), "{swept:?}");
            let kept = swept[0].outcome.as_ref().expect_err("kept");
            assert!(
                kept.why.contains("mount it there") && kept.remedy.contains("/journals/rabc.0"),
                "{kept:?}"
            );
            assert!(left.exists());
            place.edit(|text| text.replace(now, &here));
        }
        let dir = place.dir.with_extension("away");
        fs::rename(&place.dir, &dir).expect("is moved");
        assert!(why(&sweep(&place.store))[0].contains("doesn't exist"));
        fs::rename(&dir, &place.dir).expect("is moved back");
        assert_eq!(sweep(&place.store), [removed(&left, KILLED)]);
        assert_eq!((names(&place.dir), place.journals()), (vec![], vec![]));
    }

    #[test]
    fn what_is_no_journal_is_named_and_kept() {
        let place = Place::new();
        let journals = place.store.join("journals");
        fs::create_dir_all(&journals).expect("creates");
        for (text, expected) in [
            ("not a journal".to_owned(), "it can't be read: line 1: "),
            ("\n".repeat(5 << 20), "it can't be read: "),
            ("{\"line\":\"beg".to_owned(), ""),
            (String::new(), ""),
        ] {
            fs::write(journals.join("rabc.0"), &text).expect("writes");
            let swept = sweep(&place.store);
            assert_eq!(
                (swept.len(), place.journals().len()),
                if expected.is_empty() { (0, 0) } else { (1, 1) }
            );
            assert!(why(&swept).iter().all(|why| why.starts_with(expected)), "{swept:?}");
        }
        fs::remove_dir_all(&journals).and_then(|()| fs::write(&journals, "")).expect("a file in its place");
        assert!(why(&sweep(&place.store))[0].contains("can't be read"));
        let refused = Journal::open(&place.store, "rabc").will(DriveInStandby { device: "/dev/sda".into() });
        let said = refused.expect_err("no directory").to_string();
        assert!(said.contains(&format!("the undo journal in {}", journals.display())), "{said}");
    }

    #[test]
    fn an_entry_is_the_right_to_the_standby_of_its_drive_only() {
        let store = tempfile::tempdir().expect("a store");
        let journal = Journal::open(store.path(), "rabc");
        let runner = Replay::default().answer("hdparm -y /dev/sda", Output::default());
        let sda = journal.will(DriveInStandby { device: "/dev/sda".into() }).expect("writes");
        let file = journal.will(OwnFile { path: "/dev/sda".into() }).expect("writes");
        hdparm::standby("/dev/sda").run(&sda, &runner).expect("covers it");
        for (path, right) in [("/dev/sdb", &sda), ("/dev/sda", &file)] {
            let refused = hdparm::standby(path).run(right, &runner).expect_err("not covered").to_string();
            assert!(
                refused.starts_with(&format!("'hdparm -y {path}' was not run: the journal")),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_cleanup_never_removes_the_journal_of_a_run_that_begins() {
        let place = Place::new();
        let over = AtomicBool::new(false);
        let begin = || {
            for _ in 0..300 {
                let journal = Journal::open(&place.store, "rabc");
                let entry = journal.will(DriveInStandby { device: "/dev/sda".into() }).expect("is written");
                assert_eq!(place.journals().len(), 1);
                entry.done().expect("is struck out");
            }
        };
        let begun = thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        assert_eq!(sweep(&place.store), []);
                    }
                });
            }
            let begun = scope.spawn(begin).join();
            over.store(true, Ordering::Relaxed);
            begun
        });
        assert!(begun.is_ok(), "the journal is there");
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
        let kept = journal.will(DriveInStandby { device: "/dev/sda".into() }).expect("is written");
        journal.will(OwnFile { path: path.clone() }).expect("is written").done().expect("is struck out");
        assert_eq!(sweep(&place.store), [], "its run is active");
        drop((journal, kept));
        fs::write(&path, "").expect("writes");
        place.edit(|text| text + "{\"line\":\"will\",\"id\":7,\"undo\":{\"file\":{\"path\":\"/m");
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
            place.journal(OwnFile { path }, None);
            assert_eq!(why(&sweep(&place.store)), [expected]);
        }
        let place = Place::new();
        let path = place.dir.join(".drivebench-rabc0.files");
        fs::create_dir(&path).expect("creates");
        fs::write(path.join("0"), "mine").expect("writes");
        place.journal(OwnDirectory { path: path.clone() }, None);
        assert!(sweep(&place.store)[0].outcome.is_err());
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
            place.journal(OwnFile { path: path.clone() }, Some(&thesis));
            place.journal(OwnDirectory { path: path.clone() }, Some(&precious));
        }
        place.journal(OwnDirectory { path: link.clone() }, Some(&precious));
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
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).expect("a fifo");
        assert_eq!(why(&sweep(&place.store)), ["it is not a regular file: check it first"]);
        assert!(path.exists() && thesis.exists());
    }

    #[test]
    fn leftovers_are_reported_with_the_command_that_removes_them() {
        let place = Place::new();
        let left = place.killed_directory();
        fs::write(left.join("thesis.txt"), "years of work").expect("writes");
        fs::create_dir(left.join("7")).expect("a directory named by a number");
        let swept = sweep(&place.store);
        let kept = swept[0].outcome.as_ref().expect_err("it stays");
        let theirs = "what is in it is not drivebench's: keep what you want of it, then rm -r";
        assert_eq!(kept.remedy, format!("{theirs} {}", left.display()));
        assert!(kept.why.contains("not empty"), "{}", kept.why);
        assert_eq!(names(&left), ["7", "thesis.txt"]);
        assert_eq!(sweep(&place.store), swept, "the journal stays until it is gone");
    }

    #[test]
    fn a_run_names_no_command_that_removes_files_of_others() {
        let said = |kind: io::ErrorKind| {
            let path = PathBuf::from("/srv/my data");
            RunError::Leftover { path, command: "rm -r", source: kind.into() }.to_string()
        };
        let full = said(io::ErrorKind::DirectoryNotEmpty);
        assert!(
            full.ends_with(
                "; what is in it is not drivebench's: keep what you want of it, then rm -r '/srv/my data'"
            ),
            "{full}"
        );
        let read_only = said(io::ErrorKind::ReadOnlyFilesystem);
        assert!(
            read_only.contains("`drivebench cleanup`") && read_only.ends_with(", or: rm -r '/srv/my data'"),
            "{read_only}"
        );
    }

    #[test]
    fn a_journal_of_a_later_version_is_kept() {
        let place = Place::new();
        let left = place.killed();
        place.edit(|text| text + "{\"line\":\"will\",\"id\":9,\"undo\":{\"array\":{}}}\n");
        let swept = sweep(&place.store);
        assert_eq!(swept[0], removed(&left, KILLED));
        assert!(swept[1].outcome.as_ref().is_err_and(|kept| kept.why.contains("unknown kind `array`")));
        assert_eq!(place.journals().len(), 1);
    }
}
