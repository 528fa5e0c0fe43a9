//! Writes to a directory until the power is cut, with a ledger on another drive; after that, checks what is there.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::{fs::OFlags, process::geteuid};

use super::{
    HANG, POLL,
    files::{READ, fill, ledger_path, make_area, open, read},
    ledger::{AREA, BLOCK, LARGEST, Ledger},
    load::{Load, sum},
    noted::{Kept, Noted, Place as LedgerPlace},
    site::look_at,
};
use crate::{
    conditions::is_network,
    engine::{Aligned, Cancel},
    inventory::{Drive, Inventory},
    plan::PowerCut,
    record::{Cut, Event, WrongReads},
    target::Target,
    units::{RemoteDir, decimal_bytes, duration, shell_word},
};

/// How long the places of a ledger may take to be read: a bad sector takes half a minute.
const LONG: Duration = Duration::from_secs(3600);
/// A drive that takes no write for so long is gone.
const GONE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    #[error("the ledger in {at} can't be written or read: {source}")]
    Ledger { at: String, source: io::Error },
    #[error("the ledger in {at} is of another run that has the same name, {run}: use another directory")]
    Other { at: String, run: String },
    #[error(
        "{why} (the ledger in {at} can't be written either: {source}), so the test files stay: `drivebench cleanup` names them"
    )]
    Stay { at: String, why: Box<PowerError>, source: io::Error },
    #[error("files in {dir} can't be written or removed: {source}", dir = dir.display())]
    Files { dir: PathBuf, source: io::Error },
    #[error("nothing in {dir} can be read: unmount the filesystem, mount it again, and check again", dir = dir.display())]
    Dead { dir: PathBuf },
    #[error("the power was not cut within {within}, so nothing is known; the test files are removed")]
    NotCut { within: String },
    #[error("it takes no more writes. If its power was cut: once it is back and mounted, --resume checks it")]
    Gone,
    #[error("what is written is noted in the store, {store}, which must be on another drive: {why}. Name a directory on another drive with --store DIR, or on another machine with --ledger", store = store.display())]
    Together { store: PathBuf, why: String },
    #[error("interrupted")]
    Interrupted,
}

/// The name of the directory of a run.
pub fn power_dir(run: &str) -> String {
    format!("drivebench-power-{run}")
}

/// Where files are written, and where what is known of them.
pub struct Place<'a> {
    pub target: &'a Path,
    pub store: &'a Path,
    pub run: &'a str,
    /// The ledger, if it is not in the store; then also the first events of the record.
    pub elsewhere: Option<&'a RemoteDir>,
    pub record: Vec<Event>,
    pub boot_id: Option<String>,
}

impl Place<'_> {
    /// Its directory on the target.
    fn own(&self) -> PathBuf {
        self.target.join(power_dir(self.run))
    }

    fn at(&self) -> LedgerPlace<'_> {
        LedgerPlace { store: self.store, run: self.run, elsewhere: self.elsewhere }
    }

    fn ledger(&self, source: io::Error) -> PowerError {
        PowerError::Ledger { at: self.at().to_string(), source }
    }

    /// The same where Ctrl-C ends the wait for another machine.
    fn not_read(&self, e: io::Error) -> PowerError {
        if e.kind() == io::ErrorKind::Interrupted { PowerError::Interrupted } else { self.ledger(e) }
    }

    fn files(&self, source: io::Error) -> PowerError {
        PowerError::Files { dir: self.own(), source }
    }

    /// Writes until the power is cut, and so returns errors, unless it reads back something else before; or checks what was found
    /// after a power cut. `asks` receives what a person has to do.
    pub fn cut(
        &self,
        act: &PowerCut,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<Cut, PowerError> {
        let seed = act.tree.seed;
        if let Some(kept) = Kept::read(self.at(), seed, cancel).map_err(|e| self.not_read(e))? {
            // Other stores and machines may have runs of this name.
            let began = |record: &[Event]| match record {
                [Event::Start(start), ..] => start.at.clone(),
                _ => String::new(),
            };
            let is_known = kept.ready || !kept.record.is_empty();
            if is_known && began(&kept.record) != began(&self.record) {
                return Err(PowerError::Other { at: self.at().to_string(), run: self.run.to_owned() });
            }
            if kept.ready && !kept.ended && (kept.gone || kept.boot_id != self.boot_id) {
                return self.check(act, &kept);
            }
            // It was killed, or the power was cut when nothing could be learnt from that.
            self.remove(|| kept.remove())?;
        }
        let boot_id = self.boot_id.clone();
        let noted = Noted::begin(self.at(), boot_id, &self.own(), self.record.clone(), cancel);
        let noted = Arc::new(noted.map_err(|e| self.not_read(e))?);
        // What has its name is not this run's.
        if let Err(e) = fs::create_dir(self.own()) {
            noted.remove().map_err(|e| self.ledger(e))?;
            return Err(self.files(e));
        }
        let ended = self.write(act, &noted, cancel, asks);
        if matches!(ended, Err(PowerError::Gone)) {
            return ended;
        }
        match (ended, noted.ended()) {
            // What was found must not be lost, whatever becomes of the files; `cleanup` names what stays.
            (Ok(cut), Ok(())) => {
                Ok(Cut { stay: self.remove(|| noted.remove()).err().map(|e| e.to_string()), ..cut })
            }
            // Without their ledger, files that are gone would be losses.
            (Ok(cut), Err(e)) => Ok(Cut { stay: Some(self.ledger(e).to_string()), ..cut }),
            (Err(why), Err(source)) => {
                Err(PowerError::Stay { at: self.at().to_string(), why: Box::new(why), source })
            }
            (Err(why), Ok(())) => self.remove(|| noted.remove()).and(Err(why)),
        }
    }

    /// Returns why it ended, or what it found before any power cut.
    fn write(
        &self,
        act: &PowerCut,
        noted: &Arc<Noted>,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<Cut, PowerError> {
        let (held, ledger) = match self.prepare(act, cancel) {
            Ok(prepared) => prepared,
            Err(e) => return Err(self.files(e)),
        };
        if cancel.is_set() {
            return Err(PowerError::Interrupted);
        }
        noted.ready().map_err(|e| self.ledger(e))?;
        let ledger = Arc::new(Mutex::new(ledger));
        let dir = by_descriptor(&held);
        let since = Instant::now();
        let load = Load::start(&dir, act.tree, &ledger, act.most, Some(Arc::clone(noted)));
        let load = load.map_err(|e| self.files(e))?;
        let store = self.store.canonicalize().unwrap_or_else(|_| self.store.to_owned());
        asks(&format!(
            "Cut the power NOW, of the machine or only of the drive: pull the plug, don't shut down. It can damage other files on \
             them. Ctrl-C ends the test without harm. Write down this command; it checks once the power is back and the drive or pool is \
             mounted:\n  drivebench run power --resume {}{} --store {}",
            self.run,
            self.elsewhere.map(|at| format!(" --ledger {}", shell_word(&at.to_string()))).unwrap_or_default(),
            shell_word(&store)
        ));
        let why = loop {
            thread::sleep(POLL);
            if let Some(e) = load.is_full() {
                break self.files(e);
            }
            let failing = load.failing();
            // Also one that is just about to be: its power may have been cut.
            if failing > GONE || failing > Duration::ZERO && cancel.is_set() {
                // Before operations that hang are waited for.
                break noted.gone().map_or_else(|e| self.ledger(e), |()| PowerError::Gone);
            }
            if let Some(first) = load.wrong() {
                let seconds = since.elapsed().as_secs_f64();
                let (ops, hanging) = load.end(HANG);
                let all = sum(&ops, &hanging, since, Instant::now());
                let early = WrongReads { reads: all.reads + all.wrong_reads, wrong: all.wrong_reads, first };
                let (files, ledger) = look_at(&dir, &act.tree, None, &ledger, LONG);
                return Ok(Cut { files, ledger, seconds, early: Some(early), ..Cut::default() });
            }
            if cancel.is_set() {
                break PowerError::Interrupted;
            }
            if let Some(e) = load.unnoted() {
                break self.ledger(e);
            }
            if since.elapsed().as_secs_f64() > act.seconds {
                break PowerError::NotCut { within: duration(act.seconds) };
            }
            if load.left() < LARGEST {
                break PowerError::NotCut { within: format!("{} of writes", decimal_bytes(act.most)) };
            }
        };
        drop(load.end(HANG));
        Err(why)
    }

    /// The directory, held open, because who may write to the target may put another one in its place; and what is in it.
    fn prepare(&self, act: &PowerCut, cancel: &Cancel) -> io::Result<(File, Ledger)> {
        let held = open_dir(&self.own())?;
        let dir = by_descriptor(&held);
        fill(&dir, &act.tree, cancel)?;
        let mut ledger = Ledger { seed: act.tree.seed, writes: Vec::new() };
        make_area(&dir, &mut ledger)?;
        readable(&dir)?;
        Ok((held, ledger))
    }

    fn check(&self, act: &PowerCut, kept: &Kept) -> Result<Cut, PowerError> {
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
        let ledger = Arc::new(Mutex::new(kept.ledger.clone()));
        let (files, ledger) = look_at(&dir, &act.tree, None, &ledger, LONG);
        // A filesystem whose drive was gone for a moment gives nothing but errors until it is mounted again.
        let is_dead = files.whole + files.wrong == 0 && ledger.kept_bytes == 0;
        if kept.gone && held.is_some() && is_dead && ledger.unreadable_bytes == ledger.lost_bytes {
            return Err(PowerError::Dead { dir: self.own() });
        }
        Ok(Cut { files, ledger, seconds: kept.seconds, only_drive: kept.gone, ..Cut::default() })
    }

    /// Removes the files, and then the ledger, which names them.
    pub fn remove(&self, ledger: impl FnOnce() -> io::Result<()>) -> Result<(), PowerError> {
        let own = self.own();
        // Who may write to the target can put something else in its place.
        let removed = own.symlink_metadata().and_then(|about| {
            // Some filesystems, such as FAT, give all files one owner.
            let owners = [geteuid().as_raw(), self.target.metadata()?.uid()];
            match about.is_dir() && owners.contains(&about.uid()) {
                true => fs::remove_dir_all(&own),
                false => Err(io::Error::other("it is no directory of this user: check it")),
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
        match Kept::read(self.at(), 0, &Cancel::default()).map_err(|e| self.ledger(e))? {
            Some(kept) => self.remove(|| kept.remove()),
            None => Ok(()),
        }
    }
}

/// Refuses a store that goes with the drive of the target, or with the machine's memory.
pub fn is_elsewhere(inventory: &Inventory, target: &Target, store: &Path) -> Result<(), PowerError> {
    let path = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    let shown = path.to_string_lossy();
    let refused = |why: &str| PowerError::Together { store: store.to_owned(), why: why.to_owned() };
    let on = Target::resolve(inventory, &shown).map_err(|e| refused(&e.to_string()))?;
    let is_network = on.mount.as_ref().is_some_and(|mount| is_network(&mount.filesystem));
    let same = |drive: &&Drive| target.drives.iter().any(|other| inventory.are_one(drive, other));
    match (on.drives.iter().find(same), on.drives.is_empty()) {
        (Some(drive), _) => Err(refused(&format!("it is on {}, which is written to", drive.label()))),
        (None, true) if !is_network => {
            Err(refused("which drive it is on is not known; memory would lose it"))
        }
        _ => Ok(()),
    }
}

/// Reads a part of the area past the page cache.
fn readable(dir: &Path) -> io::Result<()> {
    let file = open(&ledger_path(dir, AREA))?;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::{
        plan::FileTree,
        run::pull::{
            files::{AREA_BLOCKS, path},
            ledger::{Answer, Write},
        },
    };

    const RUN: &str = "20261125-0000-power";

    fn act(seconds: f64) -> PowerCut {
        PowerCut { tree: FileTree { bytes: 1 << 20, seed: 3 }, seconds, most: 1 << 20, ledger: None }
    }

    fn place<'a>(target: &'a tempfile::TempDir, store: &'a tempfile::TempDir, boot: &str) -> Place<'a> {
        let (target, store, boot_id) = (target.path(), store.path(), Some(boot.to_owned()));
        Place { target, store, run: RUN, elsewhere: None, record: Vec::new(), boot_id }
    }

    fn dirs() -> [tempfile::TempDir; 2] {
        // On a drive: memory has no reads past the page cache.
        [(); 2].map(|()| tempfile::tempdir_in("/var/tmp").expect("a directory"))
    }

    #[test]
    fn without_a_power_cut_nothing_is_known_and_nothing_is_left() {
        let [target, store] = dirs();
        let place = place(&target, &store, "a");
        let mut asked = Vec::new();
        let why = place.cut(&act(0.0), &Cancel::default(), &mut |text| asked.push(text.to_owned()));
        assert!(matches!(why, Err(PowerError::NotCut { .. })), "{why:?}");
        assert!(asked.len() == 1 && asked[0].contains("--resume 20261125-0000-power"), "{asked:?}");
        let cancel = Cancel::default();
        let why = place.cut(&act(1e6), &cancel, &mut |_| cancel.set());
        assert!(matches!(why, Err(PowerError::Interrupted)), "{why:?}");
        let why = place.cut(&PowerCut { most: LARGEST, ..act(1e6) }, &Cancel::default(), &mut |_| ());
        assert!(why.expect_err("all was written").to_string().contains("within 65.5 kB of writes"));
        assert_eq!(fs::read_dir(target.path()).expect("lists").count(), 0);
        assert!(Kept::read(place.at(), 3, &Cancel::default()).expect("reads").is_none());
    }

    #[test]
    fn what_is_read_back_wrong_needs_no_power_cut() {
        let [target, store] = dirs();
        let place = place(&target, &store, "a");
        let own = place.own();
        // A drive that changed a byte of each file.
        let damage = |_: &str| {
            for number in 0..act(1.0).tree.files() {
                let file = OpenOptions::new().read(true).write(true).open(path(&own, number)).expect("opens");
                let mut byte = [0];
                file.read_exact_at(&mut byte, 0).expect("reads");
                file.write_all_at(&[!byte[0]], 0).expect("writes");
                file.sync_all().expect("syncs");
            }
        };
        let act = PowerCut { most: u64::MAX, ..act(1e6) };
        let cut = place.cut(&act, &Cancel::default(), &mut { damage }).expect("finds it");
        let early = cut.early.clone().expect("before any power cut");
        assert!(early.wrong > 0 && early.reads >= early.wrong && early.first.contains(" at "), "{early:?}");
        assert!(cut.files.wrong > 0 && cut.files.unsteady == 0 && !cut.is_whole(), "{cut:?}");
        assert_eq!(fs::read_dir(target.path()).expect("lists").count(), 0);
        assert!(Kept::read(place.at(), 3, &Cancel::default()).expect("reads").is_none());
    }

    #[test]
    fn what_was_acknowledged_before_the_cut_is_looked_for_after_it() {
        let [target, store] = dirs();
        let before = place(&target, &store, "a");
        // As a power cut leaves it: two blocks were written again, one of them acknowledged.
        let begin = || {
            let boot_id = before.boot_id.clone();
            Noted::begin(before.at(), boot_id, &before.own(), Vec::new(), &Cancel::default()).expect("begins")
        };
        let noted = begin();
        fs::create_dir(before.own()).expect("makes");
        let (held, ledger) = before.prepare(&act(1.0), &Cancel::default()).expect("writes");
        noted.ready().expect("is noted");
        let area = OpenOptions::new().write(true).open(ledger_path(&before.own(), AREA)).expect("opens");
        for (nth, offset) in [(1, 0), (2, BLOCK)] {
            let number = AREA_BLOCKS + nth;
            let write = Write { file: AREA, offset, length: BLOCK, number, answer: Answer::Open };
            noted.will(&write).expect("is noted");
            let mut bytes = vec![0; BLOCK as usize];
            ledger.source(&write).fill(offset, &mut bytes);
            area.write_all_at(&bytes, offset).expect("writes");
            area.sync_all().expect("syncs");
            if nth == 1 {
                noted.answer(number, true).expect("is noted");
            }
        }
        drop((noted, held));

        let after = place(&target, &store, "b");
        let check = || after.cut(&act(1.0), &Cancel::default(), &mut |_| ()).expect("checks");
        let cut = check();
        assert_eq!((cut.files.whole, cut.files.wrong, cut.ledger.lost_bytes), (act(1.0).tree.files(), 0, 0));
        assert_eq!((cut.ledger.acknowledged, cut.ledger.kept_bytes), (AREA_BLOCKS + 1, AREA_BLOCKS * BLOCK));
        assert!(!cut.only_drive);
        // A drive that acknowledged it and kept what was there before.
        let mut old = vec![0; BLOCK as usize];
        ledger.source(&ledger.writes[0]).fill(0, &mut old);
        area.write_all_at(&old, 0).expect("writes");
        assert_eq!(check().ledger.lost_bytes, BLOCK);
        after.clear().expect("removes");
        assert_eq!(fs::read_dir(target.path()).expect("lists").count(), 0);
        assert!(Kept::read(before.at(), 3, &Cancel::default()).expect("reads").is_none());
        after.clear().expect("nothing is left to do");
        // A directory of others, and a run that ended before the power did.
        fs::create_dir(after.own()).expect("makes");
        after.cut(&act(1.0), &Cancel::default(), &mut |_| ()).expect_err("it is not its own");
        assert!(
            after.own().exists() && Kept::read(before.at(), 3, &Cancel::default()).expect("reads").is_none()
        );
        fs::remove_dir(after.own()).expect("removes");
        let noted = begin();
        noted.ready().expect("is noted");
        noted.ended().expect("is noted");
        drop(noted);
        let why = after.cut(&act(0.0), &Cancel::default(), &mut |_| ()).expect_err("it begins again");
        assert!(matches!(why, PowerError::NotCut { .. }), "{why}");
    }
}
