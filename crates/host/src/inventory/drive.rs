//! Drives, their partitions, filesystems and mounts, as values.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Card, Usb};
use crate::sysroot::{Space, Sysroot};
use crate::units::{Health, MemberState, Pool, Work};

/// A drive: a whole block device with hardware behind it (no loop, ram, zram, md, dm).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drive {
    /// Current kernel name: `sda`, `mmcblk0`, `nvme0n1`, `vda`. Not stable across boots.
    pub name: String,
    /// Device number of the whole drive (major, minor).
    pub device: (u32, u32),
    pub vendor: Option<String>,
    pub model: Option<String>,
    /// Revision of its firmware, where reported.
    pub firmware: Option<String>,
    pub serial: Option<String>,
    /// Whether another drive has the same serial.
    pub shared_serial: bool,
    /// World-wide name (SD and eMMC: the CID), where reported.
    pub wwid: Option<String>,
    /// The physical port: USB port path `1.3`, `SD slot`, `ata-2`, PCI address.
    pub bay: Option<String>,
    /// Name given to that port with `drivebench bay name`.
    pub bay_name: Option<String>,
    /// Bus type: `usb`, `mmc`, `nvme`, `ata`, `virtio`, `scsi`.
    pub bus: Option<String>,
    /// Address of the controller, stable across boots: `3f980000.usb-usbv2`, `0000:00:17.0`.
    pub controller: Option<String>,
    /// Id of the nearest bus above it.
    pub upstream: Option<String>,
    /// Speed that all drives of the bus share, Mb/s (10^6 bits), where reported.
    pub bus_mbps: Option<f64>,
    /// Negotiated link speed, Mb/s (10^6 bits), where reported.
    pub link_mbps: Option<f64>,
    /// Highest link speed that drive and port support, Mb/s, where reported.
    pub link_max_mbps: Option<f64>,
    /// Kernel driver: `uas`, `usb-storage`, `mmcblk`, `nvme`, `virtio_blk`.
    pub driver: Option<String>,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// Logical block size, bytes.
    pub logical_block: u32,
    /// Physical block size, bytes: smaller writes need a read first.
    pub physical_block: u32,
    /// The kernel's `rotational` flag; unreliable behind a USB bridge.
    pub rotational: bool,
    /// Media type, inferred from bus, name and SCSI pages.
    pub medium: Medium,
    pub removable: bool,
    pub read_only: bool,
    pub queue: Queue,
    pub usb: Option<Usb>,
    pub card: Option<Card>,
    pub health: Option<Health>,
    /// Bytes that drivebench has written to it, from the store's records; `None` if those weren't read.
    pub drivebench_wrote: Option<u64>,
    /// Signature of the whole drive, where it has no partitions.
    #[serde(flatten)]
    pub content: Signature,
    /// Partitions in the order of their start.
    pub partitions: Vec<Partition>,
    /// Kernel devices built on the drive or a partition: `md0`, `dm-1`.
    pub holders: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    Rotating,
    /// Flash: SSD, stick, card.
    Flash,
    /// Not known from a reliable source.
    #[default]
    Unknown,
}

/// The request queue of a drive: limits and cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Largest request, bytes.
    pub max_request: Option<u64>,
    /// Requests the kernel queues.
    pub requests: Option<u32>,
    /// Writes among them that the scheduler allows: mq-deadline's `async_depth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<u32>,
    /// Requests the drive accepts at once.
    pub depth: Option<u32>,
    /// `write back` if writes may stay in the drive's cache, else `write through`.
    pub write_cache: Option<String>,
    /// The latency that the kernel's throttling of writes (`wbt_lat_usec`) aims at, µs; 0 where it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_us: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Partition {
    pub name: String,
    pub device: (u32, u32),
    /// First sector of 512 bytes.
    pub start: u64,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    #[serde(flatten)]
    pub content: Signature,
}

/// Signature of a block device, from udev's database or a mount.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Signature {
    /// Filesystem or other signature: `ext4`, `swap`, `crypto_LUKS`, `linux_raid_member`.
    pub filesystem: Option<String>,
    pub label: Option<String>,
    pub uuid: Option<String>,
}

/// A block device built on others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layer {
    /// Current kernel name: `md0`, `dm-1`; the UUID for btrfs on several drives and for ZFS.
    pub name: String,
    /// Device-mapper name, where it has one: `vg-home`, `cryptroot`.
    pub alias: Option<String>,
    /// Device number (major, minor); btrfs and ZFS have none: (0, 0).
    pub device: (u32, u32),
    /// `raid1` and other levels, `crypt`, `lvm`, `dm`, `bcache`, `btrfs`, `zfs`, `loop`, `partition`.
    pub kind: String,
    /// Kernel names of its members: drives, partitions or other layers.
    pub members: Vec<String>,
    /// The state of each member of a pool, in their order.
    pub states: Vec<MemberState>,
    /// The pool that it is; `None` if it does not join several drives.
    pub pool: Option<Pool>,
    /// Background work of the kernel on an array.
    pub work: Option<Work>,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// Logical block size, bytes.
    pub logical_block: u32,
    #[serde(flatten)]
    pub content: Signature,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mount {
    pub path: String,
    /// Directory of the filesystem that is mounted there; `/` except for bind mounts and subvolumes.
    pub root: String,
    pub source: String,
    pub filesystem: String,
    /// Mount and filesystem options.
    pub options: Vec<String>,
    /// Device number (major, minor) that `stat` reports for files on it; btrfs and overlays have numbers of their own.
    pub device: (u32, u32),
    /// Its size and free space; `None` if unknown, as on a captured machine.
    pub space: Option<Space>,
}

/// Properties of a block device in udev's database.
pub(super) type Udev = HashMap<String, String>;

pub(super) const SD_SLOT: &str = "SD slot";

impl Queue {
    /// Whether a throttled write of md resumes only when the queue is empty. The kernel does so
    /// where a drive takes one request at a time and may keep writes in its cache.
    pub fn drains_writes(&self) -> bool {
        let may_keep = self.write_cache.as_deref() == Some("write back");
        may_keep && self.depth == Some(1) && self.throttle_us.is_some_and(|us| us > 0)
    }
}

impl Drive {
    pub fn in_sd_slot(&self) -> bool {
        self.bay.as_deref() == Some(SD_SLOT)
    }

    pub fn bytes(&self) -> u64 {
        self.sectors.saturating_mul(512)
    }

    pub fn node(&self) -> String {
        node(&self.name)
    }
}

/// The device node of a kernel name: that of `cciss!c0d0` is `/dev/cciss/c0d0`.
pub(super) fn node(name: &str) -> String {
    format!("/dev/{}", name.replace('!', "/"))
}

impl Mount {
    /// Whether it was mounted read-only, or its filesystem was.
    pub fn read_only(&self) -> bool {
        self.options.iter().any(|option| option == "ro")
    }
}

/// Media type of the drive at `dir`; the other fields of `drive` are already set.
pub(super) fn infer_medium(root: &Sysroot, dir: &str, udev: &Udev, drive: &Drive) -> Medium {
    let reported = if drive.rotational { Medium::Rotating } else { Medium::Flash };
    let rate = || root.bytes(&format!("{dir}/device/vpd_pgb1")).and_then(|page| by_rate(&page));
    // udev reads the rotation rate from the disk itself, through the bridge.
    let rpm = udev.get("ID_ATA_ROTATION_RATE_RPM").and_then(|rpm| rpm.parse::<u32>().ok());
    match drive.bus.as_deref() {
        Some("mmc" | "nvme") => Medium::Flash,
        Some("ata" | "scsi") => reported,
        Some("usb") => match rpm {
            Some(0) => Medium::Flash,
            Some(_) => Medium::Rotating,
            // The kernel assumes rotation unless the device reports otherwise.
            None if !drive.rotational || is_flash(drive) => Medium::Flash,
            None => rate().unwrap_or_default(),
        },
        _ => Medium::Unknown,
    }
}

/// Models of disks that a hypervisor or the kernel makes up, in capitals.
const VIRTUAL: [&str; 8] = [
    "QEMU ",
    "VBOX ",
    "VMWARE ",
    "VIRTUAL DISK",
    "AMAZON ELASTIC BLOCK STORE",
    "PERSISTENTDISK",
    "NVME_CARD-PD",
    "SCSI_DEBUG",
];

impl Drive {
    /// Whether it is a test device of the kernel, whose content is lost at the next boot.
    pub fn is_for_tests(&self) -> bool {
        self.name.starts_with("nullb") || self.model.as_deref() == Some("scsi_debug")
    }

    /// A drive of its own, as far as that is known: not one of a virtual machine, a network or a RAID controller.
    pub fn has_hardware(&self) -> bool {
        let model = self.model.as_deref().unwrap_or_default().to_uppercase();
        let made_up = VIRTUAL.iter().any(|name| model.starts_with(name));
        !made_up && !matches!(self.bus.as_deref(), None | Some("virtio" | "xen"))
    }
}

/// Sticks and cards are removable; SSDs have "SSD" in their model name.
fn is_flash(drive: &Drive) -> bool {
    let model = drive.model.as_deref().unwrap_or_default();
    drive.removable || model.split(|c: char| !c.is_alphanumeric()).any(|word| word == "SSD")
}

/// Page 0xb1 of a SCSI drive: revolutions per minute, 1 for non-rotating, 0 for not reported.
fn by_rate(page: &[u8]) -> Option<Medium> {
    match u16::from_be_bytes([*page.get(4)?, *page.get(5)?]) {
        1 => Some(Medium::Flash),
        0x0401..=0xfffe => Some(Medium::Rotating),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn writes_are_held_back_where_all_of_it_is_so() {
        let stick = Queue {
            depth: Some(1),
            write_cache: Some("write back".to_owned()),
            throttle_us: Some(75_000),
            ..Queue::default()
        };
        assert!(stick.drains_writes());
        let through = Queue { write_cache: Some("write through".to_owned()), ..stick.clone() };
        let off = Queue { throttle_us: Some(0), ..stick.clone() };
        let unknown = Queue { throttle_us: None, ..stick.clone() };
        for other in [through, off, unknown, Queue { depth: Some(32), ..stick }] {
            assert!(!other.drains_writes(), "{other:?}");
        }
    }

    fn of(drive: Drive, rpm: Option<&str>) -> Medium {
        let udev = rpm.map(|rpm| ("ID_ATA_ROTATION_RATE_RPM".to_owned(), rpm.to_owned()));
        let mut tree = Tree::empty();
        tree.bytes("sys/x/device/vpd_pgb1", &[0, 0xb1, 0, 0x3c, 0x15, 0x18]);
        infer_medium(&tree.sysroot(), "/sys/x", &udev.into_iter().collect(), &drive)
    }

    #[test]
    fn rotating_behind_a_usb_bridge_is_checked_against_other_sources() {
        let usb = || Drive { bus: Some("usb".to_owned()), rotational: true, ..Drive::default() };
        let model = |name: &str| Some(name.to_owned());
        assert_eq!(of(Drive { removable: true, ..usb() }, None), Medium::Flash, "a stick");
        assert_eq!(of(Drive { model: model("SSD 870 EVO"), ..usb() }, None), Medium::Flash);
        assert_eq!(of(Drive { model: model("XSSDX"), ..usb() }, Some("5400")), Medium::Rotating);
        assert_eq!(of(usb(), Some("0")), Medium::Flash, "reported by the disk itself");
        assert_eq!(of(Drive { rotational: false, ..usb() }, None), Medium::Flash);
        assert_eq!(of(usb(), None), Medium::Rotating, "5400 rpm in page 0xb1");
        assert_eq!(of(Drive { bus: None, ..usb() }, None), Medium::Unknown);
        assert_eq!((by_rate(&[0; 6]), by_rate(&[0; 5])), (None, None));
    }
}
