//! A pool that is to be built: its members, geometry and steps.

use serde::{Deserialize, Serialize};

use super::geometry::{self, Part};
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
        let (parts, data_offset, size, capacity) = if self.layout.is_mapped() {
            (vec![None; drives.len()], 0, None, self.layout.capacity(&sizes, 1))
        } else {
            let array = geometry::of_array(self.layout, &sizes, self.chunk).ok_or_else(|| {
                let least = drives.iter().min_by_key(|drive| drive.sectors).expect("checked");
                let (bytes, chunk) = (decimal_bytes(least.bytes()), size(self.chunk));
                let (drive, layout) = (least.label(), self.layout);
                format!("{drive} is too small: {bytes} for {layout} with a chunk of {chunk}")
            })?;
            (array.parts.into_iter().map(Some).collect(), array.data_offset, array.size, array.capacity)
        };
        let member = |(drive, part): (&&Drive, Option<Part>)| Member {
            identity: drive.identity(),
            label: drive.label(),
            sectors: used(drive),
            logical_block: drive.logical_block,
            part,
        };
        let members = drives.iter().zip(parts).map(member).collect();
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
                mdadm::create(&self.array(), &members)
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
        let missing = absent.iter().filter(|is| **is).count();
        Some(match drives.iter().cloned().collect::<Option<Vec<_>>>() {
            Some(all) if self.layout.is_mapped() => self.change(Step::Join, &all).to_string(),
            _ => mdadm::assemble(&self.path(), &self.uuids[0], missing > 0).to_string(),
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

    fn array(&self) -> mdadm::Array<'_> {
        mdadm::Array {
            name: &self.name,
            uuid: &self.uuids[0],
            layout: self.layout,
            chunk: self.chunk,
            size: self.size,
            data_offset: self.data_offset,
            bitmap: self.bitmap,
        }
    }
}
