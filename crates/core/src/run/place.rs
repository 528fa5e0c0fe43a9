//! Which filesystem a file is on, and where that is mounted: a missing file on a missing drive was not removed.

use std::{io, path::Path};

use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

use crate::{
    inventory::{Mount, deepest, live_mounts},
    sysroot::Sysroot,
};

/// Filesystems whose files are gone when they are unmounted.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The mount point.
    mount: String,
    /// The directory of the filesystem that is mounted there.
    root: String,
    filesystem: String,
    /// Its device then. The name may change when the drive is plugged in again.
    source: String,
    /// The UUID of the filesystem, else the kernel's id, else the source.
    id: String,
}

/// The filesystem of a path is not mounted where it was, so the path says nothing about the file.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(super) struct Away {
    why: String,
    /// What the user must do before the file can be removed.
    pub first: String,
}

impl Place {
    /// The place of a path, which need not exist; `None` without procfs.
    pub fn of(path: &Path) -> Option<Self> {
        deepest(&live_mounts(), path).cloned().map(Self::at)
    }

    fn at(mount: Mount) -> Self {
        let (major, minor) = mount.device;
        let udev = Sysroot::live().long_text(&format!("/run/udev/data/b{major}:{minor}")).unwrap_or_default();
        let uuid = udev.lines().find_map(|line| line.strip_prefix("E:ID_FS_UUID=")).map(str::to_owned);
        let kernels =
            || statvfs(&mount.path).ok().filter(|fs| fs.f_fsid != 0).map(|fs| fs.f_fsid.to_string());
        let id = uuid.or_else(kernels).unwrap_or_else(|| mount.source.clone());
        let Mount { path, root, filesystem, source, .. } = mount;
        Self { mount: path, root, filesystem, source, id }
    }

    fn is_same_filesystem(&self, other: &Self) -> bool {
        (&self.filesystem, &self.id) == (&other.filesystem, &other.id)
    }

    /// Checks that this filesystem and the directory of `path` are where they were. The error is `Away`, or `NotFound` if
    /// the filesystem was in memory and is gone.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        let away = |why, first| Err(io::Error::other(Away { why, first }));
        let Self { mount, root, filesystem, source, .. } = self;
        let is_here = |now: &Self| self.is_same_filesystem(now) && (mount, root) == (&now.mount, &now.root);
        let now = Self::of(path);
        if now.as_ref().is_some_and(is_here) {
            let dir = path.parent().unwrap_or(path);
            return match dir.symlink_metadata() {
                Err(e) if e.kind() == io::ErrorKind::NotFound => away(
                    format!("its directory {} doesn't exist", dir.display()),
                    format!("move {} back", dir.display()),
                ),
                other => other.map(drop),
            };
        }
        let same =
            |mount: Mount| mount.filesystem == *filesystem && self.is_same_filesystem(&Self::at(mount));
        if IN_MEMORY.contains(&filesystem.as_str()) && !live_mounts().into_iter().any(same) {
            return Err(io::ErrorKind::NotFound.into());
        }
        away(
            format!(
                "its filesystem, {filesystem} on {source}, is not mounted on {mount}, or is mounted over"
            ),
            format!("mount it on {mount}"),
        )
    }
}
