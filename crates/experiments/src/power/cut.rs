//! Writes to a directory until the power is cut, with a ledger on another drive; after that, checks what is there.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{fs::OFlags, process::geteuid};

use super::{
    PowerCut, PowerCutResult, WritesEnded,
    ledger_file::{LedgerWriter, Line, SavedLedger},
};
use crate::{
    conditions::is_network,
    engine::{Aligned, Cancel},
    inventory::{Drive, Inventory},
    run::{Kept, Leftover},
    target::Target,
    test_files::{
        AREA, BLOCK, LARGEST, Ledger, Load, POLL, READ, TreeFiles, WriteLog, Writes, file_name, open, read,
        verify,
    },
    units::{decimal_bytes, duration, shell_word},
};

/// Time limit of reading the blocks of a ledger: a bad sector takes half a minute.
const LONG: Duration = Duration::from_secs(3600);
/// A drive that takes no write for this long counts as gone.
const GONE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    #[error(
        "the drive takes no more writes. If its power was cut: --resume checks it once it is back and mounted"
    )]
    Gone,
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Failed(String),
}

/// The name of the directory of a run.
pub fn power_dir(run: &str) -> String {
    format!("drivebench-power-{run}")
}

/// A test of a directory: where files are written, and where what is known of them.
#[derive(Debug)]
pub struct PowerTest<'a> {
    pub act: &'a PowerCut,
    pub target: PathBuf,
    pub store: PathBuf,
    pub run: String,
    pub boot_id: Option<String>,
}

impl PowerTest<'_> {
    /// Its directory on the target.
    fn own(&self) -> PathBuf {
        self.target.join(power_dir(&self.run))
    }

    fn ledger(&self, source: io::Error) -> PowerError {
        let store = self.store.display();
        PowerError::Failed(format!("the ledger in {store} can't be written or read: {source}"))
    }

    fn files(&self, source: io::Error) -> PowerError {
        let own = self.own();
        PowerError::Failed(format!("files in {} can't be written, read or removed: {source}", own.display()))
    }

    /// Writes until the power is cut, and so returns errors, unless it reads back something else before; or checks what was found
    /// after a power cut. `asks` receives what a person has to do.
    pub fn carry_out(
        &self,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<PowerCutResult, PowerError> {
        let saved = SavedLedger::read(&self.store, &self.run, self.act.tree.seed);
        if let Some(saved) = saved.map_err(|e| self.ledger(e))? {
            if saved.ready && !saved.ended && (saved.gone || saved.boot_id != self.boot_id) {
                return self.check(&saved);
            }
            // It was killed, or the power was cut when that could show nothing.
            self.remove(|| saved.remove())?;
        }
        let writer = LedgerWriter::begin(&self.store, &self.run, self.boot_id.as_deref(), &self.own());
        let writer = Arc::new(writer.map_err(|e| self.ledger(e))?);
        // An existing directory of that name belongs to another run.
        if let Err(e) = fs::create_dir(self.own()) {
            writer.remove().map_err(|e| self.ledger(e))?;
            return Err(self.files(e));
        }
        let ended = self.write(&writer, cancel, asks);
        if matches!(ended, Err(PowerError::Gone)) {
            return ended;
        }
        match (ended, writer.record(&Line::Ended)) {
            // What was found must not be lost, whatever becomes of the files; `cleanup` names what stays. Without their ledger, files that are
            // gone would be losses.
            (Ok(cut), ended) => {
                let _ = ended.map(|()| self.remove(|| writer.remove()));
                Ok(cut)
            }
            (Err(_), Err(e)) => {
                let stays = format!("{e}. The test files remain: `drivebench cleanup` lists them");
                Err(self.ledger(io::Error::new(e.kind(), stays)))
            }
            (Err(why), Ok(())) => self.remove(|| writer.remove()).and(Err(why)),
        }
    }

    /// Returns why it ended, or what it found before any power cut.
    fn write(
        &self,
        writer: &Arc<LedgerWriter>,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<PowerCutResult, PowerError> {
        let (act, tree) = (self.act, self.act.tree);
        let (held, ledger) = self.prepare(cancel).map_err(|e| self.files(e))?;
        if cancel.is_set() {
            return Err(PowerError::Interrupted);
        }
        writer.record(&Line::Ready).map_err(|e| self.ledger(e))?;
        let ledger = Arc::new(Mutex::new(ledger));
        let dir = by_descriptor(&held);
        let since = Instant::now();
        let files = Arc::new(TreeFiles::new(&dir, tree));
        let log: Arc<dyn WriteLog> = writer.clone();
        let writes = Writes { dir: dir.clone(), ledger: Arc::clone(&ledger), most: act.most, log: Some(log) };
        let load = Load::start(files.clone(), tree.seed, Some(writes)).map_err(|e| self.files(e))?;
        let store = self.store.canonicalize().unwrap_or_else(|_| self.store.to_owned());
        asks(&format!(
            "Cut the power NOW, of the machine or the drive: pull the plug, don't shut down. This can damage other files on \
             it. Ctrl-C ends the test safely. Write down this command, to run once the power is back and the drive or pool is \
             mounted:\n  drivebench run power --resume {} --store {}",
            self.run,
            shell_word(&store)
        ));
        let not_cut = |within: String| {
            PowerError::Failed(format!(
                "the power was not cut within {within}, so there is no result; the test files are removed"
            ))
        };
        let why = loop {
            thread::sleep(POLL);
            if let Some(e) = load.is_full() {
                break self.files(e);
            }
            let failing = load.failing();
            // On Ctrl-C any failing write counts: the power may just have been cut.
            if failing > GONE || failing > Duration::ZERO && cancel.is_set() {
                // Before operations that hang are waited for.
                break writer.record(&Line::Gone).map_or_else(|e| self.ledger(e), |()| PowerError::Gone);
            }
            if load.is_wrong() {
                let seconds = since.elapsed().as_secs_f64();
                drop(load.end());
                let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let (files, ledger) = (verify(&files), ledger.verify(&dir, LONG));
                let ended = WritesEnded::WrongRead;
                let mut cut = PowerCutResult { files, ledger, seconds, ended, ..Default::default() };
                // Now it is right: the place is read right only at times.
                cut.files.unsteady += u64::from(cut.is_whole());
                return Ok(cut);
            }
            if cancel.is_set() {
                break PowerError::Interrupted;
            }
            if let Some(e) = load.log_failed() {
                break self.ledger(e);
            }
            if since.elapsed().as_secs_f64() > act.seconds {
                break not_cut(duration(act.seconds));
            }
            if load.left() < LARGEST {
                break not_cut(format!("{} of writes", decimal_bytes(act.most)));
            }
        };
        drop(load.end());
        Err(why)
    }

    /// The directory, held open, because who may write to the target may put another one in its place; and what is in it.
    fn prepare(&self, cancel: &Cancel) -> io::Result<(File, Ledger)> {
        let held = open_dir(&self.own())?;
        let dir = by_descriptor(&held);
        self.act.tree.fill(&dir, cancel)?;
        let ledger = Ledger::begin(&dir, self.act.tree.seed)?;
        readable(&dir)?;
        Ok((held, ledger))
    }

    fn check(&self, saved: &SavedLedger) -> Result<PowerCutResult, PowerError> {
        // A directory that is gone had files that were synced. Who may not read it knows nothing.
        let held = match open_dir(&self.own()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            held => Some(held.map_err(|e| self.files(e))?),
        };
        let dir = held.as_ref().map_or_else(|| self.own(), by_descriptor);
        match readable(&dir) {
            Err(e) if is_no_loss(&e) => return Err(self.files(e)),
            _ => {}
        }
        let files = verify(&Arc::new(TreeFiles::new(&dir, self.act.tree)));
        let ledger = saved.ledger.verify(&dir, LONG);
        // A filesystem whose drive was gone for a moment gives nothing but errors until it is mounted again.
        let is_dead = files.whole + files.wrong == 0 && ledger.kept_bytes == 0;
        if saved.gone && held.is_some() && is_dead && ledger.unreadable_bytes == ledger.lost_bytes {
            return Err(
                self.files(io::Error::other("unmount the filesystem, mount it again, and check again"))
            );
        }
        let ended = if saved.gone { WritesEnded::DriveGone } else { WritesEnded::PowerCut };
        Ok(PowerCutResult { files, ledger, seconds: saved.seconds, ended, ..PowerCutResult::default() })
    }

    /// Removes the files, and then the ledger, which names them.
    fn remove(&self, ledger: impl FnOnce() -> io::Result<()>) -> Result<(), PowerError> {
        let own = self.own();
        // Who may write to the target can put something else in its place.
        let removed = own.symlink_metadata().and_then(|about| {
            // Some filesystems, such as FAT, give all files one owner.
            let owners = [geteuid().as_raw(), self.target.metadata()?.uid()];
            match about.is_dir() && owners.contains(&about.uid()) {
                true => fs::remove_dir_all(&own),
                false => Err(io::Error::other("it is not a directory of this user: check it")),
            }
        });
        match removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(self.files(e)),
            _ => {}
        }
        ledger().map_err(|e| self.ledger(e))
    }

    /// Removes what a run leaves whose check is recorded, and found nothing to look at again.
    pub fn clear(&self) -> Result<(), PowerError> {
        match SavedLedger::read(&self.store, &self.run, 0).map_err(|e| self.ledger(e))? {
            Some(saved) => self.remove(|| saved.remove()),
            None => Ok(()),
        }
    }
}

/// Refuses a store that goes with the drive of the target, or with the machine's memory.
pub fn is_elsewhere(inventory: &Inventory, target: &Target, store: &Path) -> Result<(), String> {
    // It is made with the first run.
    let path = store.ancestors().find_map(|at| at.canonicalize().ok()).unwrap_or_else(|| store.to_owned());
    let refused = |why: String| {
        let store = store.display();
        format!(
            "the ledger must be on another drive than the test files: the store, {store}, {why}. Name a directory on another drive with \
             --store DIR; a stick or a mounted share will do"
        )
    };
    let on = Target::resolve(inventory, &path.to_string_lossy())
        .map_err(|e| refused(format!("is not found: {e}")))?;
    let is_network = on.mount.as_ref().is_some_and(|mount| is_network(&mount.filesystem));
    let same = |drive: &&Drive| target.drives.iter().any(|other| inventory.are_one(drive, other));
    match on.drives.iter().find(same) {
        Some(drive) => Err(refused(format!("is on {}", drive.label()))),
        None if on.drives.is_empty() && !is_network => {
            Err(refused("is on no known drive, and memory would lose it".to_owned()))
        }
        None => Ok(()),
    }
}

/// Reads a part of the area past the page cache.
fn readable(dir: &Path) -> io::Result<()> {
    let file = open(&dir.join(file_name(AREA)))?;
    read(&file, 0, BLOCK, &mut Aligned::new(READ)).map(drop)
}

/// Whether an error says that this process may not, or can't, read past the page cache: nothing is lost then.
fn is_no_loss(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

fn open_dir(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

fn by_descriptor(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

/// Files of runs that wait for a power cut, or for the check after it.
pub fn waiting(store: &Path) -> Vec<Leftover> {
    let one = |(run, saved): (String, SavedLedger)| {
        let ledger = shell_word(&saved.path);
        let (name, dir) = (shell_word(&run), &saved.dir);
        let resume = format!("drivebench run power --resume {name} --store {}", shell_word(store));
        // Anyone who can write to the store can edit the ledger: no other directory is named to be removed.
        let own = dir.is_absolute() && dir.file_name() == Some(power_dir(&run).as_ref());
        let remedy = match own {
            true => format!("to discard it: rm -rf {} && rm {ledger}", shell_word(dir)),
            false => format!("it names no directory of the run, so check it: rm {ledger}"),
        };
        let why = format!("to check it: {resume}; if it was checked and lost data: drivebench show {name}");
        Leftover {
            path: if own { saved.dir } else { saved.path },
            ended: "a run that waits for the check after a power cut",
            outcome: Err(Kept { why, remedy }),
        }
    };
    SavedLedger::all(store).map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::test_files::{AREA_BLOCKS, FileTree, Write};

    const RUN: &str = "20261125-0000-power";

    fn act(seconds: f64) -> PowerCut {
        PowerCut { tree: FileTree { bytes: 1 << 20, seed: 3 }, seconds, most: 1 << 20 }
    }

    fn test<'a>(act: &'a PowerCut, [target, store]: &[tempfile::TempDir; 2], boot: &str) -> PowerTest<'a> {
        let [target, store] = [target, store].map(|dir| dir.path().to_owned());
        let (run, boot_id) = (RUN.to_owned(), Some(boot.to_owned()));
        PowerTest { act, target, store, run, boot_id }
    }

    fn saved(test: &PowerTest<'_>) -> Option<SavedLedger> {
        SavedLedger::read(&test.store, &test.run, 3).expect("reads")
    }

    fn dirs() -> [tempfile::TempDir; 2] {
        // On a drive: memory has no reads past the page cache.
        [(); 2].map(|()| tempfile::tempdir_in("/var/tmp").expect("a directory"))
    }

    #[test]
    fn without_a_power_cut_nothing_is_known_and_nothing_is_left() {
        let dirs = dirs();
        let mut asked = Vec::new();
        let mut asks = |text: &str| asked.push(text.to_owned());
        let why = test(&act(0.0), &dirs, "a").carry_out(&Cancel::default(), &mut asks);
        assert!(why.as_ref().is_err_and(|e| e.to_string().contains("was not cut within")), "{why:?}");
        assert!(asked.len() == 1 && asked[0].contains("--resume 20261125-0000-power"), "{asked:?}");
        let cancel = Cancel::default();
        let why = test(&act(1e6), &dirs, "a").carry_out(&cancel, &mut |_| cancel.set());
        assert!(matches!(why, Err(PowerError::Interrupted)), "{why:?}");
        let act = PowerCut { most: LARGEST, ..act(1e6) };
        let test = test(&act, &dirs, "a");
        let why = test.carry_out(&Cancel::default(), &mut |_| ());
        assert!(why.expect_err("all was written").to_string().contains("within 65.5 kB of writes"));
        assert_eq!(fs::read_dir(&test.target).expect("lists").count(), 0);
        assert!(saved(&test).is_none());
    }

    #[test]
    fn what_is_read_back_wrong_needs_no_power_cut() {
        let (dirs, act) = (dirs(), PowerCut { most: u64::MAX, ..act(1e6) });
        let test = test(&act, &dirs, "a");
        let own = test.own();
        // A drive that changed a byte of each file.
        let damage = |_: &str| {
            for number in 0..act.tree.files() as usize {
                let path = FileTree::path(&own, number);
                let file = OpenOptions::new().read(true).write(true).open(path).expect("opens");
                let mut byte = [0];
                file.read_exact_at(&mut byte, 0).expect("reads");
                file.write_all_at(&[!byte[0]], 0).expect("writes");
                file.sync_all().expect("syncs");
            }
        };
        let cut = test.carry_out(&Cancel::default(), &mut { damage }).expect("finds it");
        assert_eq!(cut.ended, WritesEnded::WrongRead);
        assert!(cut.files.wrong > 0 && cut.files.unsteady == 0 && !cut.is_whole(), "{cut:?}");
        assert_eq!(fs::read_dir(&test.target).expect("lists").count(), 0);
        assert!(saved(&test).is_none());
    }

    #[test]
    fn what_was_acknowledged_before_the_cut_is_looked_for_after_it() {
        let (dirs, act) = (dirs(), act(1.0));
        let before = test(&act, &dirs, "a");
        // As a power cut leaves it: two blocks were written again, one of them acknowledged.
        let begin = || {
            let boot_id = before.boot_id.as_deref();
            LedgerWriter::begin(&before.store, &before.run, boot_id, &before.own()).expect("begins")
        };
        let writer = begin();
        fs::create_dir(before.own()).expect("makes");
        let (held, ledger) = before.prepare(&Cancel::default()).expect("writes");
        writer.record(&Line::Ready).expect("is noted");
        let path = before.own().join(file_name(AREA));
        let area = OpenOptions::new().write(true).open(path).expect("opens");
        for (nth, offset) in [(1, 0), (2, BLOCK)] {
            let number = AREA_BLOCKS + nth;
            let write = Write { file: AREA, offset, length: BLOCK, number, acknowledged: false };
            writer.begins(&write).expect("is noted");
            let mut bytes = vec![0; BLOCK as usize];
            ledger.source(&write).fill(offset, &mut bytes);
            area.write_all_at(&bytes, offset).expect("writes");
            area.sync_all().expect("syncs");
            if nth == 1 {
                writer.answer(number, true).expect("is noted");
            }
        }
        drop((writer, held));

        let after = test(&act, &dirs, "b");
        let check = || after.carry_out(&Cancel::default(), &mut |_| ()).expect("checks");
        let cut = check();
        assert_eq!((cut.files.whole, cut.files.wrong, cut.ledger.lost_bytes), (act.tree.files(), 0, 0));
        assert_eq!((cut.ledger.acknowledged, cut.ledger.kept_bytes), (AREA_BLOCKS + 1, AREA_BLOCKS * BLOCK));
        assert_eq!(cut.ended, WritesEnded::PowerCut);
        // A drive that acknowledged it and kept what was there before.
        let mut old = vec![0; BLOCK as usize];
        ledger.source(&ledger.writes[0]).fill(0, &mut old);
        area.write_all_at(&old, 0).expect("writes");
        assert_eq!(check().ledger.lost_bytes, BLOCK);
        after.clear().expect("removes");
        assert_eq!(fs::read_dir(&after.target).expect("lists").count(), 0);
        assert!(saved(&before).is_none());
        after.clear().expect("nothing is left to do");
        // A directory of others, and a run that ended before the power did.
        fs::create_dir(after.own()).expect("makes");
        after.carry_out(&Cancel::default(), &mut |_| ()).expect_err("it is not its own");
        assert!(after.own().exists() && saved(&before).is_none());
        fs::remove_dir(after.own()).expect("removes");
        let writer = begin();
        writer.record(&Line::Ready).expect("is noted");
        writer.record(&Line::Ended).expect("is noted");
        drop(writer);
        let at_once = self::act(0.0);
        let after = test(&at_once, &dirs, "b");
        let why = after.carry_out(&Cancel::default(), &mut |_| ()).expect_err("it begins again");
        assert!(why.to_string().contains("was not cut within"), "{why}");
    }
}
