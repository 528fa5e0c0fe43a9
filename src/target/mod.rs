//! What a person names as a target: a path, or a drive by its serial, label or bay.

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

pub use relocate::Away;

use crate::{
    inventory::{Block, Drive, Inventory, Mount},
    sysroot::Sysroot,
};

/// Filesystems through which the kernel shows itself; no byte of them is on a drive.
const KERNEL: [&str; 19] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];
/// Filesystems that do direct I/O in blocks of their own, whatever the drive below can do.
const OWN_BLOCKS: [&str; 4] = ["btrfs", "bcachefs", "f2fs", "zfs"];

/// What can be measured, found and looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As the person wrote it.
    pub given: String,
    /// What it is.
    pub kind: Kind,
    /// Where it is: absolute, without links.
    pub path: PathBuf,
    /// The drives that carry it; none where no drive is known, as with tmpfs and network filesystems.
    pub drives: Vec<Drive>,
    /// Names of the layers between: `md0`, `dm-0`.
    pub layers: Vec<String>,
    /// The mounted filesystem it lies on; none for block devices.
    pub mount: Option<Mount>,
    /// Bytes this user may still write to the filesystem.
    pub free: Option<u64>,
    /// Size of the filesystem, bytes.
    pub capacity: Option<u64>,
    /// Size of the file or block device, bytes.
    pub size: Option<u64>,
    /// Why nothing can be written; none where it can.
    pub read_only: Option<String>,
    /// What else its drives are used for: where their filesystems are mounted, and `swap`.
    #[serde(default)]
    pub uses: Vec<String>,
    /// What offset and length of direct I/O must be multiples of, bytes.
    pub direct_alignment: u32,
}

/// What a target is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Test files may be made in it.
    #[default]
    Directory,
    /// Somebody's file: only read.
    File,
    /// A drive, partition or layer: only read.
    BlockDevice,
}

/// Why a target can't be used. [`TargetError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is no such path.
    #[error("{path} does not exist")]
    Missing {
        /// The path.
        path: String,
        /// The deepest directory on the way that exists.
        nearest: String,
    },
    /// No path, and no drive of this name.
    #[error("'{name}' is neither a path nor the serial, label or bay of a drive here")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names that would be understood.
        known: Vec<String>,
    },
    /// Several drives have this name.
    #[error("'{name}' names {} drives: {}", candidates.len(), candidates.join("; "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The drives, each with a name of its own.
        candidates: Vec<String>,
    },
    /// Neither directory, file nor block device.
    #[error("{path} is a {what}; a directory, a file or a block device can be measured")]
    Unsuitable {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// The user may not read it.
    #[error("no permission to read {path}")]
    Permission {
        /// The path.
        path: String,
        /// What it is, where that could be seen.
        kind: Option<Kind>,
    },
    /// The filesystem shows the kernel's own state.
    #[error("{path} lies on {filesystem}, which is the kernel's own and on no drive")]
    KernelFilesystem {
        /// The path.
        path: String,
        /// Its filesystem.
        filesystem: String,
    },
    /// Nothing to read.
    #[error("{path} is empty")]
    Empty {
        /// The path.
        path: String,
        /// A file, or a block device without a medium.
        kind: Kind,
    },
    /// The system refused.
    #[error("{path}: {source}")]
    System {
        /// The path.
        path: String,
        /// What it said.
        source: io::Error,
    },
}

impl TargetError {
    /// What the person can do.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { nearest, .. } => format!("{nearest} exists; check the rest of the path"),
            Self::Unknown { known, .. } if known.is_empty() => "give a path such as . or /mnt/usb".to_owned(),
            Self::Unknown { known, .. } => format!("give a path, or one of: {}", known.join(", ")),
            Self::Ambiguous { .. } => "name it by its bay as shown, or by a path".to_owned(),
            Self::Unsuitable { .. } => "name a directory on the drive you mean".to_owned(),
            Self::Permission { kind: Some(Kind::BlockDevice), .. } => {
                "use sudo, or join the group that may read drives: sudo usermod -aG disk $USER, then log in again"
                    .to_owned()
            }
            Self::Permission { .. } => "use sudo, or name a directory of your own".to_owned(),
            Self::KernelFilesystem { .. } => "name a directory that lies on the drive you mean".to_owned(),
            Self::Empty { kind: Kind::BlockDevice, .. } => "put a medium in".to_owned(),
            Self::Empty { .. } => "name its directory: a file of the right size is made there".to_owned(),
            Self::System { .. } => "the kernel log (dmesg) may say more".to_owned(),
        }
    }
}

impl Target {
    /// Finds what `text` names on this machine: first as a path; else as `bay:1.3`, `serial:4C53`, `label:media`, or
    /// just a serial, world-wide name, identity, label or name in /dev/disk/by-id. A drive that has one mounted
    /// filesystem that can be written is its mount point, else its block device.
    pub fn resolve(inventory: &Inventory, text: &str) -> Result<Self, TargetError> {
        let is_path = text.contains('/') && !lookup::has_prefix(text) || fs::symlink_metadata(text).is_ok();
        let path = if is_path { text.to_owned() } else { lookup::find(inventory, text)? };
        Self::at(inventory, text, &path)
    }

    /// Whether files may be made there.
    pub fn writable(&self) -> bool {
        self.read_only.is_none()
    }

    pub(super) fn at(inventory: &Inventory, given: &str, path: &str) -> Result<Self, TargetError> {
        let real = fs::canonicalize(path).map_err(|error| refusal(path, error))?;
        let data = fs::metadata(&real).map_err(|error| refusal(path, error))?;
        let Some(shown) = real.to_str().map(str::to_owned) else {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "the path it leads to is not UTF-8");
            return Err(TargetError::System { path: path.to_owned(), source });
        };
        let kind = kind(&shown, &data)?;
        if kind == Kind::BlockDevice {
            block_device(inventory, given, real, shown, &data)
        } else {
            on_filesystem(inventory, given, kind, real, shown, &data)
        }
    }
}

/// An error while looking at a path.
fn refusal(path: &str, source: io::Error) -> TargetError {
    let shown: String = path.escape_debug().take(300).collect();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let nearest = Path::new(path).ancestors().skip(1).find(|above| above.is_dir());
            let nearest = nearest.map_or_else(|| ".".to_owned(), |above| above.display().to_string());
            TargetError::Missing { path: shown, nearest }
        }
        io::ErrorKind::PermissionDenied => TargetError::Permission { path: shown, kind: None },
        _ => TargetError::System { path: shown, source },
    }
}

fn kind(path: &str, data: &Metadata) -> Result<Kind, TargetError> {
    let what = match data.file_type() {
        kind if kind.is_dir() => return Ok(Kind::Directory),
        kind if kind.is_file() => return Ok(Kind::File),
        kind if kind.is_block_device() => return Ok(Kind::BlockDevice),
        kind if kind.is_char_device() => "character device",
        kind if kind.is_fifo() => "pipe",
        kind if kind.is_socket() => "socket",
        _ => "thing of its own",
    };
    Err(TargetError::Unsuitable { path: path.to_owned(), what })
}

fn block_device(
    inventory: &Inventory,
    given: &str,
    path: PathBuf,
    shown: String,
    data: &Metadata,
) -> Result<Target, TargetError> {
    let kind = Kind::BlockDevice;
    let device = (major(data.rdev()), minor(data.rdev()));
    let block = inventory.block(device);
    let sysfs = Sysroot::live();
    let dir = format!("/sys/dev/block/{}:{}", device.0, device.1);
    // Loop devices and the like are in no inventory.
    let size = block
        .map(|block| block.bytes())
        .or_else(|| sysfs.number(&format!("{dir}/size")).map(|sectors: u64| sectors.saturating_mul(512)));
    if size == Some(0) {
        return Err(TargetError::Empty { path: shown, kind });
    }
    if access(&path, Access::READ_OK).is_err() {
        return Err(TargetError::Permission { path: shown, kind: Some(kind) });
    }
    let logical = block.map(|block| block.logical_block());
    let logical = logical.or_else(|| sysfs.number(&format!("{dir}/queue/logical_block_size"))).unwrap_or(512);
    let under = inventory.under(block);
    Ok(Target {
        uses: uses(inventory, &under.drives),
        given: given.to_owned(),
        kind,
        path,
        drives: under.drives.into_iter().cloned().collect(),
        layers: under.layers.iter().map(|layer| layer.name.clone()).collect(),
        mount: None,
        free: None,
        capacity: None,
        size,
        read_only: Some("writing to a block device would erase what is on it".to_owned()),
        direct_alignment: logical,
    })
}

fn on_filesystem(
    inventory: &Inventory,
    given: &str,
    kind: Kind,
    path: PathBuf,
    shown: String,
    data: &Metadata,
) -> Result<Target, TargetError> {
    let device = (major(data.dev()), minor(data.dev()));
    let mount = inventory.mount_at(&shown, device);
    let filesystem = mount.map(|mount| mount.filesystem.as_str()).unwrap_or_default();
    if KERNEL.contains(&filesystem) {
        return Err(TargetError::KernelFilesystem { path: shown, filesystem: filesystem.to_owned() });
    }
    if kind == Kind::File && data.len() == 0 {
        return Err(TargetError::Empty { path: shown, kind });
    }
    let wanted = if kind == Kind::File { Access::READ_OK } else { Access::READ_OK | Access::EXEC_OK };
    if access(&path, wanted).is_err() {
        return Err(TargetError::Permission { path: shown, kind: Some(kind) });
    }
    let blocks: Vec<Block<'_>> = match mount {
        Some(mount) => inventory.blocks_of(mount),
        None => inventory.block(device).into_iter().collect(),
    };
    let logical = blocks.iter().map(Block::logical_block).max().unwrap_or(512);
    let under = inventory.under(blocks);
    let space = statvfs(&path).ok();
    Ok(Target {
        uses: uses(inventory, &under.drives),
        given: given.to_owned(),
        kind,
        drives: under.drives.into_iter().cloned().collect(),
        layers: under.layers.iter().map(|layer| layer.name.clone()).collect(),
        mount: mount.cloned(),
        free: space.as_ref().map(|space| space.f_bavail.saturating_mul(space.f_frsize)),
        capacity: space.map(|space| space.f_blocks.saturating_mul(space.f_frsize)),
        size: (kind == Kind::File).then_some(data.len()),
        read_only: why_read_only(kind, &path, mount),
        direct_alignment: if OWN_BLOCKS.contains(&filesystem) { logical.max(4096) } else { logical },
        path,
    })
}

/// What `drives` are used for.
fn uses(inventory: &Inventory, drives: &[&Drive]) -> Vec<String> {
    let on = |of: Vec<&Drive>| of.iter().any(|a| drives.iter().any(|b| a.name == b.name));
    let mounts = inventory.mounts.iter().filter(|mount| on(inventory.drives_of(mount)));
    let mut uses: Vec<String> = mounts.map(|mount| mount.path.clone()).collect();
    uses.extend(on(inventory.swap_drives()).then(|| "swap".to_owned()));
    uses.dedup();
    uses
}

fn why_read_only(kind: Kind, path: &Path, mount: Option<&Mount>) -> Option<String> {
    if kind == Kind::File {
        return Some("an existing file is only read; name its directory to measure writing".to_owned());
    }
    let read_only = || {
        let place = mount.map_or("its filesystem".to_owned(), |mount| mount.path.clone());
        format!("{place} is mounted read-only")
    };
    match access(path, Access::WRITE_OK | Access::EXEC_OK) {
        _ if mount.is_some_and(Mount::read_only) => Some(read_only()),
        Ok(()) => None,
        Err(Errno::ROFS) => Some(read_only()),
        Err(_) => Some(format!("you have no permission to write in {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn here() -> Inventory {
        Inventory::read(&Sysroot::live())
    }

    fn resolve(path: &Path) -> Result<Target, TargetError> {
        Target::resolve(&here(), path.to_str().expect("UTF-8"))
    }

    #[test]
    fn a_directory_and_a_file_in_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = resolve(dir.path()).expect("a target");
        assert_eq!((target.kind, target.size), (Kind::Directory, None));
        assert!(target.writable(), "{:?}", target.read_only);
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
    fn the_mount_is_the_one_the_file_is_on() {
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
    fn refuses_what_cannot_be_measured() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        fs::write(at("empty"), "").expect("a file");
        assert!(matches!(resolve(&at("empty")), Err(TargetError::Empty { kind: Kind::File, .. })));
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        assert!(matches!(resolve(&at("fifo")), Err(TargetError::Unsuitable { what: "pipe", .. })));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        assert!(matches!(resolve(&at("socket")), Err(TargetError::Unsuitable { what: "socket", .. })));
        let null = resolve(Path::new("/dev/null"));
        assert!(matches!(null, Err(TargetError::Unsuitable { what: "character device", .. })));
        symlink("loop", at("loop")).expect("a link");
        assert!(matches!(resolve(&at("loop")), Err(TargetError::System { .. })));
        for text in ["", "\0", "a\0/b", "/\u{1b}[31m"] {
            let error = Target::resolve(&here(), text).expect_err("no target");
            assert!(!error.to_string().contains(['\0', '\u{1b}']) && !error.hint().is_empty(), "{error}");
        }
        let long = Target::resolve(&here(), &format!("/{}", "x".repeat(5000))).expect_err("too long");
        assert!(matches!(long, TargetError::System { .. }) && long.to_string().len() < 400);
    }

    #[test]
    fn the_drives_of_this_machine_are_only_read() {
        for drive in here().drives {
            let path = format!("/dev/{}", drive.name);
            match Target::resolve(&here(), &path) {
                Ok(target) => {
                    assert_eq!((target.kind, target.size), (Kind::BlockDevice, Some(drive.bytes())));
                    assert_eq!(target.direct_alignment, drive.logical_block);
                    assert!(!target.writable() && target.drives[0].name == drive.name);
                }
                Err(TargetError::Permission { kind: Some(Kind::BlockDevice), .. }) => {}
                Err(TargetError::Missing { .. }) => {} // in a container without nodes
                Err(error) => panic!("{path}: {error}"),
            }
        }
    }

    #[test]
    fn a_missing_path_names_what_exists() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = resolve(&dir.path().join("a/b/c")).expect_err("missing");
        assert!(error.to_string().ends_with("a/b/c does not exist"), "{error}");
        assert!(error.hint().starts_with(dir.path().to_str().expect("UTF-8")), "{}", error.hint());
        fs::write(dir.path().join("file"), "x").expect("a file");
        assert!(matches!(resolve(&dir.path().join("file/b")), Err(TargetError::Missing { .. })));
    }

    #[test]
    fn the_kernels_own_filesystems_are_refused() {
        for path in ["/proc", "/proc/version", "/sys/block"] {
            let error = Target::resolve(&here(), path).expect_err("the kernel's");
            assert!(matches!(error, TargetError::KernelFilesystem { .. }), "{path}: {error}");
        }
    }
}
