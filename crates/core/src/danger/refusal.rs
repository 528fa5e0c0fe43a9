//! Why a drive can't be claimed, and what to do about it.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::{
    fs::{major, minor},
    io::Errno,
};

use crate::{
    engine::loop_device,
    inventory::{self, Block, Drive, Inventory, Layer, Mount, Partition, Signature},
    sysroot::Sysroot,
    units::{clean, shell_word},
};

#[derive(Debug, thiserror::Error)]
#[error("{drive} can't be erased: {why}")]
pub struct Refusal {
    /// The drive, for messages: model, serial, bay and path.
    pub drive: String,
    pub why: Why,
}

/// Why a drive can't be claimed. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    #[error("it is not plugged in")]
    Gone,
    #[error("several drives have this identity: unplug all but one")]
    Ambiguous,
    /// The system is on it.
    #[error("{0} is on it")]
    Carries(String),
    #[error("it is used as swap: swapoff {}", shell_word(.0))]
    Swap(String),
    #[error("it is mounted: umount {}", .0.iter().map(shell_word).collect::<Vec<_>>().join(" "))]
    Mounted(Vec<String>),
    #[error("it is part of {}", .0.join(", "))]
    Held(Vec<String>),
    #[error("it holds {}: add {} if that may be lost", holds.join(", "), erase_option(consent))]
    Holds {
        holds: Vec<String>,
        /// The argument of `--erase` that allows it.
        consent: String,
    },
    #[error("what it holds is not known: add {} if that may be lost", erase_option(.0))]
    Unknown(String),
    #[error("it now holds {0}, but something else was shown: nothing was changed, try again")]
    Changed(String),
    #[error(
        "{0} can't be read completely, so what uses the drive is not known: run it as root, outside of a container"
    )]
    Unseen(String),
    #[error("the drive is write-protected")]
    ReadOnly,
    #[error("{0} has it open: stop it first")]
    Opened(String),
    #[error(
        "the system or another program uses it exclusively, such as an imported ZFS pool: release it first"
    )]
    Busy,
    #[error("its path now belongs to another drive: try again")]
    Replaced,
    #[error("this needs root: run it with sudo")]
    NotRoot,
    #[error("{0}")]
    System(io::Error),
}

impl Refusal {
    pub(super) fn new(drive: &Drive, why: Why) -> Self {
        Self { drive: format!("{}, {},", drive.label(), Block::Drive(drive).path()), why }
    }

    /// Whether another program used the drive, which may end soon.
    pub fn may_pass(&self) -> bool {
        self.why.may_pass()
    }
}

impl Why {
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Busy | Self::Opened(_))
    }
}

pub(super) fn find<'a>(inventory: &'a Inventory, identity: &str) -> Result<&'a Drive, Refusal> {
    let mut found = inventory.drives.iter().filter(|drive| drive.identity() == identity);
    let refused = |why| Refusal { drive: identity.to_owned(), why };
    let drive = found.next().ok_or_else(|| refused(Why::Gone))?;
    if found.next().is_some() { Err(refused(Why::Ambiguous)) } else { Ok(drive) }
}

/// Refuses a drive that the system needs, that is in use, or that isn't in `erase`. No drive counts as blank: a copy of a
/// filesystem's header may be anywhere.
pub(crate) fn check(inventory: &Inventory, drive: &Drive, erase: &[String]) -> Result<(), Why> {
    if let Some(path) = inventory.unread.first() {
        return Err(Why::Unseen(path.clone()));
    }
    // A disk with two paths is also in use if the other path is.
    let is = |other: &&Drive| inventory.have_same_content(other, drive);
    let on = |mount: &&Mount| inventory.drives_of(mount).iter().any(is);
    let mounted: Vec<String> = inventory.mounts.iter().filter(on).map(|mount| mount.path.clone()).collect();
    if let Some(system) = mounted.iter().find(|path| inventory::SYSTEM_MOUNTS.contains(&path.as_str())) {
        return Err(Why::Carries(system.clone()));
    }
    if let Some(swap) = inventory.swaps.iter().find(|swap| inventory.drives_of_swap(swap).iter().any(is)) {
        return Err(Why::Swap(swap.clone()));
    }
    if !mounted.is_empty() {
        return Err(Why::Mounted(mounted));
    }
    let stands_on = |layer: &&Layer| inventory.stack_of([Block::Layer(layer)]).drives.iter().any(is);
    let mut built: Vec<String> = inventory.layers.iter().filter(stands_on).map(describe).collect();
    // Holders that are not known as layers.
    let is_layer = |name: &&String| inventory.layers.iter().any(|layer| layer.name == **name);
    let paths = inventory.drives.iter().filter(is);
    built.extend(paths.flat_map(|path| &path.holders).filter(|name| !is_layer(name)).cloned());
    if !built.is_empty() {
        return Err(Why::Held(built));
    }
    if drive.read_only {
        return Err(Why::ReadOnly);
    }
    let (holds, consent) = (holds(drive), consent(drive));
    match holds.is_empty() {
        _ if erase.contains(&consent) => Ok(()),
        true => Err(Why::Unknown(consent)),
        false => Err(Why::Holds { holds, consent }),
    }
}

/// The layer, and the command that stops it.
fn describe(layer: &Layer) -> String {
    let name = layer.alias.as_ref().unwrap_or(&layer.name);
    match layer.kind.as_str() {
        "crypt" => format!("the encrypted {name} (cryptsetup close {name})"),
        "lvm" => format!("the logical volume {name} (lvchange -an /dev/mapper/{name})"),
        "dm" | "multipath" => format!("the mapping {name} (dmsetup remove {name})"),
        "partition" => format!("the partition {name}"),
        "loop" => format!("the loop device {name} (losetup --detach /dev/{name})"),
        "zfs" => format!("the ZFS pool {name} (zpool export {})", shell_word(&name)),
        filesystem @ ("btrfs" | "bcachefs") => format!("the {filesystem} {name}"),
        "bcache" => format!("the cache {name}"),
        level => format!("the {level} array /dev/{name} (mdadm --stop /dev/{name})"),
    }
}

/// The signatures on a drive and its partitions, in words.
pub fn holds(drive: &Drive) -> Vec<String> {
    let parts = drive.partitions.iter().map(|part| (&part.name, &part.content));
    let described = std::iter::once((&drive.name, &drive.content)).chain(parts);
    let mut holds: Vec<String> = described
        .filter_map(|(name, content)| {
            let filesystem = content.filesystem.as_ref()?;
            let label = content.label.as_ref().map(|label| format!(" '{label}'")).unwrap_or_default();
            // A label must not break the line or control the terminal.
            Some(clean(&format!("{filesystem}{label} on {name}")).into_owned())
        })
        .collect();
    if holds.is_empty() && !drive.partitions.is_empty() {
        holds.push(format!("{} partitions", drive.partitions.len()));
    }
    holds
}

/// The argument of `--erase` for a drive: its serial, or its identity if other drives have the same serial, or may have it,
/// because it is a placeholder.
pub fn consent(drive: &Drive) -> String {
    drive.unique_serial().cloned().unwrap_or_else(|| drive.identity())
}

/// The option that permits erasing a drive, as it is typed in a shell.
pub fn erase_option(consent: &str) -> String {
    // A word of its own that begins with a hyphen would be another option.
    let joint = if consent.starts_with('-') { '=' } else { ' ' };
    format!("--erase{joint}{}", shell_word(consent))
}

/// Whether a drive holds nothing new since it was shown. Content may be missing: udev may report late that it was removed.
pub(super) fn holds_no_more(shown: &Drive, now: &Drive) -> bool {
    let was = |now: &Signature, shown: &Signature| now.filesystem.is_none() || now == shown;
    let was_there = |now: &Partition| {
        let same = |shown: &&Partition| (shown.start, shown.sectors) == (now.start, now.sectors);
        shown.partitions.iter().find(same).is_some_and(|shown| was(&now.content, &shown.content))
    };
    was(&now.content, &shown.content) && now.partitions.iter().all(was_there)
}

/// The number of a block device.
pub(super) fn device(data: &Metadata) -> Option<(u32, u32)> {
    data.file_type().is_block_device().then(|| (major(data.rdev()), minor(data.rdev())))
}

/// The time limit for looking at the files that processes have open.
const PATIENCE: Duration = Duration::from_secs(10);

/// The process or loop device that has the drive or a partition of it open, by whatever path, in whatever mount namespace: devices
/// are compared by number. Needs root to see all processes. `proc` has the processes, `/proc` unless tests choose them.
pub(super) fn user(
    root: &Sysroot,
    proc: &Path,
    inventory: &Inventory,
    drive: &Drive,
) -> Result<Option<String>, Why> {
    let paths = inventory.drives.iter().filter(|other| inventory.have_same_content(other, drive));
    let devices: Vec<(u32, u32)> =
        paths.flat_map(|path| path.partitions.iter().map(|part| part.device).chain([path.device])).collect();
    let loops = root.list("/sys/block").into_iter().filter(|name| name.starts_with("loop"));
    for name in loops.filter(|name| root.word(&format!("/sys/block/{name}/loop/backing_file")).is_some()) {
        let path = format!("/dev/{name}");
        match File::open(&path).and_then(|file| loop_device::backing_device(&file)) {
            Ok(behind) if devices.contains(&(major(behind), minor(behind))) => return Ok(Some(path)),
            Ok(_) => {}
            // It was detached meanwhile.
            Err(e) if Errno::from_io_error(&e) == Some(Errno::NXIO) => {}
            Err(_) => return Err(Why::Unseen(path)),
        }
    }
    // `stat` of a file on a server that doesn't answer blocks, so a thread does it.
    let (sender, looks) = mpsc::channel();
    let proc = proc.to_owned();
    thread::spawn(move || {
        let found = opener(&proc, &devices, |path| drop(sender.send(Look::At(path.to_owned()))));
        let _ = sender.send(Look::Done(found));
    });
    let mut last = "/proc".to_owned();
    loop {
        match looks.recv_timeout(PATIENCE) {
            Ok(Look::At(path)) => last = path,
            Ok(Look::Done(found)) => return found,
            Err(_) => return Err(Why::Unseen(last)),
        }
    }
}

/// A message of the thread that searches for openers.
enum Look {
    /// The directory whose files it examines next.
    At(String),
    Done(Result<Option<String>, Why>),
}

/// Another process that has one of these devices open.
fn opener(proc: &Path, devices: &[(u32, u32)], mut look: impl FnMut(&str)) -> Result<Option<String>, Why> {
    let me = std::process::id();
    for process in fs::read_dir(proc).map_err(|_| Why::Unseen("/proc".to_owned()))?.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| *pid != me) else { continue };
        // A thread can have files of its own.
        for thread in entries(&process.path().join("task"))? {
            let files = thread.join("fd");
            look(&files.to_string_lossy());
            if has_open(&files, devices)? {
                let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                return Ok(Some(format!("{} (process {pid})", clean(name.trim()))));
            }
        }
    }
    Ok(None)
}

/// The entries of a process's directory; none if the process has ended.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, Why> {
    let read = fs::read_dir(directory).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    match read {
        Err(_) if !directory.exists() => Ok(Vec::new()),
        read => read.map_err(|_: io::Error| Why::Unseen(directory.display().to_string())),
    }
}

/// Whether one of these devices is among the open `files` of a thread.
fn has_open(files: &Path, devices: &[(u32, u32)]) -> Result<bool, Why> {
    let is_of_filesystem = |e: &io::Error| {
        matches!(Errno::from_io_error(e), Some(Errno::ACCESS | Errno::STALE | Errno::NOTCONN))
    };
    for file in entries(files)? {
        match fs::metadata(&file) {
            Ok(data) if device(&data).is_some_and(|device| devices.contains(&device)) => return Ok(true),
            Ok(_) => {}
            // It was closed meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            // The file is on a user's FUSE filesystem, or on one that is gone. A process that may not be examined hides its path, too.
            Err(e) if is_of_filesystem(&e) && fs::read_link(&file).is_ok() => {}
            Err(_) => return Err(Why::Unseen(files.display().to_string())),
        }
    }
    Ok(false)
}
