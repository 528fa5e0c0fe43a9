//! How each kind of change is undone after a kill. A kind that only one experiment has is implemented in that experiment's folder.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use super::{
    super::{held, scratch, scratch_dir},
    FileId, Left, REMOVAL_LIMIT,
};
use crate::{record::lock, tagged::Kind};

/// The undo of a change that the journal announces. Anybody who can write to the store can edit a journal, so each kind
/// touches only what has the name of the run, or what the kernel reports as drivebench's.
pub trait Undo: Kind {
    /// The path that the entry names, also in messages.
    fn path(&self) -> PathBuf;

    /// The change is of a file, on a filesystem that may be unmounted now.
    fn is_file(&self) -> bool {
        false
    }

    /// The change is in the kernel, so that a reboot undoes it.
    fn is_in_kernel(&self) -> bool {
        false
    }

    /// It changes what only root may change. Only a journal that root alone can write is trusted.
    fn needs_root(&self) -> bool {
        self.is_in_kernel()
    }

    /// The device whose state the entry is the right to change.
    fn device(&self) -> Option<&Path> {
        None
    }

    /// How long undoing may take before the drive counts as failed.
    fn patience(&self) -> Duration {
        REMOVAL_LIMIT
    }

    /// Undoes it, and returns whether anything was there.
    fn undo(&self, left: &Left) -> io::Result<bool>;

    /// The report on what was undone; `ended` says how its run ended.
    fn report(&self, ended: &str) -> String {
        format!("Removed {}, left by {ended}.", self.path().display())
    }

    /// The command that removes its path by hand; none if it is not known what is there.
    fn by_hand(&self) -> Option<&'static str> {
        None
    }
}

crate::family!(Undo);

/// A file that the run made.
#[derive(Debug, Serialize, Deserialize)]
pub struct OwnFile {
    pub path: PathBuf,
}

/// A directory that the run made, with its numbered files.
#[derive(Debug, Serialize, Deserialize)]
pub struct OwnDirectory {
    pub path: PathBuf,
}

/// A drive was sent to standby. The next access wakes it, so there is nothing to do.
#[derive(Debug, Serialize, Deserialize)]
pub struct DriveInStandby {
    pub device: PathBuf,
}

crate::kind!("file", OwnFile as Undo);

impl Undo for OwnFile {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn is_file(&self) -> bool {
        true
    }

    fn undo(&self, left: &Left) -> io::Result<bool> {
        if !scratch::is_name(&left.run, &self.path, scratch::FILE) {
            return Ok(false);
        }
        left.check_place()?;
        remove_file(&self.path, left.made).map(|()| true)
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some("rm")
    }
}

crate::kind!("directory", OwnDirectory as Undo);

impl Undo for OwnDirectory {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn is_file(&self) -> bool {
        true
    }

    fn undo(&self, left: &Left) -> io::Result<bool> {
        if !scratch::is_name(&left.run, &self.path, scratch::DIRECTORY) {
            return Ok(false);
        }
        left.check_place()?;
        match left.made {
            None => fs::remove_dir(&self.path)?,
            made => {
                let dir = scratch_dir::open(CWD, &self.path)?;
                check(made, &dir)?;
                scratch_dir::remove(&dir, &self.path, left.files)?;
            }
        }
        Ok(true)
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some("rm -r")
    }
}

crate::kind!("standby", DriveInStandby as Undo);

impl Undo for DriveInStandby {
    fn path(&self) -> PathBuf {
        self.device.clone()
    }

    fn device(&self) -> Option<&Path> {
        Some(&self.device)
    }

    fn undo(&self, _: &Left) -> io::Result<bool> {
        Ok(false)
    }
}

fn remove_file(path: &Path, made: Option<FileId>) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file: check it first"));
    }
    let dir = held::above(path)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&dir, path.file_name().unwrap_or_default(), flags, Mode::empty())?);
    lock(&file)?;
    check(made, &file)?;
    held::remove_file(&file, &dir, path)
}

/// Refuses a file other than the one that the run created. If the run ended before it recorded that, it must be empty.
fn check(made: Option<FileId>, file: &File) -> io::Result<()> {
    let ours = match made {
        Some(made) => {
            let now = FileId::of(file)?;
            now.uid == made.uid && (made.inode.is_none() || now.inode == made.inode)
        }
        None => file.metadata()?.len() == 0,
    };
    let other = || io::Error::other("it is not the file that the run created: check it first");
    ours.then_some(()).ok_or_else(other)
}
