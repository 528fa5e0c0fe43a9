//! The right to change what is stored on a drive.

mod refusal;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
    process::geteuid,
};

pub use refusal::{Refusal, Why};

use crate::{
    inventory::{Block, Drive, Inventory},
    sysroot::Sysroot,
    tools::{Content, Right},
};

/// Signatures of filesystems, arrays and partition tables are in the first or last MiB of a drive.
const SIGNATURES: u64 = 1 << 20;

/// The right to change what is stored on one drive. While it lives, the drive can't be mounted or used by an array.
#[derive(Debug)]
pub struct Claim {
    drive: Drive,
    /// The whole drive, opened exclusively for writing.
    _held: File,
}

impl Right<Content> for Claim {}

impl Claim {
    /// Claims the drive with this identity, after a fresh check. `erase` holds the serials of drives whose content may be lost,
    /// or identities of drives that have no serial of their own.
    pub fn take(identity: &str, erase: &[String]) -> Result<Self, Refusal> {
        let look = || Inventory::read(&Sysroot::live());
        let inventory = look();
        let drive = refusal::find(&inventory, identity)?.clone();
        let path = Block::Drive(&drive).path();
        let refused = |why| Refusal::new(&drive, why);
        refusal::check(&inventory, &drive, erase).map_err(refused)?;
        if !geteuid().is_root() {
            return Err(refused(Why::NotRoot));
        }
        let mut held = hold(Path::new(&path), drive.device).map_err(refused)?;
        // It could have been mounted between the check and the exclusive open. After the open it can't.
        let now = look();
        let same = refusal::find(&now, identity)?;
        refusal::check(&now, same, erase).map_err(refused)?;
        if let Some(user) = refusal::user(&Sysroot::live(), &drive) {
            return Err(refused(Why::Opened(user)));
        }
        if !refusal::consents(&drive, erase) && !is_blank(&mut held).map_err(|e| refused(Why::System(e)))? {
            return Err(refused(Why::Unknown(refusal::consent(&drive))));
        }
        Ok(Self { drive, _held: held })
    }

    pub fn drive(&self) -> &Drive {
        &self.drive
    }
}

/// Opens a whole drive exclusively. The kernel refuses if it is mounted, used as swap, or part of an array or mapping.
fn hold(path: &Path, device: (u32, u32)) -> Result<File, Why> {
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::BUSY) => return Err(Why::Busy),
        Err(Errno::ACCESS | Errno::PERM) => return Err(Why::NotRoot),
        Err(e) => return Err(Why::System(e.into())),
    };
    let same = refusal::device(&file.metadata().map_err(Why::System)?) == Some(device);
    if same { Ok(file) } else { Err(Why::Replaced) }
}

/// Whether all places that can hold signatures are zero.
fn is_blank(drive: &mut File) -> io::Result<bool> {
    let length = drive.seek(SeekFrom::End(0))?;
    let mut part = Vec::new();
    for from in [0, length.saturating_sub(SIGNATURES)] {
        drive.seek(SeekFrom::Start(from))?;
        drive.take(SIGNATURES).read_to_end(&mut part)?;
    }
    Ok(part.iter().all(|byte| *byte == 0))
}
