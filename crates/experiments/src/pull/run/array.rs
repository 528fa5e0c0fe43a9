//! The array that a drive is taken from: how its members stand, and what a person does about those that are lost.

use crate::{
    inventory::{Block, Drive, Inventory, Layer, in_array, work},
    run::BuildError,
    sysroot::Sysroot,
    tools::{
        Runner,
        mdadm::{self, MemberFlags},
        mdadm_advice,
    },
    units::{Layout, MemberState, Work, listed},
};

/// An array, and its member on the drive that is taken away.
#[derive(Debug, Clone)]
pub struct Array {
    /// The kernel's name, and that for people.
    pub name: String,
    pub shown: String,
    /// The drive: its identity, and its name for people.
    pub identity: String,
    pub drive: String,
    /// The kernel's name of the member before it was taken away.
    pub member: String,
    /// UUID of the array in the superblock of the member.
    pub uuid: String,
    /// Where the member's partition begins; none if it is the whole drive.
    pub start: Option<u64>,
    pub flags: MemberFlags,
    pub others: Vec<OtherMember>,
}

/// Another member of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherMember {
    /// The kernel's name, which may be another drive's after a restart.
    pub name: String,
    /// The drive, for people.
    pub label: String,
}

/// The member on the drive as it is plugged in now.
#[derive(Debug)]
pub struct MemberDevice {
    /// The kernel's name.
    pub name: String,
    pub node: String,
    pub drive: Drive,
}

/// The state of a member in its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In use, with all its data.
    Whole,
    Filling,
    Away,
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
            let label = drives.first().map_or_else(|| name.clone(), |drive| drive.label());
            OtherMember { name: name.clone(), label }
        };
        let state = Sysroot::live().word(&format!("/sys/block/{}/md/dev-{member}/state", layer.name));
        let is = |flag: &str| state.iter().flat_map(|state| state.split(',')).any(|word| word == flag);
        Ok(Self {
            name: layer.name.clone(),
            shown: layer.shown(),
            identity: drive.identity(),
            drive: drive.label(),
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

    /// The member on the drive as it is plugged in now.
    pub fn member_device(&self, inventory: &Inventory) -> Result<MemberDevice, BuildError> {
        let gone = |what: &str| BuildError::Drives(what.to_owned());
        let drive = inventory.drive(&self.identity).ok_or_else(|| gone("the drive is gone again"))?;
        let part = self.start.map(|start| drive.partitions.iter().find(|part| part.start == start));
        let block = match part {
            None => Block::Drive(drive),
            Some(Some(part)) => Block::Partition(drive, part),
            Some(None) => return Err(gone("the partition of the pool is gone from the drive")),
        };
        Ok(MemberDevice { name: block.name().to_owned(), node: block.path(), drive: drive.clone() })
    }

    /// How a member stands, by the kernel's name. md does not say that the last copy of some data is lost: that stays in use, though its
    /// drive is gone.
    pub fn standing(&self, member: &str, root: &Sysroot) -> Standing {
        let is_there =
            root.number::<u64>(&format!("/sys/class/block/{member}/size")).is_some_and(|size| size > 0);
        match in_array(&self.name, member, root) {
            MemberState::InSync if is_there => Standing::Whole,
            MemberState::Filling if is_there => Standing::Filling,
            _ => Standing::Away,
        }
    }

    /// The drives of other members that have failed or are gone.
    pub fn lost(&self, root: &Sysroot) -> Vec<&str> {
        let lost = self.others.iter().filter(|other| self.standing(&other.name, root) != Standing::Whole);
        lost.map(|other| other.label.as_str()).collect()
    }

    /// Refuses to go on when another drive has failed: without this one, files would be lost.
    pub fn others_work(&self, root: &Sysroot) -> Result<(), BuildError> {
        match self.lost(root)[..] {
            [label, ..] => Err(BuildError::Array(format!(
                "{label} of {} has failed meanwhile: don't pull another drive. Replace that one first (`drivebench list` shows it)",
                self.shown
            ))),
            [] => Ok(()),
        }
    }

    /// An error after which it may lack the drive.
    pub fn may_lack(&self, e: impl std::fmt::Display) -> BuildError {
        let Self { shown, drive, .. } = self;
        BuildError::Array(format!(
            "{e}. If {shown} lacks {drive} then: plug it in, and mdadm {} --re-add MEMBER, which `drivebench list` shows",
            self.path()
        ))
    }

    /// Number of missing members, from the kernel.
    pub fn degraded(&self, root: &Sysroot) -> Option<u64> {
        root.number(&self.file("degraded"))
    }

    /// The kernel fails all writes, since the last copy of some data could not be written: until it is stopped, also if no member is
    /// missing.
    pub fn is_broken(&self, root: &Sysroot) -> bool {
        root.word(&self.file("array_state")).as_deref() == Some("broken")
    }

    /// The member has all its data, and the array lacks so many others and can be written to. What else the kernel does with it is not
    /// waited for.
    pub fn is_complete(&self, member: &str, lacks: u64, root: &Sysroot) -> bool {
        self.degraded(root) == Some(lacks)
            && self.standing(member, root) == Standing::Whole
            && !self.is_broken(root)
    }

    /// Members that were not in it before: somebody added another drive.
    pub fn added(&self, member: &str, root: &Sysroot) -> Vec<String> {
        let is_known =
            |name: &str| name == self.member || name == member || self.others.iter().any(|o| o.name == name);
        let listed = root.list(&format!("/sys/block/{}/md", self.name));
        let members = listed.iter().filter_map(|file| file.strip_prefix("dev-"));
        members.filter(|name| !is_known(name)).map(str::to_owned).collect()
    }

    /// The kernel's background work on the array.
    pub fn work(&self, root: &Sysroot) -> Option<Work> {
        work(root, &format!("/sys/block/{}/md", self.name))
    }

    fn file(&self, name: &str) -> String {
        format!("/sys/block/{}/md/{name}", self.name)
    }

    /// Advice on lost drives, and on the one that was away. Names change with a restart, so people look them up by
    /// serial. A raid10 counts as lost with two drives, although it may have a copy of everything.
    pub fn advice(&self, standing: Standing, root: &Sysroot) -> String {
        const FIND: &str = "Plug in again what was lost, and look up the names of its members by serial with `drivebench list`";
        let Self { name, shown, drive, .. } = self;
        let (members, mut lost) = (self.others.len() + 1, self.lost(root));
        lost.extend((standing == Standing::Away).then_some(drive.as_str()));
        let missing = (lost.len() + usize::from(standing == Standing::Filling)) as u64;
        let missing = missing.max(self.degraded(root).unwrap_or(u64::MAX));
        let layout = root.word(&self.file("level")).and_then(|level| Layout::of_name(&level));
        let survives = layout.map_or(0, |layout| layout.survives(members));
        if missing <= survives as u64 && !self.is_broken(root) {
            let back = mdadm_advice::re_add(&self.path(), "MEMBER", "");
            return format!(
                "{shown} works without {}: leave it running, also during a rebuild, and back it up. {FIND}. Then: mdadm /dev/{name} --fail detached --remove \
                 failed; and for each member that it lacks, {back}. If mdadm refuses --re-add, as it does without a \
                 bitmap: --add MEMBER, which overwrites it with what the others hold. Erase nothing else before it is complete",
                listed(&lost)
            );
        }
        let these = match layout {
            None | Some(Layout::Raid10) => "those with the most Events, as many as it needs".to_owned(),
            Some(_) => format!("the {} with the most Events", members.saturating_sub(survives)),
        };
        let without = match standing {
            Standing::Away => {
                format!(", without the member on {drive}, which lacks what was written meanwhile")
            }
            _ => String::new(),
        };
        format!(
            "Back up what can be read. Erase none of the drives, and add none as a new one (--add): what is on all of them may be needed. \
             {FIND}, and {}",
            mdadm_advice::reassemble(&self.path(), &(these + &without), "")
        )
    }

    /// Advice on a complete array that takes no writes.
    pub fn restart(&self) -> String {
        let start = mdadm_advice::restart(&self.path(), &self.uuid, "");
        format!(
            "{} takes no writes until it is restarted, because the last copy of something could not be written: {start}",
            self.shown
        )
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
            identity: "4C53".to_owned(),
            drive: "the one that was away".to_owned(),
            member: "sdb1".to_owned(),
            uuid: "6d1a35b2:8c1a4d8e:01f3bb2c:9ce6a51f".to_owned(),
            start: Some(2048),
            flags: MemberFlags::default(),
            others: ["sda1", "sdc1"]
                .map(|name| OtherMember { name: name.to_owned(), label: format!("the stick of {name}") })
                .to_vec(),
        }
    }

    /// What md says of that array: its level, how many members it lacks, and the state of one other than the one that was away.
    pub fn tree(level: &str, degraded: Option<&str>, state: &str) -> Tree {
        let mut tree = Tree::empty();
        if let Some(degraded) = degraded {
            tree.file("sys/block/md127/md/degraded", degraded);
        }
        tree.file("sys/block/md127/md/level", level);
        tree.file("sys/block/md127/md/dev-sda1/state", "in_sync\n");
        tree.file("sys/class/block/sda1/size", "1000\n");
        tree.file("sys/block/md127/md/dev-sdc1/state", state);
        tree
    }

    #[test]
    fn an_array_that_works_is_left_running_and_another_is_put_together_without_a_write() {
        let advice = |tree: &Tree, standing| array().advice(standing, &tree.sysroot());
        // A raid1 of three has what it needs on one of them.
        let mut raid1 = tree("raid1\n", Some("1\n"), "faulty\n");
        for (standing, without) in [
            (Standing::Away, "the stick of sdc1 and the one that was away"),
            (Standing::Whole, "the stick of sdc1"),
            (Standing::Filling, "the stick of sdc1"),
        ] {
            let works = advice(&raid1, standing);
            let begins = format!("nas (md127) works without {without}: leave it running");
            assert!(works.starts_with(&begins) && !works.contains("--assemble --force --run"), "{works}");
        }
        raid1.file("sys/block/md127/md/array_state", "broken\n");
        let broken = advice(&raid1, Standing::Whole);
        assert!(broken.contains("Take the 1 with the most Events, and none"), "{broken}");
        let raid10 = tree("raid10\n", Some("1\n"), "faulty\n");
        let two = advice(&raid10, Standing::Away);
        assert!(two.starts_with("Back up what can be read"), "{two}");
        assert!(
            two.contains("Take those with the most Events, as many as it needs, without the member on"),
            "{two}"
        );
        let raid5 = tree("raid5\n", None, "in_sync\n");
        assert!(advice(&raid5, Standing::Away).starts_with("Back up"), "a state that can't be read");
    }

    #[test]
    fn a_member_that_md_counts_as_in_use_is_away_if_it_is_gone() {
        let mut tree = tree("raid5\n", Some("1\n"), "in_sync\n");
        tree.file("sys/block/md127/md/dev-sdb1/state", "in_sync\n");
        assert_eq!(array().standing("sdb1", &tree.sysroot()), Standing::Away);
        tree.file("sys/class/block/sdb1/size", "1000\n");
        assert_eq!(array().standing("sdb1", &tree.sysroot()), Standing::Whole);
    }
}
