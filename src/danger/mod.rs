//! The right to alter what is stored on a drive.

mod refusal;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, major, minor, openat},
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

/// The right to alter what is stored on one drive. While it lives nobody else can mount the drive or build on it.
#[derive(Debug)]
pub struct Claim {
    drive: Drive,
    /// The whole drive, open for writing and for us alone.
    _held: File,
}

impl Right<Content> for Claim {}

impl Claim {
    /// Claims the drive with this identity, as it is now. `erase` holds the serials of drives whose content may be lost,
    /// or identities of drives that have no serial of their own.
    ///
    /// # Errors
    /// Where the drive isn't there, is used, or holds something and is not in `erase`.
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
        // It could have been mounted between the look and the hold; now it no longer can.
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

    /// The claimed drive.
    pub fn drive(&self) -> &Drive {
        &self.drive
    }
}

/// Opens a whole drive for us alone. The kernel refuses where it is mounted, swapped to, or part of something built.
fn hold(path: &Path, device: (u32, u32)) -> Result<File, Why> {
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::BUSY) => return Err(Why::Busy),
        Err(Errno::ACCESS | Errno::PERM) => return Err(Why::NotRoot),
        Err(e) => return Err(Why::System(e.into())),
    };
    let data = file.metadata().map_err(Why::System)?;
    if data.file_type().is_block_device() && (major(data.rdev()), minor(data.rdev())) == device {
        Ok(file)
    } else {
        Err(Why::Replaced)
    }
}

/// Whether nothing is where signatures are.
fn is_blank(drive: &mut File) -> io::Result<bool> {
    let length = drive.seek(SeekFrom::End(0))?;
    let mut part = Vec::new();
    for from in [0, length.saturating_sub(SIGNATURES)] {
        drive.seek(SeekFrom::Start(from))?;
        drive.take(SIGNATURES).read_to_end(&mut part)?;
    }
    Ok(part.iter().all(|byte| *byte == 0))
}
