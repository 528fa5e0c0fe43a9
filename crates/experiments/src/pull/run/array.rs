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
    units::{Layout, MemberState, Work, capital, listed},
};

/// md's number of the layout of a raid10 with two copies beside each other.
const NEAR_2: u64 = 0x102;

/// An array, and its member on the drive that is taken away.
#[derive(Debug, Clone)]
pub struct Array {
    /// The kernel's name, and that for people.
    pub name: String,
    pub shown: String,
    /// The command that shows its state.
    pub status: String,
    /// The drive: its identity, and its name for people.
    pub identity: String,
    pub drive: String,
    /// The kernel's name of the member before it was taken away.
    pub member: String,
    /// UUID of the array in the superblock of the member.
    pub uuid: String,
    /// Where the member's partition begins; none if it is the whole drive.
    pub start: Option<u64>,
    /// The member's place in the array, from 0 on.
    pub slot: Option<usize>,
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
    /// Its place in the array, from 0 on.
    pub slot: Option<usize>,
}

/// The member on the drive as it is plugged in now.
#[derive(Debug)]
pub struct MemberDevice {
    /// The kernel's name.
    pub name: String,
    pub node: String,
    pub drive: Drive,
}

/// How a member of an array stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In use, with all its data.
    Whole,
    Filling,
    Away,
}

impl Array {
    /// What is needed to give a drive back to its array, and to no other.
    pub fn read(
        layer: &Layer,
        (drive, member): (&Drive, &str),
        status: &str,
        inventory: &Inventory,
        runner: &dyn Runner,
    ) -> Result<Self, BuildError> {
        let path = format!("/dev/{member}");
        let unknown =
            |why: String| BuildError::Array(format!("the superblock of {path} can't be read: {why}"));
        let superblock = mdadm::superblock(&runner.ask(&mdadm::examine(&path))?).map_err(unknown)?;
        let superblock = superblock.ok_or_else(|| unknown("it has none".to_owned()))?;
        let root = Sysroot::live();
        let dir = |member: &str| format!("/sys/block/{}/md/dev-{member}", layer.name);
        let slot = |member: &str| root.number(&format!("{}/slot", dir(member)));
        let other = |name: &String| OtherMember {
            name: name.clone(),
            slot: slot(name),
            label: inventory
                .drives_of_block(name)
                .first()
                .map_or_else(|| name.clone(), |drive| drive.label()),
        };
        let state = root.word(&format!("{}/state", dir(member))).unwrap_or_default();
        let is = |flag: &str| state.split(',').any(|word| word == flag);
        Ok(Self {
            name: layer.name.clone(),
            shown: layer.shown(),
            status: status.to_owned(),
            identity: drive.identity(),
            drive: drive.label(),
            member: member.to_owned(),
            uuid: superblock.uuid,
            start: drive.partitions.iter().find(|part| part.name == member).map(|part| part.start),
            slot: slot(member),
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

    /// Other members that have failed or are gone.
    fn lost_members(&self, root: &Sysroot) -> Vec<&OtherMember> {
        self.others.iter().filter(|other| self.standing(&other.name, root) != Standing::Whole).collect()
    }

    /// Their drives.
    pub fn lost(&self, root: &Sysroot) -> Vec<&str> {
        self.lost_members(root).into_iter().map(|other| other.label.as_str()).collect()
    }

    /// Refuses to go on when another drive has failed: without this one, files would be lost.
    pub fn others_work(&self, root: &Sysroot) -> Result<(), BuildError> {
        match self.lost(root)[..] {
            [label, ..] => Err(BuildError::Array(format!(
                "{label} of {} has failed meanwhile: don't pull another drive. Replace that one first (`{}` shows it)",
                self.shown, self.status
            ))),
            [] => Ok(()),
        }
    }

    fn layout(&self, root: &Sysroot) -> Option<Layout> {
        Layout::of_name(&root.word(&self.file("level"))?)
    }

    /// How many members it lacks, as the kernel says.
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

    /// What the kernel does with it in the background.
    pub fn work(&self, root: &Sysroot) -> Option<Work> {
        work(root, &format!("/sys/block/{}/md", self.name))
    }

    /// A file of it in sysfs.
    pub fn file(&self, name: &str) -> String {
        format!("/sys/block/{}/md/{name}", self.name)
    }

    /// Whether it works with what is there; none where that is not known. With raid10 it depends on which members are lost.
    fn works(&self, standing: Standing, root: &Sysroot) -> Option<bool> {
        let (members, lost) = (self.others.len() + 1, self.lost_members(root));
        let is_away = standing != Standing::Whole;
        let known = lost.len() + usize::from(is_away);
        let degraded = self.degraded(root).and_then(|n| usize::try_from(n).ok());
        match self.layout(root)? {
            _ if self.is_broken(root) => Some(false),
            Layout::Raid10 => {
                let is_near = root.number::<u64>(&self.file("layout")) == Some(NEAR_2);
                if !is_near || degraded? > known {
                    return None;
                }
                let slots = lost.iter().map(|other| other.slot).chain(is_away.then_some(self.slot));
                let mut missing = vec![false; members];
                for slot in slots {
                    *missing.get_mut(slot?)? = true;
                }
                Some(Layout::Raid10.starts_without(&missing))
            }
            layout => Some(degraded.unwrap_or(members).max(known) <= layout.survives(members)),
        }
    }

    /// What a person does about lost drives, and about the one that was away. Names change with a restart, so people look them up by serial.
    pub fn advice(&self, standing: Standing, root: &Sysroot) -> String {
        let (drive, shown, mut lost) = (self.drive.as_str(), &self.shown, self.lost(root));
        let without = match standing {
            Standing::Away => {
                format!(", without the member on {drive}, which lacks what was written meanwhile")
            }
            _ => String::new(),
        };
        let layout = self.layout(root).filter(|layout| *layout != Layout::Raid10);
        let members = self.others.len() + 1;
        let these = match (layout, standing) {
            (Some(layout), _) => {
                format!("the {} with the most Events", members.saturating_sub(layout.survives(members)))
            }
            (None, Standing::Away) => "all".to_owned(),
            (None, _) => "those with the most Events, as many as it needs".to_owned(),
        };
        let apart = format!(
            "back up what can be read. Erase none of the drives, and add none as a new one (--add): what is on all of them may be needed. Plug in \
             again what was lost, look up the names that its members have then, by serial, with `drivebench list`, and {}",
            mdadm_advice::reassemble(&self.path(), &(these + &without), "")
        );
        match self.works(standing, root) {
            Some(true) => {
                lost.extend((standing == Standing::Away).then_some(drive));
                format!("{shown} works without {}: {}", listed(&lost), self.keep_running(standing))
            }
            Some(false) => capital(&apart),
            None => format!("Whether {shown} still has all its data is not known: {apart}"),
        }
    }

    /// What a person does with one that still works.
    fn keep_running(&self, standing: Standing) -> String {
        let name = &self.name;
        let filling = match standing {
            Standing::Filling => format!(" {} is being filled: leave it.", capital(&self.drive)),
            _ => String::new(),
        };
        let back = mdadm_advice::re_add(&self.path(), &["MEMBER".to_owned()], &[], "");
        format!(
            "leave it running, and back it up.{filling} Plug in again what was lost, and look up the names of its members by serial with `drivebench \
             list`. Then: mdadm /dev/{name} --fail detached --remove failed; and for each member that it lacks, {back}. If mdadm refuses --re-add, as it does \
             without a bitmap: --add MEMBER, which overwrites it with what the others hold. Erase nothing else before it is complete"
        )
    }

    /// What a person does with one that takes no writes, though it lacks nothing.
    pub fn restart(&self) -> String {
        let start = mdadm_advice::restart(&self.path(), &self.uuid, "");
        format!(
            "{} takes no writes until it is started anew, because the last copy of something could not be written: {start}",
            self.shown
        )
    }
}
