//! Which filesystem a file is on, and where that is mounted: a missing file on a missing drive was not removed.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    inventory::{Mount, deepest, live_mounts},
    sysroot::Sysroot,
};

/// Filesystems whose files are gone when they are unmounted.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// The filesystem of a file that stays when it is unmounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The mount point.
    mount: String,
    /// The directory of the filesystem that is mounted there.
    root: String,
    filesystem: String,
    /// Its device then. The name may change when the drive is plugged in again.
    source: String,
    /// The UUID of the filesystem, or the source without udev.
    id: String,
}

/// The filesystem of a path is not mounted where it was, so the path says nothing about the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Away(String);

impl Place {
    /// The place of a path, which need not exist; `None` in memory, and without procfs.
    pub fn of(path: &Path) -> Option<Self> {
        let mount = deepest(&live_mounts(), path).cloned()?;
        if IN_MEMORY.contains(&mount.filesystem.as_str()) {
            return None;
        }
        let (major, minor) = mount.device;
        let udev = Sysroot::live().long_text(&format!("/run/udev/data/b{major}:{minor}")).unwrap_or_default();
        let uuid = udev.lines().find_map(|line| line.strip_prefix("E:ID_FS_UUID=")).map(str::to_owned);
        let id = uuid.unwrap_or_else(|| mount.source.clone());
        let Mount { path, root, filesystem, source, .. } = mount;
        Some(Self { mount: path, root, filesystem, source, id })
    }

    /// Checks that this filesystem and the directory of `path` are where they were; the error is `Away`.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        let away = |why: String| Err(io::Error::other(Away(why)));
        // The name of the device may be another one.
        if Self::of(path).is_none_or(|now| Self { source: self.source.clone(), ..now } != *self) {
            let Self { mount, filesystem, source, .. } = self;
            return away(format!(
                "its filesystem, {filesystem} on {source}, is not mounted on {mount}, or is mounted over: mount it there"
            ));
        }
        let dir = path.parent().unwrap_or(path);
        match dir.symlink_metadata() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                away(format!("its directory {} doesn't exist: move it back", dir.display()))
            }
            other => other.map(drop),
        }
    }
}
