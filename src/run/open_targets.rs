//! The targets' files: opened once, scratch files made and removed.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::Duration,
};

use rustix::fs::{Advice, OFlags, fadvise};

use super::{RunError, scratch::Scratch, scratch_dir::Folder};
use crate::{
    conditions::BytesMoved,
    engine::{Cancel, FileTarget},
    target::{Kind, Target},
    units::Outcome,
};

/// The open file of a target.
#[derive(Debug)]
struct Open {
    file: Arc<File>,
    /// Present where the file is ours.
    scratch: Option<Scratch>,
    /// Bytes from the start that can be read back: all of an existing file, what was written of a scratch file.
    readable: u64,
    /// The last load fell off a cliff.
    fell: bool,
}

/// How long removing a file may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a wait looks whether someone asked to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The files of a plan's targets, in their order.
#[derive(Debug)]
pub struct Files {
    store: PathBuf,
    run: String,
    open: Vec<Option<Open>>,
    folders: Vec<Option<Folder>>,
    moved: Vec<BytesMoved>,
}

impl Files {
    /// Nothing is open yet. `store` and `run` name what must be cleaned up after a crash.
    pub fn new(targets: usize, store: &Path, run: &str) -> Self {
        let open = (0..targets).map(|_| None).collect();
        let folders = (0..targets).map(|_| None).collect();
        let (store, run) = (store.to_owned(), run.to_owned());
        Self { store, run, open, folders, moved: vec![BytesMoved::default(); targets] }
    }

    /// Makes a target's scratch file, removing the one before; gives its name where it has one.
    pub fn make(&mut self, at: usize, target: &Target, bytes: u64) -> Result<Option<PathBuf>, RunError> {
        self.close(at)?;
        let name = format!("{}{at}", self.run);
        let scratch = Scratch::create(&target.path, bytes, &self.store, &name)
            .map_err(|source| RunError::Scratch { dir: target.path.clone(), bytes, source })?;
        let cannot = |source| RunError::Open { path: target.path.clone(), source };
        let file = Arc::new(scratch.file.try_clone().map_err(cannot)?);
        let path = scratch.path().map(Path::to_owned);
        self.open[at] = Some(Open { file, scratch: Some(scratch), readable: 0, fell: false });
        Ok(path)
    }

    /// The file of a target for an engine, and how many bytes of it can be read back. Opens what exists already.
    pub fn open(&mut self, at: usize, target: &Target) -> Result<(FileTarget, u64), RunError> {
        let cannot = |source| RunError::Open { path: target.path.clone(), source };
        if self.open[at].is_none() {
            let (file, readable) = open_existing(target).map_err(cannot)?;
            self.open[at] = Some(Open { file: Arc::new(file), scratch: None, readable, fell: false });
        }
        match &self.open[at] {
            Some(open) => {
                let name = target.path.display().to_string();
                Ok((FileTarget::new(Arc::clone(&open.file), name), open.readable))
            }
            None => Err(cannot(io::Error::from(io::ErrorKind::NotFound))),
        }
    }

    /// Takes account of a load on this target, which filled its file from the start up to `filled` bytes.
    pub fn account(&mut self, at: usize, outcome: &Outcome, filled: u64) {
        self.moved[at].read += outcome.bytes_read;
        self.moved[at].written += outcome.bytes_written;
        if let Some(open) = &mut self.open[at] {
            open.readable = open.readable.max(filled);
        }
    }

    /// Takes account of what something else than a load moved on this target.
    pub fn add(&mut self, at: usize, moved: BytesMoved) {
        self.moved[at].read += moved.read;
        self.moved[at].written += moved.written;
    }

    /// The directory of a target for files of our own, made at its first use.
    pub fn folder(&mut self, at: usize, target: &Target) -> Result<&Folder, RunError> {
        let folder = match self.folders[at].take() {
            Some(folder) => folder,
            None => Folder::create(&target.path, &self.store, &format!("{}{at}", self.run))
                .map_err(|source| RunError::Folder { dir: target.path.clone(), source })?,
        };
        Ok(self.folders[at].insert(folder))
    }

    /// Notes whether the last load on this target fell off a cliff.
    pub fn note_cliff(&mut self, at: usize, fell: bool) {
        if let Some(open) = &mut self.open[at] {
            open.fell = fell;
        }
    }

    /// Whether the last load on this target fell off a cliff.
    pub fn fell(&self, at: usize) -> bool {
        self.open[at].as_ref().is_some_and(|open| open.fell)
    }

    /// What loads moved on each target.
    pub fn moved(&self) -> &[BytesMoved] {
        &self.moved
    }

    /// Brings the file to the drive and drops it from the page cache, so that the next read is cold. A slow drive needs
    /// its time for that: whoever asks to stop doesn't wait for it.
    pub fn cool(&self, at: usize, cancel: &Cancel) -> io::Result<()> {
        let Some(open) = &self.open[at] else { return Ok(()) };
        let file = Arc::clone(&open.file);
        let (done, synced) = mpsc::channel();
        std::thread::spawn(move || done.send(file.sync_all()));
        let synced = loop {
            match synced.recv_timeout(LOOK) {
                Ok(synced) => break synced,
                Err(_) if cancel.is_set() => return Ok(()),
                Err(_) => {}
            }
        };
        // Somebody's own file may have changes under way, too; syncing those is a favour and may be refused.
        if open.scratch.is_some() {
            synced?;
        }
        fadvise(&open.file, 0, None, Advice::DontNeed)?;
        Ok(())
    }

    /// Closes a target's file and removes what is ours.
    pub fn close(&mut self, at: usize) -> Result<(), RunError> {
        if let Some(folder) = self.folders[at].take() {
            let path = folder.path().to_owned();
            patiently(path, move || folder.remove())?;
        }
        let Some(scratch) = self.open[at].take().and_then(|o| o.scratch) else { return Ok(()) };
        let path = scratch.path().map(Path::to_owned).unwrap_or_default();
        patiently(path, move || scratch.remove())
    }
}

/// Removes what is at `path`, but not for ever: the kernel removes nothing while an operation on it hangs, and nobody
/// should wait for a dead drive.
fn patiently(
    path: PathBuf,
    remove: impl FnOnce() -> Result<(), (PathBuf, io::Error)> + Send + 'static,
) -> Result<(), RunError> {
    let (done, removed) = mpsc::channel();
    std::thread::spawn(move || done.send(remove()));
    match removed.recv_timeout(PATIENCE) {
        Ok(removed) => removed.map_err(|(path, source)| RunError::Leftover { path, source }),
        Err(_) => {
            let source = io::Error::new(io::ErrorKind::TimedOut, "the drive doesn't answer");
            Err(RunError::Leftover { path, source })
        }
    }
}

/// Opens an existing file or block device for reading, and its length.
fn open_existing(target: &Target) -> io::Result<(File, u64)> {
    // Opening must not wait for a fifo's writer nor become the owner of a terminal.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(&target.path)?;
    let length = match target.kind {
        Kind::BlockDevice => file.seek(SeekFrom::End(0))?,
        Kind::File | Kind::Directory => file.metadata()?.len(),
    };
    Ok((file, length))
}

/// The share of a file that is really on the drive; holes read as instant zeros.
pub(super) fn filled_share(path: &Path) -> Option<f64> {
    let meta = path.metadata().ok().filter(|m| m.is_file() && m.len() > 0)?;
    Some(meta.blocks() as f64 * 512.0 / meta.len() as f64)
}
