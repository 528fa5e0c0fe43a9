//! The right to change what is stored on a drive.

mod claims;
mod refusal;
#[cfg(test)]
mod tests;

use std::{fs::File, io, path::Path, thread, time::Duration};

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
    process::geteuid,
};

pub use claims::{Claimed, Claims};
pub(crate) use refusal::check;
pub use refusal::{Refusal, Why, consent, erase_option, holds};

use crate::{
    inventory::{Block, Drive, Inventory},
    sysroot::Sysroot,
};

const PROC: &str = "/proc";
/// Attempts before a drive counts as in use, and the time between them.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// The right to change what is stored on one drive. While it lives, udev and other claims leave the drive alone. The drive is
/// not held open exclusively, because the programs that change it open it so.
#[derive(Debug)]
pub struct Claim {
    drive: Drive,
    sequence: Option<String>,
    /// The whole drive, locked.
    locked: File,
}

impl Claim {
    /// Claims the drive with this identity, after a fresh check. `erase` holds the serials of drives whose content may be lost,
    /// or identities of drives that have no serial of their own.
    pub fn take(identity: &str, erase: &[String]) -> Result<Self, Refusal> {
        Locked::new(identity)?.claim(erase)
    }

    fn after(
        Locked { identity, file: locked }: Locked,
        erase: &[String],
        mut look: impl FnMut() -> Inventory,
        proc: &Path,
    ) -> Result<Self, Refusal> {
        let identity = &identity;
        let inventory = look();
        let drive = refusal::find(&inventory, identity)?.clone();
        let sequence = sequence(&drive);
        let refused = |why| Refusal::new(&drive, why);
        refusal::check(&inventory, &drive, erase).map_err(refused)?;
        if !geteuid().is_root() {
            return Err(refused(Why::NotRoot));
        }
        // An array that was stopped, or a program that looked at it, may hold it for a moment.
        let exclusive = patiently(|| open(&drive, OFlags::RDWR | OFlags::EXCL)).map_err(refused)?;
        if !is_drive(&locked, &drive) {
            return Err(refused(Why::Replaced));
        }
        // It could have been mounted or replaced between the check and the exclusive open. After the open it can't.
        let now = look();
        let same = refusal::find(&now, identity)?;
        refusal::check(&now, same, erase).map_err(refused)?;
        let is_same = (same.device, &same.name) == (drive.device, &drive.name);
        if !is_same || self::sequence(same) != sequence {
            return Err(refused(Why::Replaced));
        }
        patiently(|| unopened(proc, &now, same)).map_err(refused)?;
        drop(exclusive);
        Ok(Self { drive: same.clone(), sequence, locked })
    }

    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    /// Opens the drive to read and write its blocks past the page cache. As long as the file is open, nothing on the drive can be mounted.
    pub fn open_direct(&self) -> Result<File, Refusal> {
        open(&self.drive, OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT)
            .and_then(|file| self.check_sequence().map(|()| file))
            .map_err(|why| Refusal::new(&self.drive, why))
    }

    /// Whether the drive is still plugged in. I/O errors of an unplugged drive look like those of a bad one.
    pub fn is_plugged_in(&self) -> bool {
        let (major, minor) = self.drive.device;
        Path::new(&format!("/sys/dev/block/{major}:{minor}")).exists() && self.check_sequence().is_ok()
    }

    /// Refuses another drive that has taken the device number.
    fn check_sequence(&self) -> Result<(), Why> {
        if sequence(&self.drive) == self.sequence { Ok(()) } else { Err(Why::Replaced) }
    }

    fn unlock(&self) -> Result<(), String> {
        flock(&self.locked, FlockOperation::Unlock)
            .map_err(|e| Refusal::new(&self.drive, Why::System(e.into())).to_string())
    }

    /// Locks the drive again. [`Claims`] check before each change that it is the same drive and not in use.
    fn lock(&self) -> Result<(), String> {
        lock(&self.locked).map_err(|why| Refusal::new(&self.drive, why).to_string())
    }
}

/// A drive that udev and claims of others leave alone. Whether it may be changed is not known yet.
#[derive(Debug)]
pub struct Locked {
    identity: String,
    /// The whole drive.
    file: File,
}

impl Locked {
    pub fn new(identity: &str) -> Result<Self, Refusal> {
        let inventory = Inventory::read(&Sysroot::live());
        let drive = refusal::find(&inventory, identity)?;
        let file = open(drive, OFlags::RDONLY).map_err(|why| Refusal::new(drive, why))?;
        lock(&file).map_err(|why| Refusal::new(drive, why))?;
        Ok(Self { identity: identity.to_owned(), file })
    }

    /// See [`Claim::take`].
    pub fn claim(self, erase: &[String]) -> Result<Claim, Refusal> {
        Claim::after(self, erase, || Inventory::read(&Sysroot::live()), Path::new(PROC))
    }
}

/// Refuses a drive that can't be erased even with consent, as far as that is known without opening it.
pub fn erasable(inventory: &Inventory, drive: &Drive) -> Result<(), Refusal> {
    let refused = |why| Refusal::new(drive, why);
    let checked = refusal::check(inventory, drive, &[consent(drive)]);
    match checked.and_then(|()| opened_by(inventory, drive).map_or(Ok(()), Err)) {
        // Without root, not all users of the drive are seen.
        Err(Why::Unseen(_)) if !geteuid().is_root() => Ok(()),
        checked => checked.map_err(refused),
    }
}

fn is_drive(file: &File, drive: &Drive) -> bool {
    file.metadata().is_ok_and(|data| refusal::device(&data) == Some(drive.device))
}

/// The process or device that has a drive or a part of it open; `None` if there is none. Needs root.
pub fn opened_by(inventory: &Inventory, drive: &Drive) -> Option<Why> {
    patiently(|| unopened(Path::new(PROC), inventory, drive)).err()
}

fn unopened(proc: &Path, inventory: &Inventory, drive: &Drive) -> Result<(), Why> {
    refusal::user(&Sysroot::live(), proc, inventory, drive)?.map_or(Ok(()), |user| Err(Why::Opened(user)))
}

/// Refuses a block device that is mounted, used as swap, part of an array or mapping, or used otherwise, such as by ZFS.
pub fn check_unused(node: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(CWD, node, flags, Mode::empty()).map(drop)?)
}

/// Opens a whole drive. With `EXCL` the kernel refuses if it is mounted, used as swap, or part of an array or mapping.
fn open(drive: &Drive, how: OFlags) -> Result<File, Why> {
    let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = Block::Drive(drive).path();
    let file = match openat(CWD, Path::new(&path), flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::BUSY) => return Err(Why::Busy),
        Err(Errno::ACCESS | Errno::PERM) => return Err(Why::NotRoot),
        Err(e) => return Err(Why::System(e.into())),
    };
    if is_drive(&file, drive) { Ok(file) } else { Err(Why::Replaced) }
}

/// Locks a drive. As long as it is locked, udev does not read what is on it, so nothing on it is mounted automatically.
fn lock(file: &File) -> Result<(), Why> {
    patiently(|| match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Why::Busy),
        locked => locked.map_err(|e| Why::System(e.into())),
    })
}

/// Tries again for a while, because udev opens a drive for a moment after it appeared or was written.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Why>) -> Result<T, Why> {
    for _ in 1..TRIES {
        match attempt() {
            Err(why) if why.may_pass() => thread::sleep(PAUSE),
            result => return result,
        }
    }
    attempt()
}

/// The kernel's sequence number of the drive (`diskseq`, Linux 5.15): another drive with the same device number has another.
fn sequence(drive: &Drive) -> Option<String> {
    let (major, minor) = drive.device;
    Sysroot::live().word(&format!("/sys/dev/block/{major}:{minor}/diskseq"))
}
