//! The right to change several drives and what is built on them alone.

use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{
    Claim, Locked, Refusal, Why,
    refusal::{device, holds, holds_no_more},
};
use crate::{
    inventory::Drive,
    tools::{Content, Right, Runner, ToolError, udevadm},
};

/// Claims of several drives. They cover the drives, their partitions, and layers that have no member elsewhere.
#[derive(Debug)]
pub struct Claims(pub Vec<Claim>);

impl Claims {
    /// Locks drives, so that udev doesn't use what is found on them while they are changed.
    pub fn lock(drives: &[&Drive]) -> Result<Vec<Locked>, Refusal> {
        drives.iter().map(|drive| Locked::new(&drive.identity())).collect()
    }

    /// Locks and claims these drives, or none; see [`Claim::take`]. Refuses a drive whose content has changed since it was shown.
    pub fn of(shown: &[&Drive], erase: &[String]) -> Result<Self, Refusal> {
        let claims = Self::take(Self::lock(shown)?, erase)?;
        claims.0.iter().zip(shown).try_for_each(|(claim, shown)| check_unchanged(shown, claim.drive()))?;
        Ok(claims)
    }

    /// Claims all of these drives, or none; see [`Claim::take`].
    pub fn take(locked: Vec<Locked>, erase: &[String]) -> Result<Self, Refusal> {
        locked.into_iter().map(|drive| drive.claim(erase)).collect::<Result<_, _>>().map(Self)
    }

    /// The claimed drives below a block device, given by its directory in sysfs. The error says which drive isn't claimed.
    fn below(&self, dir: &Path, depth: u32) -> Result<Vec<&Claim>, String> {
        let name = || dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let slaves: Vec<PathBuf> = fs::read_dir(dir.join("slaves"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        if slaves.is_empty() {
            let whole = if dir.join("partition").exists() { dir.parent().unwrap_or(dir) } else { dir };
            let number = fs::read_to_string(whole.join("dev")).unwrap_or_default();
            let is = |claim: &&Claim| {
                let (major, minor) = claim.drive().device;
                number.trim() == format!("{major}:{minor}")
            };
            let claim = self.0.iter().find(is);
            return claim.map(|claim| vec![claim]).ok_or_else(|| format!("{} is not claimed", name()));
        }
        // Layers don't form circles, but what is read here need not be a layer.
        if depth == 0 {
            return Err(format!("{} stands on too many layers", name()));
        }
        let mut below = Vec::new();
        for slave in slaves {
            let slave = slave.canonicalize().map_err(|e| format!("{}: {e}", slave.display()))?;
            below.extend(self.below(&slave, depth - 1)?);
        }
        Ok(below)
    }
}

/// Refuses a drive whose content has changed since it was shown.
pub(super) fn check_unchanged(shown: &Drive, now: &Drive) -> Result<(), Refusal> {
    match holds_no_more(shown, now) {
        true => Ok(()),
        false => Err(Refusal::new(now, Why::Changed(holds(now).join(", ")))),
    }
}

/// The right to change drives, which can let udev look at them in between.
pub trait Claimed: Right<Content> {
    /// Unlocks the drives until udev has handled their events. Events of a locked drive wait: udev would learn later that
    /// partitions are gone, and remove new ones with the same names from their array.
    fn settle(&self, runner: &dyn Runner) -> Result<(), String>;
}

impl Claimed for Claims {
    fn settle(&self, runner: &dyn Runner) -> Result<(), String> {
        self.0.iter().try_for_each(Claim::unlock)?;
        let settled = match runner.ask(&udevadm::settle()) {
            // Without udev, nothing waits.
            Err(ToolError::Missing(_)) => Ok(()),
            Ok(output) if output.code != Some(0) => Err(format!("udev is busy: {}", output.complaint())),
            other => other.map(drop).map_err(|e| e.to_string()),
        };
        self.0.iter().try_for_each(Claim::lock)?;
        settled
    }
}

impl Right<Content> for Claims {
    fn covers(&self, path: &str) -> Result<(), String> {
        let read = |e: std::io::Error| format!("{path}: {e}");
        // Arrays and mappings are named by links.
        let path = Path::new(path).canonicalize().map_err(read)?;
        let data = path.metadata().map_err(read)?;
        let (major, minor) =
            device(&data).ok_or_else(|| format!("{} is not a block device", path.display()))?;
        let dir =
            Path::new("/sys/dev/block").join(format!("{major}:{minor}")).canonicalize().map_err(read)?;
        for claim in self.below(&dir, 8)? {
            claim.check_sequence().map_err(|why| why.to_string())?;
        }
        // With EXCL, the kernel refuses a device that is mounted or part of something else by now.
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::File::from(openat(CWD, &path, flags, Mode::empty()).map_err(|e| read(e.into()))?);
        let same = file.metadata().map_err(read)?;
        let same = same.file_type().is_block_device() && device(&same) == Some((major, minor));
        same.then_some(()).ok_or_else(|| format!("{} was replaced", path.display()))
    }
}
