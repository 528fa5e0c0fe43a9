//! A pool that is to be built: its members, geometry and steps.

use serde::{Deserialize, Serialize};

use crate::{
    inventory::{Drive, Inventory},
    tools::{
        Change, Content, State, blockdev,
        dmsetup::{self, Segment},
        mdadm,
        mkfs::{Filesystem, Stripe},
        sgdisk, wipefs,
    },
    units::{KIB, Layout, MIB, count, decimal_bytes, size},
};

/// A pool that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub name: String,
    pub layout: Layout,
    /// Chunk size, bytes.
    pub chunk: u64,
    pub bitmap: bool,
    pub filesystem: Filesystem,
    /// Maximum bytes used of each drive; `None` for the whole drive.
    pub most: Option<u64>,
    /// UUIDs of the array and the filesystem.
    pub uuids: [String; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub identity: String,
    /// Model, serial and bay.
    pub label: String,
    /// Number of sectors of 512 bytes that the pool uses, from the start of the drive.
    pub sectors: u64,
    pub logical_block: u32,
    /// The partition; `None` if the pool uses the whole drive.
    pub part: Option<Part>,
}

/// A pool as it is built. Whatever a tool would choose by itself is given explicitly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub name: String,
    pub layout: Layout,
    /// Chunk size, bytes.
    pub chunk: u64,
    pub bitmap: bool,
    pub members: Vec<Member>,
    /// Start of the data on a member, bytes.
    pub data_offset: u64,
    /// What each member contributes, bytes; `None` where members may differ.
    pub size: Option<u64>,
    /// Capacity in sectors of 512 bytes.
    pub capacity: u64,
    pub filesystem: Filesystem,
    /// UUIDs of the array and the filesystem.
    pub uuids: [String; 2],
}

/// A step of building, in this order. Members are numbered as in [`Build::members`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Remove the signatures of a drive.
    Wipe(usize),
    Partition(usize),
    /// Remove what an earlier use left where the partition is.
    WipePart(usize),
    Join,
    Format,
}

impl Step {
    /// The member whose drive it prepares; `None` for steps of the whole pool.
    pub fn member(self) -> Option<usize> {
        match self {
            Self::Wipe(at) | Self::Partition(at) | Self::WipePart(at) => Some(at),
            Self::Join | Self::Format => None,
        }
    }
}

/// Whether this can be the name of a pool.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    name.len() <= 24 && name.chars().all(fits) && name.starts_with(|c: char| c.is_ascii_lowercase())
}

impl Request {
    /// The pool over these drives, or why it can't be built. Whether they may be erased is checked when they are claimed.
    pub fn plan(self, inventory: &Inventory, drives: &[&Drive]) -> Result<Build, String> {
        self.check(inventory, drives)?;
        let used = |drive: &Drive| self.most.map_or(drive.sectors, |most| drive.sectors.min(most / 512));
        let sizes: Vec<u64> = drives.iter().map(|drive| used(drive)).collect();
        let geometry = geometry(self.layout, &sizes, self.chunk).ok_or_else(|| {
            let least = drives.iter().min_by_key(|drive| drive.sectors).expect("checked");
            let (bytes, chunk) = (decimal_bytes(least.bytes()), size(self.chunk));
            let (drive, layout) = (least.label(), self.layout);
            format!("{drive} is too small: {bytes} for {layout} with a chunk of {chunk}")
        })?;
        let Geometry { parts, data_offset, size, capacity } = geometry;
        let member = |(at, drive): (usize, &&Drive)| Member {
            identity: drive.identity(),
            label: drive.label(),
            sectors: used(drive),
            logical_block: drive.logical_block,
            part: parts.get(at).copied(),
        };
        let members = drives.iter().enumerate().map(member).collect();
        let Self { name, layout, chunk, bitmap, filesystem, uuids, .. } = self;
        let chunk = if layout.is_striped() { chunk } else { 0 };
        Ok(Build {
            name,
            layout,
            chunk,
            bitmap: bitmap && layout.is_redundant(),
            members,
            data_offset,
            size,
            capacity,
            filesystem,
            uuids,
        })
    }

    fn check(&self, inventory: &Inventory, drives: &[&Drive]) -> Result<(), String> {
        let Self { name, layout, chunk, .. } = self;
        if !is_name(name) {
            return Err(format!(
                "'{name}' can't be the name of a pool: use up to 24 of a-z, 0-9, - and _, beginning with a letter"
            ));
        }
        let same =
            |layer: &crate::inventory::Layer| layer.name == *name || layer.alias.as_ref() == Some(name);
        if inventory.layers.iter().any(same) {
            return Err(format!("the name {name} is used by another pool or device"));
        }
        if !chunk.is_power_of_two() || !(4 * KIB..=64 * MIB).contains(chunk) {
            let chunk = size(*chunk);
            return Err(format!("a chunk has 4 KiB to 64 MiB and is a power of two; {chunk} is not"));
        }
        if drives.len() < layout.least() {
            let (least, given) = (count(layout.least() as u64, "drive"), drives.len());
            return Err(format!("{layout} needs at least {least}, {given} given"));
        }
        for (at, drive) in drives.iter().enumerate() {
            if let Some(other) = drives[..at].iter().find(|other| inventory.are_one(other, drive)) {
                let (a, b) = (other.label(), drive.label());
                return Err(format!("{a} and {b} are one piece of hardware: it would fail as a whole"));
            }
        }
        if *layout != Layout::Linear {
            return Ok(());
        }
        if let Some(drive) = drives.iter().find(|drive| drive.unique_id().is_none()) {
            return Err(format!(
                "{} has no serial of its own, so its place in a linear pool could not be recognised: use raid0",
                drive.label()
            ));
        }
        match drives.iter().find(|drive| drive.logical_block != drives[0].logical_block) {
            Some(odd) => Err(format!(
                "{} and {} have blocks of different sizes: a linear pool of both would be misaligned",
                drives[0].label(),
                odd.label()
            )),
            None => Ok(()),
        }
    }
}

impl Build {
    /// The path of the pool's device.
    pub fn path(&self) -> String {
        match self.layout {
            layout if layout.is_mapped() => format!("/dev/mapper/{}", self.name),
            _ => mdadm::path(&self.name),
        }
    }

    pub fn steps(&self) -> Vec<Step> {
        let members = || 0..self.members.len();
        let mut steps: Vec<Step> = members().map(Step::Wipe).collect();
        for at in members().filter(|at| self.members[*at].part.is_some()) {
            steps.extend([Step::Partition(at), Step::WipePart(at)]);
        }
        steps.extend([Step::Join, Step::Format]);
        steps
    }

    /// The path of the part of a member's drive that the pool uses; `drive` is the path of the drive.
    pub fn member_path(&self, at: usize, drive: &str) -> String {
        match self.members[at].part {
            None => drive.to_owned(),
            // Names that end in a digit, such as nvme0n1, have a letter before the partition's number.
            Some(_) if drive.ends_with(|c: char| c.is_ascii_digit()) => format!("{drive}p1"),
            Some(_) => format!("{drive}1"),
        }
    }

    /// The command of a step; `drives` are the paths of the members' drives now.
    pub fn change(&self, step: Step, drives: &[String]) -> Change<Content> {
        let path = |at: usize| self.member_path(at, &drives[at]);
        match step {
            Step::Wipe(at) => wipefs::wipe(&drives[at]),
            Step::WipePart(at) => wipefs::wipe(&path(at)),
            Step::Partition(at) => {
                let member = &self.members[at];
                let Part { start, sectors } = member.part.unwrap_or(Part { start: 0, sectors: 0 });
                let name = format!("{}-{}", self.name, at + 1);
                sgdisk::partition(&drives[at], &name, start, sectors, member.logical_block)
            }
            Step::Join if self.layout.is_mapped() => {
                let devices = drives.iter().zip(&self.members);
                let table = Segment::in_line(devices.map(|(path, m)| (path.as_str(), m.sectors)));
                dmsetup::create(&self.name, &self.mapping_uuid(), &table)
            }
            Step::Join => {
                let members: Vec<String> = (0..drives.len()).map(path).collect();
                let array = mdadm::Array {
                    name: &self.name,
                    uuid: &self.uuids[0],
                    layout: self.layout,
                    chunk: self.chunk,
                    size: self.size,
                    data_offset: self.data_offset,
                    bitmap: self.bitmap,
                };
                mdadm::create(&array, &members)
            }
            Step::Format => {
                let stripe = self.layout.is_striped().then(|| Stripe {
                    chunk: self.chunk,
                    data_members: self.layout.data_members(self.members.len()) as u64,
                });
                let label: String = self.name.chars().take(self.filesystem.longest_label()).collect();
                self.filesystem.make(&self.path(), &label, &self.uuids[1], stripe)
            }
        }
    }

    /// The command that starts the pool again, which changes nothing on its drives; `drives` are the paths of those that
    /// are plugged in. `None` if too many are missing.
    pub fn start(&self, drives: &[Option<String>]) -> Option<String> {
        let absent: Vec<bool> = drives.iter().map(Option::is_none).collect();
        if !self.layout.starts_without(&absent) {
            return None;
        }
        let missing = absent.contains(&true);
        Some(match drives.iter().cloned().collect::<Option<Vec<_>>>() {
            Some(all) if self.layout.is_mapped() => self.change(Step::Join, &all).to_string(),
            _ => mdadm::assemble(&self.path(), &self.uuids[0], missing).to_string(),
        })
    }

    /// The command that stops the pool, whose device is at `path`; what is stored stays.
    pub fn stop(&self, path: &str) -> Change<State> {
        match self.layout {
            layout if layout.is_mapped() => dmsetup::remove(&self.name, path),
            _ => mdadm::stop(path),
        }
    }

    /// The commands that remove from a member's drive, at `drive`, what the steps in `begun` left there. They may be run
    /// again. wipefs removes superblocks of md, too; mdadm fails where there is none.
    pub fn undo(&self, at: usize, begun: &[Step], drive: &str) -> Vec<Change<Content>> {
        let mut changes = Vec::new();
        changes
            .extend(begun.contains(&Step::Partition(at)).then(|| wipefs::wipe(&self.member_path(at, drive))));
        if begun.contains(&Step::Wipe(at)) {
            changes.extend([blockdev::flush(drive), wipefs::wipe(drive)]);
        }
        changes
    }

    /// The steps that prepare the drive of a member.
    pub fn preparation(&self, at: usize) -> Vec<Step> {
        self.steps().into_iter().filter(|step| step.member() == Some(at)).collect()
    }
}

/// Sectors of a MiB. Partitions start and end at multiples of it, as erase blocks, physical blocks and chunks do.
const ALIGNMENT: u64 = MIB / 512;

/// The partition of a member, in sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub start: u64,
    pub sectors: u64,
}

/// The partitions of an array, and where data starts on them. A linear pool has no partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Geometry {
    parts: Vec<Part>,
    /// Start of the data on a partition, bytes.
    data_offset: u64,
    /// What each member contributes, bytes; `None` where members may differ.
    size: Option<u64>,
    /// Capacity of the array, sectors of 512 bytes.
    capacity: u64,
}

/// A thousandth in whole MiB, within these limits in MiB; returns sectors.
fn thousandth(sectors: u64, least: u64, most: u64) -> u64 {
    (sectors / 1000 / ALIGNMENT).clamp(least, most) * ALIGNMENT
}

/// The partition on a drive. A thousandth of the drive, up to 100 MiB, stays free at its end, because a replacement of the same
/// capacity may be some sectors shorter.
fn part(drive: u64) -> Part {
    // The last MiB has the second copy of the partition table.
    let end = drive.saturating_sub(ALIGNMENT + thousandth(drive, 1, 100)) / ALIGNMENT * ALIGNMENT;
    Part { start: ALIGNMENT, sectors: end.saturating_sub(ALIGNMENT) }
}

/// The geometry of a pool over drives of these sizes; `chunk` in bytes. `None` if a drive is too small.
fn geometry(layout: Layout, drives: &[u64], chunk: u64) -> Option<Geometry> {
    if layout.is_mapped() {
        let capacity = layout.capacity(drives, 1);
        return Some(Geometry { parts: Vec::new(), data_offset: 0, size: None, capacity });
    }
    let mut parts: Vec<Part> = drives.iter().map(|drive| part(*drive)).collect();
    let least = parts.iter().map(|part| part.sectors).min()?;
    if layout.is_redundant() {
        // Equal partitions: what is left on larger drives stays usable.
        parts.iter_mut().for_each(|part| part.sectors = least);
    }
    // Room for the superblock, the bitmap, and later changes of the layout.
    let offset = thousandth(least, 1, 128);
    let step = (chunk / 512).max(ALIGNMENT);
    let data: Vec<u64> = parts.iter().map(|part| part.sectors.saturating_sub(offset) / step * step).collect();
    // Minimum data of a member; mdadm has minimums of its own.
    const LEAST: u64 = 32 * ALIGNMENT;
    data.iter().all(|sectors| *sectors >= LEAST).then(|| Geometry {
        data_offset: offset * 512,
        size: layout.is_redundant().then(|| data.iter().copied().min().unwrap_or(0) * 512),
        capacity: layout.capacity(&data, chunk / 512),
        parts,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_replacement_some_sectors_shorter_still_fits() {
        let drives = [121_077_760, 121_077_760, 121_077_761];
        let array = geometry(Layout::Raid5, &drives, 512 << 10).expect("fits");
        assert_eq!(array.parts[0], Part { start: 2048, sectors: 120_952_832 });
        let shorter = geometry(Layout::Raid5, &[121_077_760 - 100_000], 512 << 10).expect("fits");
        assert!(shorter.parts[0].sectors + 2 * 100_000 > array.parts[0].sectors);
        assert!(121_077_760 - (array.parts[0].start + array.parts[0].sectors) > 100_000);
    }

    proptest! {
        #[test]
        fn partitions_are_aligned_and_leave_room_for_both_tables(
            drives in prop::collection::vec(1u64 << 17..1 << 36, 2..9),
            layout in prop::sample::select(&Layout::ALL[1..]),
            chunk in 12u32..24,
        ) {
            let chunk = 1u64 << chunk;
            let Some(array) = geometry(layout, &drives, chunk) else {
                prop_assert!(drives.iter().any(|drive| *drive < (64 << 20) / 512 + 2 * chunk / 512));
                return Ok(());
            };
            for (part, drive) in array.parts.iter().zip(&drives) {
                prop_assert_eq!(part.start % 2048 + part.sectors % 2048, 0);
                prop_assert!(part.start + part.sectors + 34 < *drive);
                let size = array.size.unwrap_or(part.sectors * 512 - array.data_offset);
                prop_assert!(array.data_offset + size <= part.sectors * 512);
            }
            prop_assert_eq!(array.capacity * 512 % (if layout.is_striped() { chunk } else { 512 }), 0);
        }
    }
}
