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
    files::{fill, make_area},
    ledger::{LARGEST, Ledger},
    load::Load,
    noted::{Kept, Noted},
    site::{HANG, POLL, look_at},
};
use crate::{
    conditions::is_network,
    engine::Cancel,
    inventory::{Drive, Inventory},
    plan::PowerCut,
    record::Cut,
    target::Target,
    units::{decimal_bytes, duration, shell_word},
};

/// A drive that takes no write for so long is gone.
const GONE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    #[error("the ledger in {store} can't be written or read: {source}", store = store.display())]
    Ledger { store: PathBuf, source: io::Error },
    #[error("files in {dir} can't be written or removed: {source}", dir = dir.display())]
    Files { dir: PathBuf, source: io::Error },
    #[error("the power was not cut within {within}, so nothing is known; its files are removed")]
    NotCut { within: String },
    #[error("it takes no more writes. If its power was cut: once it is back and mounted, --resume checks it")]
    Gone,
    #[error("the ledger is kept in the store, {store}, and must be on another drive: {why}. Name another store with --store DIR", store = store.display())]
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
    pub boot_id: Option<String>,
}

impl Place<'_> {
    /// Its directory on the target.
    fn own(&self) -> PathBuf {
        self.target.join(power_dir(self.run))
    }

    fn ledger(&self, source: io::Error) -> PowerError {
        PowerError::Ledger { store: self.store.to_owned(), source }
    }

    fn files(&self, source: io::Error) -> PowerError {
        PowerError::Files { dir: self.own(), source }
    }

    /// Writes until the power is cut, and so returns errors only; or checks what was found after a power cut. `asks` receives what a
    /// person has to do.
    pub fn cut(
        &self,
        act: &PowerCut,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<Cut, PowerError> {
        let seed = act.tree.seed;
        if let Some(kept) = Kept::read(self.store, self.run, seed).map_err(|e| self.ledger(e))? {
            if kept.ready && (kept.gone || kept.boot_id != self.boot_id) {
                return self.check(act, kept);
            }
            // It was killed, or the power was cut before anything could be learnt from that.
            self.remove(|| kept.remove())?;
        }
        let noted = Noted::begin(self.store, self.run, self.boot_id.clone(), &self.own())
            .map_err(|e| self.ledger(e))?;
        let noted = Arc::new(noted);
        match self.write(act, &noted, cancel, asks) {
            PowerError::Gone => {
                noted.gone().map_err(|e| self.ledger(e))?;
                Err(PowerError::Gone)
            }
            ended => {
                self.remove(|| noted.remove())?;
                Err(ended)
            }
        }
    }

    /// Returns why it ended.
    fn write(
        &self,
        act: &PowerCut,
        noted: &Arc<Noted>,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> PowerError {
        let (held, ledger) = match self.prepare(act, cancel) {
            Ok(prepared) => prepared,
            Err(e) => return self.files(e),
        };
        if cancel.is_set() {
            return PowerError::Interrupted;
        }
        if let Err(e) = noted.ready() {
            return self.ledger(e);
        }
        let ledger = Arc::new(Mutex::new(ledger));
        let noted = Some(Arc::clone(noted));
        let load = match Load::start(&by_descriptor(&held), act.tree, &ledger, act.most, noted) {
            Ok(load) => load,
            Err(e) => return self.files(e),
        };
        let resume = format!("drivebench run power --resume {} --store {}", self.run, shell_word(self.store));
        asks(&format!(
            "Cut the power NOW, of the machine or only of the drive: pull the plug, don't shut down. Once it is back and the drive is \
             mounted: {resume}"
        ));
        let since = Instant::now();
        let why = loop {
            thread::sleep(POLL);
            if cancel.is_set() {
                break PowerError::Interrupted;
            }
            if let Some(e) = load.unnoted() {
                break self.ledger(e);
            }
            if load.failing() > GONE {
                break PowerError::Gone;
            }
            if since.elapsed().as_secs_f64() > act.seconds {
                break PowerError::NotCut { within: duration(act.seconds) };
            }
            if load.left() < LARGEST {
                break PowerError::NotCut { within: format!("{} of writes", decimal_bytes(act.most)) };
            }
        };
        drop(load.end(HANG));
        why
    }

    /// The directory, held open, because who may write to the target may put another one in its place; and what is in it.
    fn prepare(&self, act: &PowerCut, cancel: &Cancel) -> io::Result<(File, Ledger)> {
        fs::create_dir(self.own())?;
        let held = open_dir(&self.own())?;
        let dir = by_descriptor(&held);
        fill(&dir, &act.tree, cancel)?;
        let mut ledger = Ledger { seed: act.tree.seed, writes: Vec::new() };
        make_area(&dir, &mut ledger)?;
        Ok((held, ledger))
    }

    fn check(&self, act: &PowerCut, kept: Kept) -> Result<Cut, PowerError> {
        // A directory that is gone had files that were synced.
        let held = open_dir(&self.own()).ok();
        let dir = held.as_ref().map_or_else(|| self.own(), by_descriptor);
        let ledger = Arc::new(Mutex::new(kept.ledger.clone()));
        let (files, ledger) = look_at(&dir, &act.tree, None, &ledger);
        Ok(Cut { files, ledger, seconds: kept.seconds, only_drive: kept.boot_id == self.boot_id })
    }

    /// Removes the files, and then the ledger, which names them.
    pub fn remove(&self, ledger: impl FnOnce() -> io::Result<()>) -> Result<(), PowerError> {
        let own = self.own();
        // Who may write to the target can put something else in its place.
        let removed = own.symlink_metadata().and_then(|about| {
            match about.is_dir() && about.uid() == geteuid().as_raw() {
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

    /// Removes what a run leaves whose check is recorded.
    pub fn clear(&self) -> Result<(), PowerError> {
        match Kept::read(self.store, self.run, 0).map_err(|e| self.ledger(e))? {
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
            files::{AREA_BLOCKS, ledger_path},
            ledger::{AREA, Answer, BLOCK, Write},
        },
    };

    const RUN: &str = "20261125-0000-power";

    fn act(seconds: f64) -> PowerCut {
        PowerCut { tree: FileTree { bytes: 1 << 20, seed: 3 }, seconds, most: 1 << 20 }
    }

    fn place<'a>(target: &'a tempfile::TempDir, store: &'a tempfile::TempDir, boot: &str) -> Place<'a> {
        Place { target: target.path(), store: store.path(), run: RUN, boot_id: Some(boot.to_owned()) }
    }

    fn dirs() -> [tempfile::TempDir; 2] {
        // On a drive: memory has no reads past the page cache.
        [(); 2].map(|()| tempfile::tempdir_in("target").expect("a directory"))
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
        assert!(Kept::read(store.path(), RUN, 3).expect("reads").is_none());
    }

    #[test]
    fn what_was_acknowledged_before_the_cut_is_looked_for_after_it() {
        let [target, store] = dirs();
        let before = place(&target, &store, "a");
        // As a power cut leaves it: two blocks were written again, one of them acknowledged.
        let noted = Noted::begin(store.path(), RUN, before.boot_id.clone(), &before.own()).expect("begins");
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
        assert!(Kept::read(store.path(), RUN, 3).expect("reads").is_none());
        // All is gone.
        after.clear().expect("nothing is left to do");
    }
}
