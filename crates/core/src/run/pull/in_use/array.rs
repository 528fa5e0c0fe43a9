//! The array that a drive is taken from: how its members stand, and what a person does about those that are lost.

use crate::{
    inventory::in_array,
    sysroot::Sysroot,
    tools::mdadm::MemberFlags,
    units::{Layout, MemberState, capital, give_back, listed, put_together, start_anew},
};

/// md's number of the layout of a raid10 with two copies beside each other.
const NEAR_2: u64 = 0x102;

/// An array, and its member on the drive.
#[derive(Debug, Clone)]
pub struct Array {
    /// The kernel's name, and that for people.
    pub name: String,
    pub shown: String,
    /// The kernel's name of the member before it was taken away.
    pub member: String,
    /// As the superblock of the member has it.
    pub uuid: String,
    /// Where the member's partition begins; none if it is the whole drive.
    pub start: Option<u64>,
    /// Its place in the array, from 0 on.
    pub slot: Option<usize>,
    pub flags: MemberFlags,
    pub others: Vec<Other>,
}

/// Another member of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The kernel's name, which may be another drive's after a restart.
    pub name: String,
    /// The drive, for people.
    pub label: String,
    /// Its place in the array, from 0 on.
    pub slot: Option<usize>,
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
    /// How a member stands, by the kernel's name. md does not say that the last copy of some data is lost: that stays in use, though its drive
    /// is gone.
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
    fn lost_members(&self, root: &Sysroot) -> Vec<&Other> {
        self.others.iter().filter(|other| self.standing(&other.name, root) != Standing::Whole).collect()
    }

    /// Their drives.
    pub fn lost(&self, root: &Sysroot) -> Vec<&str> {
        self.lost_members(root).into_iter().map(|other| other.label.as_str()).collect()
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

    /// Whether the kernel still lists a member of this name, whatever it does with it.
    pub fn lists(&self, member: &str, root: &Sysroot) -> bool {
        in_array(&self.name, member, root) != MemberState::Unused
    }

    /// Members that were not in it before: somebody added another drive.
    pub fn added(&self, member: &str, root: &Sysroot) -> Vec<String> {
        let is_known =
            |name: &str| name == self.member || name == member || self.others.iter().any(|o| o.name == name);
        let listed = root.list(&format!("/sys/block/{}/md", self.name));
        let members = listed.iter().filter_map(|file| file.strip_prefix("dev-"));
        members.filter(|name| !is_known(name)).map(str::to_owned).collect()
    }

    fn file(&self, of: &str) -> String {
        format!("/sys/block/{}/md/{of}", self.name)
    }

    /// Whether it works with what is there; none where that is not known. Of raid10 it depends on which members are lost.
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
    pub fn advice(&self, away: &str, standing: Standing, root: &Sysroot) -> String {
        let lost = self.lost(root);
        let members = self.others.len() + 1;
        let without = match standing {
            Standing::Away => {
                format!(", without the member on {away}, which lacks what was written meanwhile")
            }
            _ => String::new(),
        };
        let layout = self.layout(root).filter(|layout| *layout != Layout::Raid10);
        let survives = layout.map(|layout| layout.survives(members));
        let these = match (survives, standing) {
            (Some(survives), _) => format!("the {} with the most Events", members.saturating_sub(survives)),
            (None, Standing::Away) => "all".to_owned(),
            (None, _) => "those with the most Events, as many as it needs".to_owned(),
        };
        let apart = self.apart(&(these + &without));
        match self.works(standing, root) {
            Some(true) => {
                let lacks: Vec<&str> =
                    lost.into_iter().chain((standing == Standing::Away).then_some(away)).collect();
                format!("{} works without {}: {}", self.shown, listed(&lacks), self.goes_on(away, standing))
            }
            Some(false) => capital(&apart),
            None => format!("Whether {} still has all its data is not known: {apart}", self.shown),
        }
    }

    /// Of one that still works.
    fn goes_on(&self, away: &str, standing: Standing) -> String {
        let name = &self.name;
        let filling = match standing {
            Standing::Filling => format!(" {} is being filled: leave it.", capital(away)),
            _ => String::new(),
        };
        let back = give_back(&format!("/dev/{name}"), &["MEMBER".to_owned()], &[], "");
        format!(
            "leave it running, and back it up.{filling} Plug in again what was lost, and look up the names of its members by serial with `drivebench \
             list`. Then: mdadm /dev/{name} --fail detached --remove failed; and for each member that it lacks, {back}. If mdadm refuses --re-add, as it does \
             without a bitmap: --add MEMBER, which overwrites it with what the others hold. Erase nothing else before it is complete"
        )
    }

    /// Of one that may lack too many: it is put together from these members.
    fn apart(&self, these: &str) -> String {
        format!(
            "back up what can be read. Erase none of the drives, and add none as a new one (--add): what is on all of them may be needed. Plug in \
             again what was lost, look up the names that its members have then, by serial, with `drivebench list`, and {}",
            put_together(&format!("/dev/{}", self.name), these, "")
        )
    }

    /// Of one that takes no writes, though it lacks nothing.
    pub fn restart(&self) -> String {
        let start = start_anew(&format!("/dev/{}", self.name), &self.uuid, "");
        format!(
            "{} takes no writes until it is started anew, because the last copy of something could not be written: {start}",
            self.shown
        )
    }
}
