//! Takes a drive of a pool away while files are used, finds out what is left, and brings the drive back.

mod back;
mod content;
mod files;
mod ledger;
mod load;
mod unplug;
mod watch;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

pub use back::put_back;
pub use files::fill;
pub(super) use unplug::Switch;

use self::{
    files::{Checking, READ, check, make_area, path, place},
    ledger::Ledger,
    load::{Load, sample, sum},
    unplug::Unplug,
    watch::Watch,
};
use super::{
    journal::{Entry, Journal, Undo},
    pool::{BuildError, Built, PoolLog},
};
use crate::{
    engine::{Aligned, Cancel},
    inventory::{Drive, Inventory},
    plan::{FileTree, Pull},
    record::{FilesFound, LedgerFound, Probe, Pulled},
    sysroot::Sysroot,
    tools::{Runner, filefrag},
    units::duration,
};

/// How long operations may take to end: SCSI tries a command that gets no answer for half a minute, resets, and tries again.
const HANG: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(5);
/// Operations in a record, for a picture.
const SAMPLE: usize = 400;
/// Of what may be written: before, while the drive is away, and until it is back.
const THIRDS: u64 = 3;

/// A pool that a run built, and where it may be changed from.
pub struct Site<'a> {
    /// Its name, and where it is mounted.
    pub pool: &'a str,
    pub dir: &'a Path,
    pub store: &'a Path,
    pub erase: &'a [String],
    pub journal: &'a Journal,
    pub runner: &'a dyn Runner,
}

/// A pool without one of its drives.
#[derive(Debug)]
pub struct Away {
    act: Pull,
    unplug: Unplug,
    /// Struck out once the drive is back.
    entry: Option<Entry>,
    ledger: Arc<Mutex<Ledger>>,
    on_drive: Option<Vec<bool>>,
}

impl Away {
    /// Lets the kernel have the drive again; what it does with it is not waited for.
    pub fn restore(&mut self) -> io::Result<()> {
        if let Some(entry) = self.entry.take() {
            let answer = self.unplug.back.set()?;
            match answer.recv_timeout(HANG) {
                Ok(answer) => answer?,
                Err(_) => return Err(io::Error::other("the kernel does not answer")),
            }
            entry.done()?;
        }
        Ok(())
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        // Errors can't be reported from drop: the entry stays in the journal, and the next run brings the drive back.
        let _ = self.restore();
    }
}

/// The pool and its drive, by the log of the pool.
fn known(site: &Site<'_>) -> Result<(PoolLog, Built), BuildError> {
    PoolLog::open(site.store, site.pool).map_err(BuildError::NoLog)
}

/// Uses files, takes the drive away, uses them again, and checks what is left.
pub fn pull(site: &Site<'_>, act: &Pull, cancel: &Cancel) -> Result<(Pulled, Away), BuildError> {
    let inventory = Inventory::read(&Sysroot::live());
    let (_, built) = known(site)?;
    let drive = inventory
        .drive(&act.drive)
        .ok_or_else(|| BuildError::Drives(format!("the drive {} is not here any more", act.drive)))?;
    let unplug = Unplug::of(drive, act.by).map_err(|e| BuildError::Drives(e.to_string()))?;
    carries_nothing_else(&inventory, drive, &unplug)?;
    let on_drive = placement(site, act, &built);
    let mut ledger = Ledger { seed: act.tree.seed, writes: Vec::new() };
    make_area(site.dir, &mut ledger).map_err(files_failed)?;
    let ledger = Arc::new(Mutex::new(ledger));
    let root = Sysroot::live();
    let mut pulled =
        Pulled { name: drive.name.clone(), settings: settings(drive, &built, &root), ..Pulled::default() };

    let begun = Instant::now();
    let load = Load::start(site.dir, act.tree, &ledger, act.most / THIRDS).map_err(files_failed)?;
    let seconds = Duration::from_secs_f64(act.seconds);
    while begun.elapsed() < seconds && !cancel.is_set() {
        thread::sleep(POLL);
    }
    if cancel.is_set() {
        drop(load.end(HANG));
        return Err(BuildError::Array("interrupted before the drive was taken away".to_owned()));
    }
    let undo = Undo::Unplugged { back: unplug.back.file.clone() };
    let entry = site.journal.will(undo).map_err(|e| BuildError::Array(e.to_string()))?;
    let away = Away { act: act.clone(), unplug, entry: Some(entry), ledger: Arc::clone(&ledger), on_drive };
    let mut watch = Watch::new(&built.build, &inventory, act.member as usize, &drive.name);
    let log_from = watch::kernel_now();
    load.allow(act.most / THIRDS);
    let zero = Instant::now();
    let answer = away.unplug.away.set().map_err(files_failed)?;
    while zero.elapsed() < seconds && !cancel.is_set() {
        watch.look(zero);
        thread::sleep(POLL);
    }
    let end = Instant::now();
    let (ops, hanging) = load.end(HANG);
    if let Ok(Err(e)) = answer.recv_timeout(HANG) {
        return Err(BuildError::Array(format!("{} was not taken away: {e}", drive.label())));
    }
    watch.look(zero);
    (pulled.before, pulled.away) = (sum(&ops, &[], begun, zero), sum(&ops, &hanging, zero, end));
    pulled.moments = watch.moments(&ops, zero);
    pulled.sample = sample(&ops, zero, SAMPLE);
    pulled.probes = probes(site.dir, false);
    cool(site.dir);
    pulled.probes.extend(probes(site.dir, true));
    (pulled.files, pulled.ledger) = look(site.dir, &away);
    pulled.kernel = watch::messages(site.runner, log_from, &drive.name);
    let health = built.build.health(&root, &Inventory::read(&root));
    (pulled.state, pulled.missing) = (health.state, health.missing);
    Ok((pulled, away))
}

fn files_failed(e: io::Error) -> BuildError {
    BuildError::Array(format!("files can't be used on the pool: {e}"))
}

/// Refuses a drive whose USB device carries something else, which would go with it.
fn carries_nothing_else(inventory: &Inventory, drive: &Drive, unplug: &Unplug) -> Result<(), BuildError> {
    let device = unplug.away.file.parent().unwrap_or(Path::new("/")).to_owned();
    let below = |class: &str, name: &str| {
        let path = Path::new("/sys/class").join(class).join(name).canonicalize();
        path.is_ok_and(|path| path.starts_with(&device))
    };
    let other = inventory.drives.iter().find(|other| other.name != drive.name && below("block", &other.name));
    if let Some(other) = other {
        return Err(BuildError::Drives(format!("{} would go with {}", other.label(), drive.label())));
    }
    let networks = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let name = networks
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| below("net", name));
    match name {
        Some(name) => {
            Err(BuildError::Drives(format!("the network port {name} would go with {}", drive.label())))
        }
        None => Ok(()),
    }
}

/// Which files of the tree have a part on the drive; none where that is not known.
fn placement(site: &Site<'_>, act: &Pull, built: &Built) -> Option<Vec<bool>> {
    const AT_ONCE: usize = 64;
    built.build.members_of(0, 1)?;
    let paths: Vec<String> =
        (0..act.tree.files()).map(|number| path(site.dir, number).to_string_lossy().into_owned()).collect();
    let mut on = Vec::new();
    for some in paths.chunks(AT_ONCE) {
        let said = site.runner.ask(&filefrag::parts(some)).ok().filter(|said| said.code == Some(0))?;
        let found = filefrag::read(&said.stdout);
        let is_on = |(from, length): &(u64, u64)| {
            built.build.members_of(*from, *length).is_some_and(|on| on.contains(&(act.member as usize)))
        };
        on.extend(found.iter().map(|(_, parts)| parts.iter().any(is_on)));
    }
    (on.len() == paths.len()).then_some(on)
}

/// What decides how long I/O waits for a drive.
fn settings(drive: &Drive, built: &Built, root: &Sysroot) -> Vec<(String, String)> {
    let device = format!("/sys/block/{}/device", drive.name);
    let word = |name: &str, file: String| Some((name.to_owned(), root.word(&file)?));
    let driver = Path::new("/sys/block").join(&drive.name).canonicalize().ok().and_then(|path| {
        let bound = path.ancestors().filter_map(|dir| fs::read_link(dir.join("driver")).ok());
        let mut names = bound.filter_map(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
        names.find(|name| matches!(name.as_str(), "uas" | "usb-storage" | "ahci" | "nvme"))
    });
    let mut all: Vec<(String, String)> = [
        driver.map(|driver| ("driver".to_owned(), driver)),
        word("SCSI timeout", format!("{device}/timeout")).map(|(name, value)| (name, format!("{value} s"))),
        word("kernel", "/proc/sys/kernel/osrelease".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    if built.build.layout.is_redundant() {
        let bitmap = if built.build.bitmap { "internal" } else { "none" };
        all.push(("bitmap".to_owned(), bitmap.to_owned()));
    }
    all
}

/// Does what may hang on a thread of its own; none if it takes too long.
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = mpsc::channel();
    thread::Builder::new().spawn(move || done.send(work())).ok()?;
    result.recv_timeout(limit).ok()
}

/// What still works: `ls`, `touch`, a write, `fsync`.
fn probes(dir: &Path, cold: bool) -> Vec<Probe> {
    let touched = dir.join(if cold { "touched-cold" } else { "touched" });
    let try_one = |what: &str, work: Box<dyn FnOnce() -> io::Result<()> + Send>| {
        let since = Instant::now();
        let error = match within(HANG, work) {
            Some(Ok(())) => None,
            Some(Err(e)) => Some(e.to_string()),
            None => Some(format!("hangs for more than {}", duration(HANG.as_secs_f64()))),
        };
        Probe { what: what.to_owned(), cold, error, seconds: since.elapsed().as_secs_f64() }
    };
    let list = {
        let dir = dir.to_owned();
        move || fs::read_dir(dir).and_then(|entries| entries.map(|entry| entry.map(drop)).collect())
    };
    let opened = |path: &PathBuf| OpenOptions::new().append(true).open(path);
    let mut all = vec![try_one("ls", Box::new(list))];
    let path = touched.clone();
    all.push(try_one(
        "touch",
        Box::new(move || OpenOptions::new().write(true).create(true).truncate(false).open(path).map(drop)),
    ));
    let path = touched.clone();
    all.push(try_one("write", Box::new(move || opened(&path)?.write_all(&[7; 4096]))));
    all.push(try_one("fsync", Box::new(move || opened(&touched)?.sync_all())));
    all
}

/// Reads the tree and the places of the ledger past the page cache.
fn look(dir: &Path, away: &Away) -> (FilesFound, LedgerFound) {
    let files = tree_found(dir, &away.act.tree, away.on_drive.clone());
    let (dir, ledger) = (dir.to_owned(), Arc::clone(&away.ledger));
    let found = within(HANG * 4, move || {
        let mut buffer = Aligned::new(READ);
        let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ledger.compare(|file, offset, length| place(&dir, file, offset, length, &mut buffer))
    });
    let hung = || LedgerFound { examples: vec!["reading hung".to_owned()], ..LedgerFound::default() };
    (files, found.unwrap_or_else(hung))
}

/// The files of the tree; those after one whose reading hangs are not read.
fn tree_found(dir: &Path, tree: &FileTree, on_drive: Option<Vec<bool>>) -> FilesFound {
    let checking = Arc::new(Checking::new());
    let (all, on) = (tree.files(), on_drive.as_ref().map(|on| on.iter().filter(|on| **on).count() as u64));
    let thread = thread::Builder::new().spawn({
        let (checking, dir, tree) = (Arc::clone(&checking), dir.to_owned(), *tree);
        move || check(&dir, &tree, on_drive.as_deref(), &checking)
    });
    if let Ok(thread) = thread {
        let hangs = || checking.since.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > HANG;
        while !thread.is_finished() && !hangs() {
            thread::sleep(POLL);
        }
    }
    let found = checking.found();
    FilesFound { on_drive: on, unread: all.saturating_sub(found.all()), ..found }
}

/// Empties the page cache, so that what is read next comes from drives. What can't be written to them is lost by now.
fn cool(dir: &Path) {
    let dir = dir.to_owned();
    let _ = within(HANG, move || {
        let _ = File::open(&dir).and_then(|dir| Ok(rustix::fs::syncfs(dir)?));
        fs::write("/proc/sys/vm/drop_caches", "3")
    });
}
