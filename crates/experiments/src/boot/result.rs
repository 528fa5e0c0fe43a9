//! A boot as systemd reports it.

use serde::{Deserialize, Serialize};

use crate::record::Observation;

/// A boot, and those before it that it is compared with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Boots {
    pub this: Boot,
    /// Earlier boots of the same machine, oldest first.
    pub earlier: Vec<Boot>,
}

/// Times are seconds since the kernel started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Boot {
    /// The run that recorded it.
    pub run: String,
    pub boot_id: String,
    /// Machine id of the system; a copy of it on another drive has the same.
    pub machine_id: Option<String>,
    /// The serial number of the board, where it reports one.
    pub board_serial: Option<String>,
    /// The identity of the drive of its root, or of several.
    pub root: String,
    pub label: String,
    /// Its link, as far as known: `mmc`, `usb 5000 Mb/s`.
    pub link: String,
    pub systemd: String,
    /// Time of the firmware, s, if it reports one.
    pub firmware: Option<f64>,
    /// Time of the boot loader, s, if it reports one.
    pub loader: Option<f64>,
    /// The start of a systemd in the initrd.
    pub initrd: Option<f64>,
    /// The start of systemd.
    pub userspace: f64,
    /// When systemd had started all.
    pub finish: f64,
    pub reads: Option<RootReads>,
}

/// What was read from the drive of the root since it was connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RootReads {
    pub bytes: u64,
    /// Sum of the times of all reads, s; concurrent reads each count in full.
    pub seconds: f64,
    /// When these counters were read.
    pub until: f64,
}

impl Boot {
    /// Whether both are of the same machine: the same board, where both report that; else the same system or a copy of it.
    pub fn is_same_machine(&self, other: &Self) -> bool {
        match (&self.board_serial, &other.board_serial) {
            (Some(a), Some(b)) => a == b,
            _ => self.machine_id.is_some() && self.machine_id == other.machine_id,
        }
    }

    /// The drive with its link, which both matter.
    pub fn drive_and_link(&self) -> String {
        if self.link.is_empty() { self.label.clone() } else { format!("{} ({})", self.label, self.link) }
    }

    /// Whether both are from the same drive, linked in the same way.
    pub fn is_same_medium(&self, other: &Self) -> bool {
        (&self.root, &self.link) == (&other.root, &other.link)
    }

    /// From the start of the kernel to that of systemd, or of the systemd in the initrd, s.
    pub fn kernel_seconds(&self) -> f64 {
        self.initrd.unwrap_or(self.userspace)
    }

    /// From the start of the systemd in the initrd to that of the system, s.
    pub fn initrd_seconds(&self) -> Option<f64> {
        Some((self.userspace - self.initrd?).max(0.0))
    }

    /// From the start of systemd until all was started, s.
    pub fn userspace_seconds(&self) -> f64 {
        (self.finish - self.userspace).max(0.0)
    }
}

crate::kind!("boots", Boots as Observation);

impl Observation for Boots {}
