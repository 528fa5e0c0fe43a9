//! Checks before and after a run: conditions that may affect the result are recorded, and flagged where they matter.

mod io_limits;
mod processors;
mod snapshot;

use serde::{Deserialize, Serialize};

pub use processors::{Core, ProcessorWatch, Processors};
pub use snapshot::{Activity, Resync, Snapshot, bytes_written, counted};

use crate::{
    inventory::{Drive, Inventory, Layer},
    target::{Kind, Target},
    units::{MIB, count, decimal_bytes, listed, percent, rate, size},
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name: `governor`, `free space`.
    pub name: String,
    /// Value with unit; `unknown` if not available.
    pub value: String,
    /// Set if it may affect the result: a full sentence.
    pub flag: Option<String>,
}

/// The name of checks of I/O by other programs.
const OTHER_IO: &str = "other I/O";
/// Filesystems on another machine.
const NETWORK: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs", "lustre"];
/// Layers that pass each request on to one drive.
const PLAIN: [&str; 3] = ["crypt", "lvm", "partition"];
/// Drives busier than this with other I/O are flagged.
const BUSY: f64 = 0.05;
/// Other programs that use a larger share of all processors are flagged.
const IN_USE: f64 = 0.5;
/// Raspberry Pi boards throttle from 80 °C, most others somewhat later.
const HOT: f64 = 80.0;
/// Other I/O below this, or below 2 % of the run's own, is not flagged: metadata, journals, small system reads.
const SMALL: u64 = 4 * MIB;

impl Check {
    /// Whether other programs used the drive.
    pub fn saw_other_io(&self) -> bool {
        self.name == OTHER_IO && self.flag.is_some()
    }
}

/// Checks before a run, in a fixed order. `earlier` and `now` are at least a second apart, without I/O of drivebench between them.
pub fn check_before(
    inventory: &Inventory,
    target: &Target,
    earlier: &Snapshot,
    now: &Snapshot,
) -> Vec<Check> {
    let machine = &inventory.machine;
    let mut checks = vec![drive(inventory, target), filesystem(target), layers(inventory, target)];
    checks.extend(pool(inventory, target));
    checks.extend(other_io(target, earlier, now));
    checks.extend([
        swap(inventory, target),
        arrays(inventory, target, now),
        free_space(target),
        memory(machine.memory, now),
        processors(machine.cpus, earlier, now),
        governor(machine.governor.as_deref()),
        temperature(None, now),
        throttling(now),
        control_group(target, now),
    ]);
    checks
}

/// Checks after a run from `start` to `end`. `moved` are the bytes that the run moved on the target, or on all targets that
/// share its drive; `None` if unknown.
pub fn check_after(
    inventory: &Inventory,
    target: &Target,
    start: &Snapshot,
    end: &Snapshot,
    moved: Option<BytesMoved>,
) -> Vec<Check> {
    let mut checks = other_io_during(inventory, target, start, end, moved);
    checks.extend([
        arrays(inventory, target, end),
        temperature(Some(start), end),
        throttled_since(start, end),
    ]);
    checks
}

/// Bytes that were read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesMoved {
    pub read: u64,
    pub written: u64,
}

impl BytesMoved {
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            written: self.written.saturating_add(other.written),
        }
    }
}

fn check(name: &str, value: impl Into<String>, flag: Option<String>) -> Check {
    Check { name: name.to_owned(), value: value.into(), flag }
}

fn joined(values: &[String], none: &str) -> String {
    if values.is_empty() { none.to_owned() } else { values.join(", ") }
}

/// Whether a filesystem of this type is on another machine.
pub fn is_network(filesystem: &str) -> bool {
    NETWORK.contains(&filesystem) || ["fuse.sshfs", "fuse.rclone", "fuse.glusterfs"].contains(&filesystem)
}

fn drive(inventory: &Inventory, target: &Target) -> Check {
    let labels: Vec<String> = target.drives.iter().map(|drive| drive.label()).collect();
    let filesystem = target.mount.as_ref().map_or("", |mount| mount.filesystem.as_str());
    let given = &target.given;
    let flag = if target.is_memory() {
        Some(format!("{given} is {filesystem}: this measures memory, not a drive."))
    } else if is_network(filesystem) {
        Some(format!("{given} is {filesystem}: this measures the network and another machine too."))
    } else {
        let unknown = || format!("The drive of {given} is unknown: other I/O on it can't be detected.");
        let is_virtual = |drive: &&Drive| drive.bus.is_some() && !drive.has_hardware();
        let made_up = target.drives.iter().find(is_virtual).filter(|_| inventory.machine.lab.is_none());
        let cached = |drive: &Drive| {
            format!(
                "{} is a virtual drive: its host may keep in memory what is read and written.",
                drive.name
            )
        };
        made_up.map(cached).or_else(|| labels.is_empty().then(unknown))
    };
    check("drive", joined(&labels, "none"), flag)
}

fn filesystem(target: &Target) -> Check {
    let Some(mount) = &target.mount else {
        let value = if target.kind == Kind::BlockDevice { "none, block device" } else { "unknown" };
        return check("filesystem", value, None);
    };
    let compression = mount.options.iter().find(|option| {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let keys = ["compress", "compress-force", "compression", "compress_algorithm"];
        keys.contains(&key) && value != "no" && value != "none"
    });
    let (path, kind) = (&mount.path, mount.filesystem.as_str());
    let flag = match compression {
        Some(option) => {
            Some(format!("{path} is compressed ({option}): this measures the filesystem, not the drive."))
        }
        None if kind == "zfs" => Some(format!("{path} is zfs, which has its own cache and may compress.")),
        None if kind.starts_with("fuse") && !is_network(kind) => {
            Some(format!("{path} is a FUSE filesystem: its program may be the limit, not the drive."))
        }
        None => None,
    };
    check("filesystem", format!("{kind} on {path}"), flag)
}

fn layers(inventory: &Inventory, target: &Target) -> Check {
    let name = |layer: &Layer| format!("{} ({})", layer.name, layer.kind);
    let first = |fits: fn(&str) -> bool| target.layers_in(inventory).find(|l| fits(&l.kind)).map(name);
    let other = first(|kind| !PLAIN.contains(&kind))
        .map(|name| format!("The target is on {name}: this measures that too, not one drive alone."));
    let crypt = first(|kind| kind == "crypt")
        .map(|name| format!("The target is on {name}: encryption may be the limit, not the drive."));
    let names: Vec<String> = target.layers_in(inventory).map(name).collect();
    check("layers", joined(&names, "none"), other.or(crypt))
}

/// The state of the target's pool. The speeds of a degraded pool differ from those of the complete one.
fn pool(inventory: &Inventory, target: &Target) -> Option<Check> {
    let mut layers = target.layers_in(inventory);
    let (layer, pool) = layers.find_map(|layer| Some((layer, layer.pool.as_ref()?)))?;
    let (what, state) = (pool.describe(), pool.state_in_words(layer.work.as_ref()));
    let flag = (pool.degraded > 0).then(|| {
        format!("The pool is {state}: its speeds can't be compared with those of the complete pool.")
    });
    Some(check("pool", format!("{what}, {state}"), flag))
}

fn other_io(target: &Target, earlier: &Snapshot, now: &Snapshot) -> Vec<Check> {
    let elapsed = earlier.uptime.zip(now.uptime).map(|(from, to)| to - from).filter(|&seconds| seconds > 0.0);
    let one = |drive: &str| {
        let Some((seconds, activity)) = elapsed.zip(earlier.between(now, drive)) else {
            return check(OTHER_IO, format!("{drive}: unknown"), None);
        };
        let share = (activity.busy / seconds).min(1.0);
        let [read, written] = [activity.read, activity.written].map(|bytes| rate(bytes as f64 / seconds));
        let value = format!("{drive}: {read} read, {written} written, busy {}", percent(share));
        let flag = (share > BUSY).then(|| format!("Other I/O just before the run on {value}."));
        check(OTHER_IO, value, flag)
    };
    target.drives.iter().map(|drive| one(&drive.name)).collect()
}

fn is_on(target: &Target, drive: &Drive) -> bool {
    target.drives.iter().any(|one| one.name == drive.name)
}

fn swap(inventory: &Inventory, target: &Target) -> Check {
    let drives = inventory.swap_drives();
    let drive = drives.iter().find(|drive| is_on(target, drive)).map(|drive| drive.label());
    let flag = drive.map(|drive| format!("{drive} holds swap: swapping during the run affects the result."));
    check("swap", joined(&inventory.swaps, "none"), flag)
}

fn arrays(inventory: &Inventory, target: &Target, now: &Snapshot) -> Check {
    let value: Vec<String> =
        now.resyncs.iter().map(|resync| format!("{} on {}", resync.what, resync.array)).collect();
    let touches = |array: &str| {
        let layer = inventory.blocks().find(|block| block.name() == array);
        inventory.stack_of(layer).drives.iter().any(|drive| is_on(target, drive))
    };
    let flag = now.resyncs.iter().find(|resync| touches(&resync.array));
    let flag = flag.map(|r| {
        format!(
            "{} runs a {} on this drive: wait until it ends, because results meanwhile can't be compared.",
            r.array, r.what
        )
    });
    check("arrays", joined(&value, "none active"), flag)
}

fn control_group(target: &Target, now: &Snapshot) -> Check {
    let own = now.drives.iter().filter(|one| target.drives.iter().any(|drive| drive.name == one.drive));
    let limits: Vec<&str> = own.flat_map(|one| &one.limits).map(String::as_str).collect();
    let limits = (!limits.is_empty()).then(|| listed(&limits));
    let flag = limits
        .as_ref()
        .map(|limits| format!("The control group limits {limits}: run it outside of that group."));
    check("control group", limits.unwrap_or_else(|| "no limit".to_owned()), flag)
}

fn free_space(target: &Target) -> Check {
    let Some((free, capacity)) = target.free.zip(target.capacity).filter(|&(_, capacity)| capacity > 0)
    else {
        return check("free space", "unknown", None);
    };
    let share = free as f64 / capacity as f64;
    let [free, capacity] = [free, capacity].map(decimal_bytes);
    let flag = (target.kind == Kind::Directory && share < 0.05)
        .then(|| format!("Only {free} free: nearly full filesystems and flash drives are slower."));
    check("free space", format!("{free} of {capacity}, {}", percent(share)), flag)
}

fn memory(total: Option<u64>, now: &Snapshot) -> Check {
    let total = total.map_or_else(|| "unknown".to_owned(), size);
    let Some(available) = now.memory_available else { return check("memory", total, None) };
    let (low, available) = (available < 96 * MIB, size(available));
    let flag = || format!("Only {available} of memory available: the system may swap during the run.");
    check("memory", format!("{available} of {total} available"), low.then(flag))
}

fn processors(cpus: Option<u32>, earlier: &Snapshot, now: &Snapshot) -> Check {
    let idle = || Some((now.idle? - earlier.idle?) / (now.uptime? - earlier.uptime?) / f64::from(cpus?));
    let Some(idle) = idle().filter(|idle| idle.is_finite()) else {
        return check("processors", "unknown", None);
    };
    let busy = (1.0 - idle).clamp(0.0, 1.0);
    let value = format!("{} of {}", percent(busy), count(u64::from(cpus.unwrap_or(0)), "processor"));
    let flag = (busy > IN_USE).then(|| format!("Other programs used {value} just before the run."));
    check("processors", value, flag)
}

fn governor(governor: Option<&str>) -> Check {
    let flag = governor.filter(|&governor| governor != "performance");
    let flag = flag
        .map(|now| format!("The CPU governor is {now}: small blocks may be slower than with performance."));
    check("governor", governor.unwrap_or("unknown"), flag)
}

/// The temperature now, and that of the beginning of a run.
fn temperature(start: Option<&Snapshot>, now: &Snapshot) -> Check {
    let Some(degrees) = now.temperature else { return check("temperature", "unknown", None) };
    let flag = (degrees >= HOT).then(|| format!("The processor is at {degrees:.0} °C and may be throttled."));
    let from = start.and_then(|start| start.temperature).map(|from| format!("{from:.0} to "));
    check("temperature", format!("{}{degrees:.0} °C", from.unwrap_or_default()), flag)
}

/// Names of the firmware's bits: 0 to 3 are the current state, 16 to 19 tell what has happened since boot.
const BITS: [&str; 4] = ["undervoltage", "frequency capped", "throttled", "soft temperature limit"];

fn decode(bits: u32) -> Option<String> {
    let names = BITS.into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| name);
    Some(names.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
}

fn describe(bits: u32) -> String {
    let now = decode(bits).map(|now| format!("now: {now}"));
    let since = decode(bits >> 16 & !bits).map(|since| format!("since boot: {since}"));
    let all: Vec<String> = now.into_iter().chain(since).collect();
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

fn throttling(now: &Snapshot) -> Check {
    let Some(bits) = now.throttled else { return check("throttling", "unknown", None) };
    let now =
        decode(bits).map(|now| format!("The firmware reports {now}: the board runs slower than normal."));
    let since = decode(bits >> 16);
    let since = since.map(|since| format!("The firmware reports {since} since boot; it may happen again."));
    check("throttling", describe(bits), now.or(since))
}

/// I/O on the drives beyond that of the run. Not computed for arrays, which copy or split writes.
fn other_io_during(
    inventory: &Inventory,
    target: &Target,
    start: &Snapshot,
    end: &Snapshot,
    moved: Option<BytesMoved>,
) -> Vec<Check> {
    let countable = moved.is_some()
        && target.drives.len() == 1
        && target.layers_in(inventory).all(|layer| PLAIN.contains(&layer.kind.as_str()));
    let moved = moved.unwrap_or_default();
    let one = |activity: Activity| {
        let [read, written] = [activity.read, activity.written].map(decimal_bytes);
        let value = format!("{}: {read} read, {written} written in total", activity.drive);
        let more = [(activity.read, moved.read), (activity.written, moved.written)]
            .map(|(total, run)| total.saturating_sub(run));
        let limit = SMALL.max(moved.read.saturating_add(moved.written) / 50);
        let flag = countable && more[0].saturating_add(more[1]) > limit;
        let [read, written] = more.map(decimal_bytes);
        let drive = &activity.drive;
        let flag =
            flag.then(|| format!("Other I/O on {drive} during the run: {read} read, {written} written."));
        check(OTHER_IO, value, flag)
    };
    target.drives.iter().filter_map(|drive| start.between(end, &drive.name)).map(one).collect()
}

fn throttled_since(start: &Snapshot, end: &Snapshot) -> Check {
    let Some((before, after)) = start.throttled.zip(end.throttled) else {
        return check("throttling", "unknown", None);
    };
    // Bits since boot count only if they were set during the run.
    let during = decode(after | (after >> 16 & !(before >> 16)));
    let flag = during.map(|during| format!("During the run the firmware reported {during}."));
    check("throttling", describe(after), flag)
}

#[cfg(test)]
mod tests;
