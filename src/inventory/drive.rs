//! Drives and what stands on them, as values.

use serde::{Deserialize, Serialize};

use super::{Card, Medium, Queue, Usb};
use crate::sysroot::Space;
use crate::units::Health;

/// A drive: a whole block device with something real behind it (no loop, ram, zram, md, dm).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drive {
    /// The kernel's name of today: `sda`, `mmcblk0`, `nvme0n1`, `vda`. An accident of boot order.
    pub name: String,
    /// Device number of the whole drive (major, minor).
    pub device: (u32, u32),
    /// Vendor, where told.
    pub vendor: Option<String>,
    /// Model, where told.
    pub model: Option<String>,
    /// Serial number, where told.
    pub serial: Option<String>,
    /// Another drive here has the same serial.
    pub shared_serial: bool,
    /// World-wide name (SD and eMMC: the CID), where told.
    pub wwid: Option<String>,
    /// The physical port: USB port path `1.3`, `SD slot`, `ata-2`, PCI address.
    pub bay: Option<String>,
    /// What people named that port.
    pub bay_name: Option<String>,
    /// What links it: `usb`, `mmc`, `nvme`, `ata`, `virtio`, `scsi`.
    pub bus: Option<String>,
    /// The one bus among its kind, by an address that outlives a boot: `3f980000.usb-usbv2`, `0000:00:17.0`.
    pub controller: Option<String>,
    /// The nearest of the inventory's buses above it, by its id.
    pub upstream: Option<String>,
    /// What all drives of the bus share, Mb/s (10^6 bits), where told.
    pub bus_mbps: Option<f64>,
    /// Negotiated link speed in Mb/s (10^6 bits), where told.
    pub link_mbps: Option<f64>,
    /// The most this link could be by what drive and port say, Mb/s, where told.
    pub link_max_mbps: Option<f64>,
    /// Kernel driver: `uas`, `usb-storage`, `mmcblk`, `nvme`, `virtio_blk`.
    pub driver: Option<String>,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// Smallest unit that can be addressed, bytes.
    pub logical_block: u32,
    /// Smallest unit it writes without reading first, bytes.
    pub physical_block: u32,
    /// Says it rotates; not to be trusted behind a USB bridge.
    pub rotational: bool,
    /// What it is believed to keep its data on.
    pub medium: Medium,
    /// Says its medium can be removed.
    pub removable: bool,
    /// Write-protected.
    pub read_only: bool,
    /// How the kernel talks to it.
    pub queue: Queue,
    /// What a USB drive or its bridge says of itself.
    pub usb: Option<Usb>,
    /// What an SD card or eMMC says of itself.
    pub card: Option<Card>,
    /// Its state and wear, as far as it was asked.
    pub health: Option<Health>,
    /// Bytes that drivebench has written to it, by the store's records; none where they weren't read.
    pub drivebench_wrote: Option<u64>,
    /// What stands on the whole drive, where it has no partitions.
    #[serde(flatten)]
    pub content: Content,
    /// Partitions in the order of their start.
    pub partitions: Vec<Partition>,
    /// What the kernel has built on the whole drive or a partition: `md0`, `dm-1`.
    pub holders: Vec<String>,
}

/// A partition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Partition {
    /// The kernel's name of today.
    pub name: String,
    /// Device number (major, minor).
    pub device: (u32, u32),
    /// First sector of 512 bytes.
    pub start: u64,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// What stands on it.
    #[serde(flatten)]
    pub content: Content,
}

/// What stands on a block device, as far as udev's database or a mount tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Content {
    /// Filesystem or other signature: `ext4`, `swap`, `crypto_LUKS`, `linux_raid_member`.
    pub filesystem: Option<String>,
    /// Its label.
    pub label: Option<String>,
    /// Its UUID.
    pub uuid: Option<String>,
    /// Bytes of its blocks, the smallest it writes, where told.
    pub block_size: Option<u32>,
}

/// A block device made of others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layer {
    /// The kernel's name of today: `md0`, `dm-1`; the UUID where btrfs spans several drives.
    pub name: String,
    /// Its name among people, where it has one: `vg-home`, `cryptroot`.
    pub alias: Option<String>,
    /// Device number (major, minor); btrfs has none: (0, 0).
    pub device: (u32, u32),
    /// `raid1` and so on, `crypt`, `lvm`, `dm`, `bcache`, `btrfs`, `partition`.
    pub kind: String,
    /// The kernel's names of what it is made of: drives, partitions or other layers.
    pub members: Vec<String>,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// Smallest unit that can be addressed, bytes.
    pub logical_block: u32,
    /// What stands on it.
    #[serde(flatten)]
    pub content: Content,
}

/// A mounted filesystem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mount {
    /// Where it is mounted.
    pub path: String,
    /// Which directory of the filesystem is mounted there; `/` but for bind mounts and subvolumes.
    pub root: String,
    /// What is mounted, such as `/dev/sda1`.
    pub source: String,
    /// Filesystem type.
    pub filesystem: String,
    /// Options, of the mount and of the filesystem.
    pub options: Vec<String>,
    /// Device number (major, minor) that `stat` reports for files on it; btrfs and overlays have numbers of their own.
    pub device: (u32, u32),
    /// Its size and what is free of it.
    pub space: Option<Space>,
}

impl Drive {
    /// Size, bytes.
    pub fn bytes(&self) -> u64 {
        self.sectors.saturating_mul(512)
    }

    /// Its device node of today.
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
