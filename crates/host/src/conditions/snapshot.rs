//! Counters of the machine at one moment; the difference of two is what happened between.

use serde::{Deserialize, Serialize};

use super::{BytesMoved, io_limits::io_limits, processors};
use crate::{
    inventory::{Drive, machine},
    sysroot::Sysroot,
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Seconds since boot, including suspend.
    pub uptime: Option<f64>,
    /// I/O of each drive since it was connected.
    pub drives: Vec<Activity>,
    /// Time that processors were idle or waited for drives since boot, in seconds of all processors.
    pub idle: Option<f64>,
    /// Hottest thermal zone, degrees Celsius.
    pub temperature: Option<f64>,
    /// Raspberry Pi firmware's `get_throttled` bits.
    pub throttled: Option<u32>,
    /// Available memory, bytes.
    pub memory_available: Option<u64>,
    /// Arrays that the kernel resynchronises, rebuilds, reshapes or checks.
    pub resyncs: Vec<Resync>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// Kernel name of the drive.
    pub drive: String,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Time with I/O in flight, s.
    pub busy: f64,
    /// Sum of the durations of its reads, s.
    #[serde(default)]
    pub reading: f64,
    /// Limits of control groups on it, such as `reads of vda to 10.5 MB/s`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resync {
    /// The array: `md0`.
    pub array: String,
    /// `resync`, `recovery`, `reshape` or `check`.
    pub what: String,
}

impl Snapshot {
    pub fn take<'a>(root: &Sysroot, drives: impl IntoIterator<Item = &'a Drive>) -> Self {
        let first = |path: &str| root.word(path)?.split(' ').next()?.parse().ok();
        let of_drive = |drive: &Drive| {
            Some(Activity { limits: io_limits(root, &drive.name), ..activity(root, &drive.name)? })
        };
        Self {
            uptime: first("/proc/uptime"),
            drives: drives.into_iter().filter_map(of_drive).collect(),
            idle: processors::idle(root),
            temperature: machine::temperature(root),
            throttled: machine::throttled(root),
            memory_available: machine::memory(root, "MemAvailable"),
            resyncs: parse_mdstat(&root.text("/proc/mdstat").unwrap_or_default()),
        }
    }

    /// I/O of a drive from `self` to `later`; `None` if one of them lacks the drive.
    pub fn between(&self, later: &Self, drive: &str) -> Option<Activity> {
        let activity_in = |all: &[Activity]| all.iter().find(|activity| activity.drive == drive).cloned();
        let (before, after) = (activity_in(&self.drives)?, activity_in(&later.drives)?);
        Some(Activity {
            read: after.read.saturating_sub(before.read),
            written: after.written.saturating_sub(before.written),
            busy: (after.busy - before.busy).max(0.0),
            reading: (after.reading - before.reading).max(0.0),
            ..after
        })
    }
}

/// Bytes written to a block device since it was connected.
pub fn bytes_written(root: &Sysroot, name: &str) -> Option<u64> {
    activity(root, name).map(|activity| activity.written)
}

/// Bytes that these drives moved since they were connected, by the kernel's counters; `None` without drives, or if one is unknown.
pub fn counted(root: &Sysroot, drives: &[Drive]) -> Option<BytesMoved> {
    let each = drives.iter().map(|drive| activity(root, &drive.name));
    let moved = each.map(|a| a.map(|a| BytesMoved { read: a.read, written: a.written }));
    moved.reduce(|a, b| Some(a?.and(b?))).flatten()
}

/// Reads a block device's `stat`, see the kernel's Documentation/block/stat.rst: sectors have 512 bytes, times are in ms.
fn activity(root: &Sysroot, drive: &str) -> Option<Activity> {
    let text = root.word(&format!("/sys/block/{drive}/stat"))?;
    let fields: Vec<u64> = text.split(' ').map_while(|field| field.parse().ok()).collect();
    Some(Activity {
        drive: drive.to_owned(),
        read: fields.get(2)?.saturating_mul(512),
        written: fields.get(6)?.saturating_mul(512),
        busy: *fields.get(9)? as f64 / 1000.0,
        reading: *fields.get(3)? as f64 / 1000.0,
        limits: Vec::new(),
    })
}

/// `md0 : active raid1 ...`, and some lines below `[=>...]  resync =  8.5% (...)` or `resync=DELAYED`.
fn parse_mdstat(text: &str) -> Vec<Resync> {
    let mut resyncs = Vec::new();
    let mut array = "";
    for line in text.lines() {
        if let Some((name, _)) = line.split_once(" : ").filter(|(name, _)| name.starts_with("md")) {
            array = name;
            continue;
        }
        let is_named =
            |what: &&str| line.contains(&format!("{what} =")) || line.contains(&format!("{what}="));
        let what = ["resync", "recovery", "reshape", "check"].into_iter().find(is_named);
        resyncs.extend(what.map(|what| Resync { array: array.to_owned(), what: what.to_owned() }));
    }
    resyncs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures;

    #[test]
    fn io_of_a_drive_between_two_snapshots() {
        let mut tree = fixtures::virtual_machine();
        let inventory = tree.inventory();
        // Linux 6.18, then ten seconds and 1 MiB later.
        tree.file("sys/block/vda/stat", " 4259950     6953 37846186   985217   144179    10777  6310840     8168        0    35468   993560     3753       23   214904      151     1021       23\n");
        tree.file("proc/uptime", "2360.12 4500.00\n");
        let before = Snapshot::take(&tree.sysroot(), &inventory.drives);
        tree.file(
            "sys/block/vda/stat",
            " 4259951 6953 37848234 985217 144179 10777 6310840 8168 3 35968 993560\n",
        );
        tree.file("proc/uptime", "2370.12 4500.00\n")
            .file("proc/stat", "cpu  1 2 3 8 0\ncpu0 1 2 3 4 4 0 0 0\n");
        let after = Snapshot::take(&tree.sysroot(), &inventory.drives);
        let activity = before.between(&after, "vda").expect("activity");
        assert_eq!((activity.read, activity.written), (1 << 20, 0));
        assert_eq!(before.drives[0].reading, 985.217);
        assert!((activity.busy - 0.5).abs() < 1e-9);
        assert_eq!((after.idle, after.memory_available), (Some(0.08), Some(23_410_020 * 1024)));
        assert_eq!(before.between(&after, "sda"), None);
        tree.file("sys/block/vda/stat", "1 2 x\n");
        assert!(Snapshot::take(&tree.sysroot(), &inventory.drives).drives.is_empty());
    }

    #[test]
    fn reads_mdstat() {
        let arrays = parse_mdstat(&fixtures::pc().sysroot().text("proc/mdstat").expect("mdstat"));
        assert_eq!(arrays, [Resync { array: "md0".to_owned(), what: "resync".to_owned() }]);
        let text = "md127 : active (auto-read-only) raid5 sdc1[3] sdb1[1] sda1[0]\n      \
            resync=PENDING\nmd1 : active raid1 sdd1[0]\n      8 blocks [2/2] [UU]\n";
        assert_eq!(parse_mdstat(text), [Resync { array: "md127".to_owned(), what: "resync".to_owned() }]);
    }
}
