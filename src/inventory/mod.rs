//! What is here: machine, buses, bays, drives, filesystems. Reads a *sysroot* (`/` or a captured tree).

use serde::{Deserialize, Serialize};

/// What is here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// The computer.
    pub machine: Machine,
    /// Drives in the order of their bays.
    pub drives: Vec<Drive>,
    /// Mounted filesystems.
    pub mounts: Vec<Mount>,
}

/// The computer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Board or product name, where one is told: `Raspberry Pi Zero 2 W Rev 1.0`.
    pub board: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Architecture as in `uname -m`.
    pub arch: String,
    /// Distribution, from os-release's PRETTY_NAME.
    pub system: Option<String>,
    /// Processors online.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory: u64,
    /// CPU frequency governor, where there is one.
    pub governor: Option<String>,
    /// Hottest thermal zone, degrees Celsius.
    pub temperature: Option<f64>,
    /// Raspberry Pi firmware's `get_throttled` bits, where told.
    pub throttled: Option<u32>,
}

/// A drive: a whole block device with something real behind it (no loop, ram, zram, md, dm).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// The kernel's name of today: `sda`, `mmcblk0`, `nvme0n1`, `vda`. An accident of boot order.
    pub name: String,
    /// Device number of the whole drive (major, minor).
    pub device: (u32, u32),
    /// Vendor, where told.
    pub vendor: Option<String>,
    /// Model, where told.
    pub model: Option<String>,
    /// Serial number (SD: the CID), where told.
    pub serial: Option<String>,
    /// World-wide name, where told.
    pub wwid: Option<String>,
    /// The physical port: USB port path `1.3`, `SD slot`, PCI address.
    pub bay: Option<String>,
    /// What links it: `usb`, `mmc`, `nvme`, `ata`, `virtio`, `scsi`.
    pub bus: Option<String>,
    /// Negotiated link speed in Mb/s (10^6 bits), where told.
    pub link_mbps: Option<f64>,
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
    /// Says its medium can be removed.
    pub removable: bool,
    /// Write-protected.
    pub read_only: bool,
    /// Partitions in the order of their start.
    pub partitions: Vec<Partition>,
    /// What uses the whole drive or a partition: `md0`, `dm-1`, swap, mount points.
    pub holders: Vec<String>,
}

/// A partition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// The kernel's name of today.
    pub name: String,
    /// Device number (major, minor).
    pub device: (u32, u32),
    /// First sector of 512 bytes.
    pub start: u64,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// Filesystem or other signature with its label, where told without root (udev's database or a mount).
    pub filesystem: Option<String>,
    /// Label, where told.
    pub label: Option<String>,
}

/// A mounted filesystem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mount {
    /// Where it is mounted.
    pub path: String,
    /// What is mounted, such as `/dev/sda1`.
    pub source: String,
    /// Filesystem type.
    pub filesystem: String,
    /// Options, of the mount and of the filesystem.
    pub options: Vec<String>,
    /// Device number (major, minor) that `stat` reports for files on it; btrfs and overlays have numbers of their own.
    pub device: (u32, u32),
}
