//! The array that a drive is taken from: how its members stand.

use std::collections::BTreeMap;

use crate::{
    inventory::{Block, Drive, Inventory, Layer, in_array, work},
    run::BuildError,
    sysroot::Sysroot,
    tools::{
        Runner,
        mdadm::{self, MemberFlags},
    },
    units::{MemberState, Work, listed},
};

/// What to do about an array that lost drives. What is on all of them may be needed to put it together.
pub const ADVICE: &str = "Erase none of its drives, and add none as a new one. Plug in again what was lost";

/// An array, and its member on the drive that is taken away.
#[derive(Debug, Clone)]
pub struct Array {
    /// The kernel's name, and that for people.
    pub name: String,
    pub shown: String,
    pub drive: Drive,
    /// The kernel's name of the member before it was taken away.
    pub member: String,
    /// UUID of the array in the superblock of the member.
    pub uuid: String,
    /// Where the member's partition begins; none if it is the whole drive.
    pub start: Option<u64>,
    pub flags: MemberFlags,
    /// The drives of the other members, for people, by the kernel's names of the members.
    pub others: BTreeMap<String, String>,
}

impl Array {
    /// Reads what identifies the array and the member of a drive, so that it returns to that array only.
    pub fn read(
        layer: &Layer,
        (drive, member): (&Drive, &str),
        inventory: &Inventory,
        runner: &dyn Runner,
    ) -> Result<Self, BuildError> {
        let path = format!("/dev/{member}");
        let unknown =
            |why: String| BuildError::Array(format!("the superblock of {path} can't be read: {why}"));
        let superblock = mdadm::superblock(&runner.ask(&mdadm::examine(&path))?).map_err(unknown)?;
        let superblock = superblock.ok_or_else(|| unknown("it has none".to_owned()))?;
        let other = |name: &String| {
            let drives = inventory.drives_of_block(name);
            (name.clone(), drives.first().map_or_else(|| name.clone(), |drive| drive.label()))
        };
        let state = Sysroot::live().word(&format!("/sys/block/{}/md/dev-{member}/state", layer.name));
        let is = |flag: &str| state.iter().flat_map(|state| state.split(',')).any(|word| word == flag);
        Ok(Self {
            name: layer.name.clone(),
            shown: layer.shown(),
            drive: drive.clone(),
            member: member.to_owned(),
            uuid: superblock.uuid,
            start: drive.partitions.iter().find(|part| part.name == member).map(|part| part.start),
            flags: MemberFlags { write_mostly: is("write_mostly"), failfast: is("failfast") },
            others: layer.members.iter().filter(|name| *name != member).map(other).collect(),
        })
    }

    /// The path of its device.
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// The drive as it is plugged in now, and the kernel's name of the member on it.
    pub fn find(&self, inventory: &Inventory) -> Result<(Drive, String), BuildError> {
        let gone = |what: &str| BuildError::Drives(what.to_owned());
        let drive = inventory.drive(&self.drive.identity()).ok_or_else(|| gone("the drive is gone again"))?;
        let part = self.start.map(|start| drive.partitions.iter().find(|part| part.start == start));
        let block = match part {
            None => Block::Drive(drive),
            Some(Some(part)) => Block::Partition(drive, part),
            Some(None) => return Err(gone("the partition of the pool is gone from the drive")),
        };
        Ok((drive.clone(), block.name().to_owned()))
    }

    /// The state of a member, by the kernel's name. md does not say that the last copy of some data is lost: that stays in use, though
    /// its drive is gone.
    pub fn state(&self, member: &str, root: &Sysroot) -> MemberState {
        match root.number::<u64>(&format!("/sys/class/block/{member}/size")) {
            None | Some(0) => MemberState::Absent,
            Some(_) => in_array(&self.name, member, root),
        }
    }

    /// Whether it uses a member, or fills it.
    pub fn has(&self, member: &str, root: &Sysroot) -> bool {
        matches!(self.state(member, root), MemberState::InSync | MemberState::Filling)
    }

    /// The drives of other members that have failed or are gone.
    pub fn lost(&self, root: &Sysroot) -> Vec<&str> {
        let lost = self.others.iter().filter(|(name, _)| self.state(name, root) != MemberState::InSync);
        lost.map(|(_, label)| label.as_str()).collect()
    }

    /// Refuses to go on if it lost another drive, or if that is not known: without two drives, files would be lost.
    pub fn lacks_no_other(&self, root: &Sysroot) -> Result<(), BuildError> {
        let lost = self.lost(root);
        let what = match self.degraded(root) {
            _ if !lost.is_empty() => format!("lost {}", listed(&lost)),
            Some(0 | 1) => return Ok(()),
            Some(_) => "lost another drive".to_owned(),
            None => "was stopped".to_owned(),
        };
        Err(BuildError::Array(format!("meanwhile {} {what}. {ADVICE}", self.shown)))
    }

    /// An error after which it may lack the drive.
    pub fn may_lack(&self, e: impl std::fmt::Display) -> BuildError {
        BuildError::Array(format!(
            "{e}. `drivebench list` says whether {} is complete, and what to do",
            self.shown
        ))
    }

    /// Number of missing members, from the kernel.
    pub fn degraded(&self, root: &Sysroot) -> Option<u64> {
        root.number(&self.file("degraded"))
    }

    /// The member has all its data, and the array lacks no others and can be written to: md fails all writes once the last copy of some
    /// data could not be written. What else the kernel does with it is not waited for.
    pub fn is_complete(&self, member: &str, root: &Sysroot) -> bool {
        self.degraded(root) == Some(0)
            && self.state(member, root) == MemberState::InSync
            && root.word(&self.file("array_state")).as_deref() != Some("broken")
    }

    /// The kernel's background work on the array.
    pub fn work(&self, root: &Sysroot) -> Option<Work> {
        work(root, &format!("/sys/block/{}/md", self.name))
    }

    fn file(&self, name: &str) -> String {
        format!("/sys/block/{}/md/{name}", self.name)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    /// A raid5 of three.
    pub fn array() -> Array {
        Array {
            name: "md127".to_owned(),
            shown: "nas (md127)".to_owned(),
            drive: Drive::default(),
            member: "sdb1".to_owned(),
            uuid: "6d1a35b2:8c1a4d8e:01f3bb2c:9ce6a51f".to_owned(),
            start: Some(2048),
            flags: MemberFlags::default(),
            others: ["sda1", "sdc1"].map(|name| (name.to_owned(), format!("the stick of {name}"))).into(),
        }
    }

    /// What md says of that array: how many members it lacks, and the state of one other than the one that was away.
    pub fn tree(degraded: Option<&str>, state: &str) -> Tree {
        let mut tree = Tree::empty();
        if let Some(degraded) = degraded {
            tree.file("sys/block/md127/md/degraded", degraded);
        }
        tree.file("sys/block/md127/md/dev-sda1/state", "in_sync\n");
        tree.file("sys/class/block/sda1/size", "1000\n");
        tree.file("sys/block/md127/md/dev-sdc1/state", state);
        tree
    }

    #[test]
    fn a_member_that_md_counts_as_in_use_is_away_if_it_is_gone() {
        let mut tree = tree(Some("1\n"), "in_sync\n");
        tree.file("sys/block/md127/md/dev-sdb1/state", "in_sync\n");
        assert!(!array().has("sdb1", &tree.sysroot()));
        tree.file("sys/class/block/sdb1/size", "1000\n");
        assert!(array().has("sdb1", &tree.sysroot()));
    }
}
