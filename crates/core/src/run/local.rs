//! The real machine: opens the targets' files once, makes and removes scratch files.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::{Duration, Instant, SystemTime},
};

use rustix::fs::{Advice, OFlags, fadvise};

use super::{
    RunError, SILENT, World,
    journal::{Journal, REMOVAL_LIMIT, within},
    pool::{build_for_run, rebuild_for_run, remove_for_run},
    scratch::{Scratch, reserve},
    scratch_dir::Folder,
};
use crate::{
    engine::{self, Cancel, Clock, Engine, EngineError, FileTarget},
    inventory::Inventory,
    plan::{BuildPool, Files, RebuildPool},
    record::ActResult,
    sysroot::Sysroot,
    target::{Kind, NotFound, Target},
    tools::{Runner, System, dmesg, filefrag},
    units::{Load, Parity},
};

#[derive(Debug)]
struct Open {
    target: FileTarget,
    /// The scratch file, if the run created it.
    scratch: Option<Scratch>,
}

/// How often a wait checks for cancellation.
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Local<'a> {
    sysroot: &'a Sysroot,
    tools: System,
    began: Instant,
    journal: Journal,
    open: Vec<Option<Open>>,
    folders: Vec<Option<Folder>>,
    /// The names of the pools that were built, by target.
    pools: Vec<Option<String>>,
    store: PathBuf,
    /// The drives that may be erased: their serials.
    erase: Vec<String>,
}

impl<'a> Local<'a> {
    /// Nothing is open yet. The journal of `run`, in the store, lists what a crash would leave.
    pub fn new(sysroot: &'a Sysroot, targets: &[Target], store: &Path, run: &str) -> Self {
        Self {
            sysroot,
            tools: System::default(),
            began: Instant::now(),
            journal: Journal::open(store, run),
            open: targets.iter().map(|_| None).collect(),
            folders: targets.iter().map(|_| None).collect(),
            pools: targets.iter().map(|_| None).collect(),
            store: store.to_owned(),
            erase: Vec::new(),
        }
    }

    /// With the consent to erase drives, by their serials.
    #[must_use]
    pub fn erasing(self, erase: Vec<String>) -> Self {
        Self { erase, ..self }
    }
}

impl World for Local<'_> {
    fn inventory(&self) -> Inventory {
        Inventory::read(self.sysroot)
    }

    fn find(&self, was: &Target, inventory: &Inventory, degraded: bool) -> Result<Target, NotFound> {
        if degraded { was.find_degraded(inventory) } else { was.find_again(inventory) }
    }

    fn sysroot(&self) -> &Sysroot {
        self.sysroot
    }

    fn system(&self) -> Option<&System> {
        Some(&self.tools)
    }

    fn runner(&self) -> &dyn Runner {
        &self.tools
    }

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn erasable(&self) -> &[String] {
        &self.erase
    }

    fn date(&self) -> String {
        now()
    }

    fn clock(&self) -> Clock {
        Clock::Real(self.began)
    }

    fn wait(&self, seconds: f64, cancel: &Cancel) {
        let until = self.seconds() + seconds;
        while !cancel.is_set() {
            let left = until - self.seconds();
            if left <= 0.0 {
                return;
            }
            std::thread::sleep(POLL.min(Duration::from_secs_f64(left)));
        }
    }

    fn make_scratch(
        &mut self,
        at: usize,
        target: &Target,
        bytes: u64,
        cancel: &Cancel,
    ) -> Result<(), RunError> {
        self.close(at)?;
        let cannot = |source| RunError::Scratch { dir: target.path.clone(), bytes, source };
        let (on, journal) = (target.clone(), self.journal.clone());
        let create = move || stays(&on).and_then(|()| Scratch::create(&on.path, &journal, at));
        let scratch = in_time(cancel, create, cannot)?;
        let file = Arc::new(scratch.file.try_clone().map_err(cannot)?);
        let name = target.path.display().to_string();
        // Closed by `close` also after an error: its removal may hang, too.
        self.open[at] =
            Some(Open { target: FileTarget::new(Arc::clone(&file), name), scratch: Some(scratch) });
        in_time(cancel, move || reserve(&file, bytes), cannot)
    }

    fn open(&mut self, at: usize, target: &Target, cancel: &Cancel) -> Result<u64, RunError> {
        let cannot = |source| RunError::Open { path: target.path.clone(), source };
        let on = target.clone();
        let (file, length) = in_time(cancel, move || stays(&on).and_then(|()| open_existing(&on)), cannot)?;
        let name = target.path.display().to_string();
        self.open[at] = Some(Open { target: FileTarget::new(Arc::new(file), name), scratch: None });
        Ok(length)
    }

    fn file_start(&self, at: usize) -> Option<u64> {
        let open = self.open[at].as_ref()?;
        // A scratch file may have no name.
        let path = open.target.path_for_programs.to_string_lossy().into_owned();
        let said = self.runner().ask(&filefrag::parts(&[path])).ok().filter(|said| said.code == Some(0))?;
        let (_, parts) = filefrag::read(&said.stdout).into_iter().next()?;
        parts.first().map(|(from, _)| *from)
    }

    // Syncing a slow drive takes long, so cancellation does not wait for it.
    fn cool(&self, at: usize, cancel: &Cancel) -> io::Result<()> {
        let Some(open) = self.open[at].as_ref().filter(|_| !cancel.is_set()) else { return Ok(()) };
        let file = Arc::clone(&open.target.file);
        let until = cancel.clone();
        let sync = move || engine::sync(&file, || until.is_over());
        let Some(synced) = unless_cancelled(cancel, sync)? else { return Ok(()) };
        // Errors count for scratch files only: syncing a user's file is optional and may be refused.
        if open.scratch.is_some() {
            synced?;
        }
        fadvise(&open.target.file, 0, None, Advice::DontNeed)?;
        Ok(())
    }

    fn engine(
        &self,
        choice: Option<&str>,
        load: &Load,
        on: &[usize],
    ) -> Result<Box<dyn Engine>, EngineError> {
        let open = on.iter().filter_map(|&at| self.open[at].as_ref());
        engine::open(choice, load, open.map(|open| open.target.clone()).collect())
    }

    fn files(
        &mut self,
        at: usize,
        target: &Target,
        files: &Files,
        cancel: &Cancel,
    ) -> Result<(ActResult, Option<String>), RunError> {
        let folder = match self.folders[at].take() {
            Some(folder) => folder,
            None => {
                let (on, journal) = (target.clone(), self.journal.clone());
                let create = move || stays(&on).and_then(|()| Folder::create(&on.path, &journal, at));
                in_time(cancel, create, |source| RunError::Folder { dir: target.path.clone(), source })?
            }
        };
        Ok(self.folders[at].insert(folder).work(files, cancel))
    }

    fn parity(&mut self) -> Parity {
        // If the module is built in or can't be loaded, the kernel's earlier messages count.
        let _loaded = self.tools.ask(&dmesg::load_parity());
        let said = self.tools.ask(&dmesg::messages());
        said.map(|output| dmesg::parity(&output.stdout)).unwrap_or_default()
    }

    fn build_pool(
        &mut self,
        at: usize,
        target: &Target,
        build: &BuildPool,
        cancel: &Cancel,
    ) -> Result<(Target, ActResult), RunError> {
        let own = &mut self.pools[at];
        // Not earlier: a pool of that name may belong to another run.
        let begun = || *own = Some(build.name.clone());
        Ok(build_for_run(build, &target.path, &self.erase, &self.store, begun, cancel)?)
    }

    fn rebuild_pool(&mut self, at: usize, act: &RebuildPool, cancel: &Cancel) -> Result<ActResult, RunError> {
        let name = self.pools[at].as_deref().unwrap_or_default();
        Ok(rebuild_for_run(name, act.member as usize, &self.erase, &self.store, cancel)?)
    }

    fn remove_pool(&mut self, at: usize) -> Result<ActResult, RunError> {
        let Some(name) = &self.pools[at] else { return Ok(ActResult::default()) };
        let removed = remove_for_run(name, &self.erase, &self.store)?;
        // On failure the pool stays listed, so its removal is tried again.
        self.pools[at] = None;
        Ok(removed)
    }

    fn close(&mut self, at: usize) -> Result<(), RunError> {
        if let Some(mut folder) = self.folders[at].take() {
            let path = folder.path();
            let left = |source| RunError::Leftover { path, command: "rm -r", source };
            within(REMOVAL_LIMIT, move || folder.remove()).map_err(left)?;
        }
        let Some(mut scratch) = self.open[at].take().and_then(|o| o.scratch) else { return Ok(()) };
        let path = scratch.path().is_some().then(|| scratch.place());
        let removed = within(REMOVAL_LIMIT, move || scratch.remove());
        // A file without a name is gone with its process, however long the drive takes.
        let Some(path) = path else { return Ok(()) };
        removed.map_err(|source| RunError::Leftover { path, command: "rm", source })
    }
}

/// Runs a call that may hang in the kernel on its own thread, and waits for it until `cancel` is set.
pub(super) fn unless_cancelled<T: Send + 'static>(
    cancel: &Cancel,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (done, result) = mpsc::channel();
    std::thread::Builder::new().spawn(move || done.send(work()))?;
    loop {
        match result.recv_timeout(POLL) {
            Ok(result) => return Ok(Some(result)),
            Err(_) if cancel.is_set() => return Ok(None),
            Err(_) => {}
        }
    }
}

/// Like `unless_cancelled`, but a drive that does not respond in time is an error.
pub fn in_time<T: Send + 'static>(
    cancel: &Cancel,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
    cannot: impl FnOnce(io::Error) -> RunError,
) -> Result<T, RunError> {
    let since = Instant::now();
    let done = match unless_cancelled(cancel, work) {
        Ok(Some(done)) => done,
        // An interrupted run needs no reason.
        Ok(None) if cancel.is_asked() => return Err(RunError::Interrupted),
        Ok(None) => Err(too_late(since.elapsed().as_secs_f64()).ok_or(RunError::TimeUp)?),
        Err(e) => Err(e),
    };
    done.map_err(cannot)
}

/// The error of a drive that did not respond for this time, s; `None` if the time is too short to say so.
fn too_late(seconds: f64) -> Option<io::Error> {
    (seconds >= SILENT).then(|| io::Error::other("the drive did not respond in time"))
}

/// Refuses a path that is on another filesystem than when the target was found: it was unmounted or mounted over since.
/// A block device may be moved during a run.
pub fn stays(target: &Target) -> io::Result<()> {
    let other = || {
        io::Error::other(
            "it is on another filesystem now than at the start of the run: it was unmounted, or something was mounted over it",
        )
    };
    let now = || target.path.metadata().ok().map(|about| about.dev());
    (target.kind == Kind::BlockDevice || target.device == now()).then_some(()).ok_or_else(other)
}

/// The time now, as RFC 3339 in UTC.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Opens an existing file or block device for reading; returns it and its length, bytes.
fn open_existing(target: &Target) -> io::Result<(File, u64)> {
    // Opening must not wait for the writer of a FIFO, nor make a terminal the controlling one.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(&target.path)?;
    let length = match target.kind {
        Kind::BlockDevice => file.seek(SeekFrom::End(0))?,
        Kind::File | Kind::Directory => file.metadata()?.len(),
    };
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_blamed_only_after_it_was_given_time() {
        assert!(too_late(0.99).is_none());
        assert!(too_late(1.0).is_some());
    }
}
