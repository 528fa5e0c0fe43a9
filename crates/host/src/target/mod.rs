//! Targets: paths, or drives named by serial, label or bay.

mod labels;
mod lookup;
mod relocate;

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access, major, minor, statvfs},
    io::Errno,
};
use serde::{Deserialize, Serialize};

pub use relocate::NotFound;

use crate::{
    inventory::{Block, Drive, Inventory, Layer, Mount},
    sysroot::Sysroot,
    units::{Pool, shell_word},
};

/// Filesystems that the kernel makes up, though they report a size. Others that it makes up report none.
const MADE_UP: [&str; 3] = ["devtmpfs", "efivarfs", "hugetlbfs"];
/// Types of filesystems that do direct I/O in their own block size, not in that of the drive.
const OWN_BLOCKS: [&str; 4] = ["btrfs", "bcachefs", "f2fs", "zfs"];
const ERASES: &str = "writing to a block device would erase what is on it";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The text by which it was named.
    pub given: String,
    pub kind: Kind,
    /// Absolute path, without links.
    pub path: PathBuf,
    /// Its drives; empty for tmpfs, network filesystems and others without a known drive.
    pub drives: Vec<Drive>,
    /// Names of the layers above the drives: `md0`, `dm-0`.
    pub layers: Vec<String>,
    /// The pool that it is on, as it was; its members are on the drives above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Its mounted filesystem; `None` for block devices.
    pub mount: Option<Mount>,
    /// Id of the filesystem in `statvfs`, which many make from their UUID; `None` if it is not on a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem_id: Option<u64>,
    /// Device number of its filesystem when the target was found; `None` for block devices, which may be moved.
    #[serde(skip)]
    pub device: Option<u64>,
    /// Free space for this user, bytes.
    pub free: Option<u64>,
    /// Size of the filesystem, bytes.
    pub capacity: Option<u64>,
    /// Size of the file or block device, bytes.
    pub size: Option<u64>,
    /// Why it can't be written; `None` if it can.
    pub read_only: Option<String>,
    /// Other uses of its drives: mount points of their filesystems, and `swap`.
    #[serde(default)]
    pub uses: Vec<String>,
    /// Alignment of offset and length for direct I/O, bytes.
    pub direct_alignment: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A directory, in which test files are created.
    #[default]
    Directory,
    /// An existing file: only read.
    File,
    /// A drive, partition or layer: only read.
    BlockDevice,
}

#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// `nearest` is the deepest existing directory of the path; `None` if the current directory was removed.
    #[error("{path} does not exist")]
    Missing { path: String, nearest: Option<String> },
    #[error("'{name}' is not a path, serial, label or bay of a drive on this machine")]
    Unknown { name: String, candidates: Vec<String> },
    /// `candidates` are the drives, each with an unambiguous name.
    #[error("'{name}' matches {} drives: {}", candidates.len(), candidates.join("; "))]
    Ambiguous { name: String, candidates: Vec<String> },
    #[error("{path} is {what}")]
    Unsuitable { path: String, what: String },
    #[error("no permission to read {path}")]
    Permission { path: String, kind: Option<Kind> },
    /// A file, or a block device without a medium.
    #[error("{path} is empty")]
    Empty { path: String, kind: Kind },
    /// Plans and records are text.
    #[error("{path}: the path it leads to is not UTF-8")]
    NotText { path: String, real: PathBuf },
    #[error("{path} can't be read: {source}")]
    System { path: String, source: io::Error },
}

impl TargetError {
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::Missing { nearest: Some(nearest), .. } => {
                return format!("{nearest} exists; check the rest of the path");
            }
            Self::Missing { .. } => "the current directory was removed: change to another",
            Self::Unknown { candidates, .. } if candidates.is_empty() => "use a path such as . or /mnt/usb",
            Self::Unknown { candidates, .. } => {
                return format!("use a path, or one of: {}", candidates.join(", "));
            }
            Self::NotText { real, .. } => return format!("rename what is not UTF-8 in {}", shell_word(real)),
            Self::Ambiguous { .. } => "use its bay as shown, or a path",
            Self::Unsuitable { .. } => "use a directory on the drive",
            Self::Permission { kind: Some(Kind::BlockDevice), .. } => {
                "use sudo, or join the group disk: sudo usermod -aG disk $USER, then log in again"
            }
            Self::Permission { .. } => "use sudo, or another directory",
            Self::Empty { kind: Kind::BlockDevice, .. } => "insert a medium",
            Self::Empty { .. } => "use its directory: a test file is created there",
            Self::System { .. } => "use a shorter path if it is too long; else check the kernel log (dmesg)",
        };
        hint.to_owned()
    }
}

impl Target {
    /// A writable directory in memory, if there is one.
    pub fn in_memory(inventory: &Inventory) -> Option<Self> {
        let places = ["/dev/shm", "/run/shm", "/tmp", "/run"];
        let found = places.iter().filter_map(|place| Self::resolve(inventory, place).ok());
        found.into_iter().find(|target| target.is_memory() && target.read_only.is_none())
    }

    /// Whether it has no drive, only memory.
    pub fn is_memory(&self) -> bool {
        self.mount.as_ref().is_some_and(|mount| mount.filesystem == "tmpfs")
    }

    /// The layers between it and its drives.
    pub fn layers_in<'a>(&'a self, inventory: &'a Inventory) -> impl Iterator<Item = &'a Layer> {
        inventory.layers.iter().filter(|layer| self.layers.contains(&layer.name))
    }

    /// Whether another program or filesystem is between it and its drives: a loop device, FUSE, an overlay. Its speed is not
    /// that of the drives.
    pub fn is_indirect(&self, inventory: &Inventory) -> bool {
        let stacked = |mount: &Mount| mount.filesystem.starts_with("fuse") || mount.filesystem == "overlay";
        self.layers_in(inventory).any(Layer::is_loop) || self.mount.as_ref().is_some_and(stacked)
    }

    /// Whether the drives of both are known and the same.
    pub fn is_on_same_drives(&self, other: &Self) -> bool {
        let key = |drive: &Drive| (drive.name.clone(), drive.identity());
        !self.drives.is_empty() && self.drives.iter().map(key).eq(other.drives.iter().map(key))
    }

    /// Finds the target `text` on this machine: first as a path; else as `bay:1.3`, `serial:4C53`, `label:media`, or
    /// just a serial, world-wide name, identity, label or name in /dev/disk/by-id. A drive with exactly one
    /// writable mounted filesystem resolves to its mount point, else to its block device.
    pub fn resolve(inventory: &Inventory, text: &str) -> Result<Self, TargetError> {
        let is_path = text.contains('/') && !lookup::has_prefix(text) || fs::symlink_metadata(text).is_ok();
        let path = if is_path { text.to_owned() } else { lookup::find(inventory, text)? };
        Self::at(inventory, text, &path)
    }

    pub(super) fn at(inventory: &Inventory, given: &str, path: &str) -> Result<Self, TargetError> {
        let real = fs::canonicalize(path).map_err(|error| refusal(path, error))?;
        let data = fs::metadata(&real).map_err(|error| refusal(path, error))?;
        let Some(shown) = real.to_str().map(str::to_owned) else {
            return Err(TargetError::NotText { path: path.to_owned(), real });
        };
        let kind = kind(&shown, &data)?;
        let target = Self { given: given.to_owned(), kind, path: real, ..Self::default() };
        match kind {
            Kind::BlockDevice => target.on_device(inventory, shown, &data),
            Kind::Directory | Kind::File => target.on_filesystem(inventory, shown, &data),
        }
    }

    fn on_device(self, inventory: &Inventory, shown: String, data: &Metadata) -> Result<Self, TargetError> {
        let device = (major(data.rdev()), minor(data.rdev()));
        let block = inventory.block(device);
        let sysfs = Sysroot::live();
        let dir = format!("/sys/dev/block/{}:{}", device.0, device.1);
        // Loop devices and others are not in the inventory.
        let sectors = || sysfs.number::<u64>(&format!("{dir}/size"));
        let size = block.map(|block| block.bytes()).or_else(|| Some(sectors()?.saturating_mul(512)));
        if size == Some(0) {
            return Err(TargetError::Empty { path: shown, kind: self.kind });
        }
        if access(&self.path, Access::READ_OK).is_err() {
            return Err(TargetError::Permission { path: shown, kind: Some(self.kind) });
        }
        let logical = block.map(|block| block.logical_block());
        let logical = logical.or_else(|| sysfs.number(&format!("{dir}/queue/logical_block_size")));
        let target = self.above(inventory, block);
        let (read_only, direct_alignment) = (Some(ERASES.to_owned()), logical.unwrap_or(512));
        Ok(Self { size, read_only, direct_alignment, ..target })
    }

    fn on_filesystem(
        self,
        inventory: &Inventory,
        shown: String,
        data: &Metadata,
    ) -> Result<Self, TargetError> {
        let device = (major(data.dev()), minor(data.dev()));
        let mount = inventory.mount_at(&shown, device);
        let filesystem = mount.map(|mount| mount.filesystem.as_str()).unwrap_or_default();
        let space = statvfs(&self.path).ok();
        if MADE_UP.contains(&filesystem) || space.as_ref().is_some_and(|space| space.f_blocks == 0) {
            let what = format!("on {filesystem}, a filesystem of the kernel without a drive");
            return Err(TargetError::Unsuitable { path: shown, what });
        }
        let is_file = self.kind == Kind::File;
        if is_file && data.len() == 0 {
            return Err(TargetError::Empty { path: shown, kind: self.kind });
        }
        let wanted = if is_file { Access::READ_OK } else { Access::READ_OK | Access::EXEC_OK };
        if access(&self.path, wanted).is_err() {
            return Err(TargetError::Permission { path: shown, kind: Some(self.kind) });
        }
        let blocks: Vec<Block<'_>> = match mount {
            Some(mount) => inventory.blocks_of(mount),
            None => inventory.block(device).into_iter().collect(),
        };
        let logical = blocks.iter().map(Block::logical_block).max().unwrap_or(512);
        Ok(Self {
            mount: mount.cloned(),
            device: Some(data.dev()),
            filesystem_id: space
                .as_ref()
                .map(|space| space.f_fsid)
                .filter(|id| *id != 0 && mount.is_some_and(|mount| mount.source.starts_with('/'))),
            free: space.as_ref().map(|space| space.f_bavail.saturating_mul(space.f_frsize)),
            capacity: space.map(|space| space.f_blocks.saturating_mul(space.f_frsize)),
            size: is_file.then_some(data.len()),
            read_only: why_read_only(self.kind, &self.path, mount),
            direct_alignment: if OWN_BLOCKS.contains(&filesystem) { logical.max(4096) } else { logical },
            ..self.above(inventory, blocks)
        })
    }

    /// The target with the drives and layers below these block devices.
    fn above<'a>(self, inventory: &'a Inventory, blocks: impl IntoIterator<Item = Block<'a>>) -> Self {
        let stack = inventory.stack_of(blocks);
        Self {
            uses: uses(inventory, &stack.drives),
            drives: stack.drives.into_iter().cloned().collect(),
            layers: stack.layers.iter().map(|layer| layer.name.clone()).collect(),
            pool: stack.layers.iter().find_map(|layer| layer.pool.clone()),
            ..self
        }
    }
}

fn refusal(path: &str, source: io::Error) -> TargetError {
    let shown: String = path.escape_debug().take(300).collect();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let nearest = Path::new(path).ancestors().skip(1).find(|above| above.is_dir());
            let nearest = nearest.map(|above| above.display().to_string());
            let nearest = nearest.or_else(|| std::env::current_dir().is_ok().then(|| ".".to_owned()));
            TargetError::Missing { path: shown, nearest }
        }
        io::ErrorKind::PermissionDenied => TargetError::Permission { path: shown, kind: None },
        _ => TargetError::System { path: shown, source },
    }
}

fn kind(path: &str, data: &Metadata) -> Result<Kind, TargetError> {
    match data.file_type() {
        kind if kind.is_dir() => Ok(Kind::Directory),
        kind if kind.is_file() => Ok(Kind::File),
        kind if kind.is_block_device() => Ok(Kind::BlockDevice),
        _ => {
            let what = "not a directory, file or block device".to_owned();
            Err(TargetError::Unsuitable { path: path.to_owned(), what })
        }
    }
}

fn uses(inventory: &Inventory, drives: &[&Drive]) -> Vec<String> {
    let has_some = |others: Vec<&Drive>| others.iter().any(|a| drives.iter().any(|b| a.name == b.name));
    let mounts = inventory.mounts.iter().filter(|mount| has_some(inventory.drives_of(mount)));
    let mut uses: Vec<String> = mounts.map(|mount| mount.path.clone()).collect();
    uses.extend(has_some(inventory.swap_drives()).then(|| "swap".to_owned()));
    uses.dedup();
    uses
}

fn why_read_only(kind: Kind, path: &Path, mount: Option<&Mount>) -> Option<String> {
    if kind == Kind::File {
        return Some("existing files are only read; use its directory to measure writes".to_owned());
    }
    let read_only = || {
        let mount_point = mount.map_or("its filesystem".to_owned(), |mount| mount.path.clone());
        format!("{mount_point} is mounted read-only")
    };
    match access(path, Access::WRITE_OK | Access::EXEC_OK) {
        _ if mount.is_some_and(Mount::read_only) => Some(read_only()),
        Ok(()) => None,
        Err(Errno::ROFS) => Some(read_only()),
        Err(_) => Some(format!("no permission to write in {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn inventory() -> Inventory {
        Inventory::read(&Sysroot::live())
    }

    fn resolve(path: &Path) -> Result<Target, TargetError> {
        Target::resolve(&inventory(), path.to_str().expect("UTF-8"))
    }

    #[test]
    fn a_directory_and_a_file_in_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = resolve(dir.path()).expect("a target");
        assert_eq!((target.kind, target.size), (Kind::Directory, None));
        assert_eq!(target.read_only, None);
        assert!(target.free.expect("space") <= target.capacity.expect("a size"));
        assert!(target.direct_alignment.is_power_of_two());

        fs::write(dir.path().join("file"), [7; 1000]).expect("a file");
        symlink("file", dir.path().join("link")).expect("a link");
        let target = resolve(&dir.path().join("link")).expect("a target");
        assert_eq!((target.kind, target.size), (Kind::File, Some(1000)));
        assert!(target.path.ends_with("file"));
        assert!(target.read_only.expect("a reason").contains("only read"));
    }

    #[test]
    fn the_mount_is_that_of_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let device = fs::metadata(dir.path()).expect("metadata").dev();
        let target = resolve(dir.path()).expect("a target");
        if let Some(mount) = target.mount {
            assert!(dir.path().starts_with(&mount.path) && !mount.read_only());
            if mount.device.0 != 0 {
                assert_eq!(mount.device, (major(device), minor(device)));
            }
        }
    }

    #[test]
    fn pipes_sockets_and_empty_files_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        fs::write(at("empty"), "").expect("a file");
        assert!(matches!(resolve(&at("empty")), Err(TargetError::Empty { kind: Kind::File, .. })));
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        assert!(matches!(resolve(&at("fifo")), Err(TargetError::Unsuitable { .. })));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        assert!(matches!(resolve(&at("socket")), Err(TargetError::Unsuitable { .. })));
        let null = resolve(Path::new("/dev/null"));
        assert!(matches!(null, Err(TargetError::Unsuitable { .. })));
        symlink("loop", at("loop")).expect("a link");
        assert!(matches!(resolve(&at("loop")), Err(TargetError::System { .. })));
        for text in ["", "\0", "a\0/b", "/\u{1b}[31m"] {
            let error = Target::resolve(&inventory(), text).expect_err("no target");
            assert!(!error.to_string().contains(['\0', '\u{1b}']) && !error.hint().is_empty(), "{error}");
        }
        let long = Target::resolve(&inventory(), &format!("/{}", "x".repeat(5000))).expect_err("too long");
        assert!(matches!(long, TargetError::System { .. }) && long.to_string().len() < 400);
    }

    #[test]
    fn the_drives_of_this_machine_are_only_read() {
        for drive in inventory().drives {
            let path = format!("/dev/{}", drive.name);
            match Target::resolve(&inventory(), &path) {
                Ok(target) => {
                    assert_eq!((target.kind, target.size), (Kind::BlockDevice, Some(drive.bytes())));
                    assert_eq!(target.direct_alignment, drive.logical_block);
                    assert!(target.read_only.is_some() && target.drives[0].name == drive.name);
                }
                Err(TargetError::Permission { kind: Some(Kind::BlockDevice), .. }) => {}
                Err(TargetError::Missing { .. }) => {} // in a container without nodes
                Err(error) => panic!("{path}: {error}"),
            }
        }
    }

    #[test]
    fn a_missing_path_shows_the_nearest_existing_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = resolve(&dir.path().join("a/b/c")).expect_err("missing");
        assert!(error.to_string().ends_with("a/b/c does not exist"), "{error}");
        assert!(error.hint().starts_with(dir.path().to_str().expect("UTF-8")), "{}", error.hint());
        fs::write(dir.path().join("file"), "x").expect("a file");
        assert!(matches!(resolve(&dir.path().join("file/b")), Err(TargetError::Missing { .. })));
    }

    #[test]
    fn kernel_filesystems_are_refused() {
        for path in ["/proc", "/proc/version", "/sys/block"] {
            let error = Target::resolve(&inventory(), path).expect_err("the kernel's");
            assert!(matches!(error, TargetError::Unsuitable { .. }), "{path}: {error}");
        }
    }
}
