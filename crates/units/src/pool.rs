//! Several drives joined to one: how, and the state that is in.

use serde::{Deserialize, Serialize};

use super::{Layout, count, percent};

/// Several drives joined to one, by whatever program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// The name that people gave it: of the mapping, of the array, the label.
    pub name: Option<String>,
    /// What joins them: `raid5` and other levels, `dm`, `lvm`, `btrfs`, `bcachefs`, `zfs`.
    pub kind: String,
    /// How data is spread over them, by the kernel's name; none where it is not known.
    pub layout: Option<String>,
    pub state: PoolState,
    /// Members that it was built of.
    pub members: u64,
    /// Drives that they are on, the missing ones included.
    pub drives: u64,
    /// Members without their data: missing, or not filled yet.
    pub degraded: u64,
    /// Members that it lacks. One that is being filled is none of them.
    pub missing: u64,
    /// Bytes on one member before the next follows.
    pub chunk: Option<u64>,
    /// What the kernel does with it in the background.
    pub action: Option<Action>,
    /// It notes what changes while a drive is away; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitmap: Option<bool>,
    /// drivebench built it.
    pub ours: bool,
    /// The container of an array of Intel RST or DDF, by its kernel name: it takes new drives.
    #[serde(default)]
    pub container: Option<String>,
    /// Serials of its drives that are not plugged in or not in use, where drivebench built it.
    pub absent: Vec<String>,
    /// What was predicted before drivebench built it, while its drives are the same and, those on USB, in the same bays.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<PredictedLoad>,
}

/// Bytes per second of a load, and from where to where by the intervals of the drives. How far the model itself is off is not
/// in them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictedLoad {
    pub label: String,
    pub speed: f64,
    pub low: f64,
    /// None without an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Seconds that processors work for each byte, as far as it follows from what they do for the drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<f64>,
}

impl PredictedLoad {
    /// From the model with the value and with both ends: the ends may follow from other fits than the value, and enclose it
    /// in any case. What processors do is not known.
    pub fn of(label: &str, speed: f64, ends: [f64; 2]) -> Self {
        let [low, high] = [ends[0].min(ends[1]).min(speed), ends[0].max(ends[1]).max(speed)];
        let high = high.is_finite().then_some(high);
        Self { label: label.to_owned(), speed, low, high, processor: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolState {
    #[default]
    Active,
    ReadOnly,
    /// A mapping that holds back all operations.
    Suspended,
    /// Assembled in part, not started.
    Inactive,
    /// Too many members are missing: data can't be read.
    Broken,
    /// No member is missing, but a write to the last copy of something failed: it takes no further ones until it is started anew.
    TakesNoWrites,
    /// No device.
    Stopped,
}

/// What the kernel does with an array in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// After creation or a crash: makes copies and parity equal.
    Resync,
    /// A resync that has not begun: most often, the kernel waits for the first write since the array was assembled.
    Pending,
    /// Fills a new member.
    Recover,
    /// Compares copies and parity.
    Check,
    Repair,
    Reshape,
    /// Nothing until it is let go on: mdadm holds an array like this while it adds a drive, also if it is killed meanwhile.
    Frozen,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub action: Action,
    /// The share that is done; none if it has not begun.
    pub done: Option<f64>,
    /// Bytes per second of each member.
    pub rate: Option<f64>,
    /// Seconds at this rate.
    pub left: Option<f64>,
}

/// What an array does with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    InSync,
    /// It is being filled.
    Filling,
    Spare,
    /// It has the write journal of the array, which takes no writes without it.
    Journal,
    FailedJournal,
    /// Of an array that was assembled in part: it waits for the others.
    Waiting,
    Failed,
    /// Plugged in, but the array doesn't use it.
    Unused,
    /// Not plugged in.
    Absent,
}

impl Action {
    pub fn words(self) -> &'static str {
        match self {
            Self::Resync => "resync",
            Self::Pending => "resync pending",
            Self::Recover => "filling a drive",
            Self::Check => "check",
            Self::Repair => "repair",
            Self::Reshape => "reshape",
            Self::Frozen => "frozen",
        }
    }
}

impl Work {
    /// `filling a drive 32 %`.
    pub fn progress(&self) -> String {
        let action = self.action.words();
        match (self.action, self.done) {
            (Action::Pending | Action::Frozen, _) => action.to_owned(),
            (_, None) => format!("{action} begins"),
            (_, Some(done)) => format!("{action} {}", percent(done)),
        }
    }
}

impl MemberState {
    pub fn words(self) -> &'static str {
        match self {
            Self::InSync => "in use",
            Self::Filling => "being filled",
            Self::Spare => "spare",
            Self::Journal => "journal",
            Self::FailedJournal => "journal, failed",
            Self::Waiting => "waits for the others",
            Self::Failed => "failed",
            Self::Unused => "not in use",
            Self::Absent => "not plugged in",
        }
    }
}

impl Pool {
    /// The layout, and what implements it where that has another name: `raid5`, `btrfs raid1`, `linear`.
    pub fn layout_in_words(&self) -> String {
        match (&self.layout, self.kind.as_str()) {
            (Some(layout), kind @ ("btrfs" | "bcachefs" | "lvm")) => format!("{kind} {layout}"),
            (Some(layout), _) => layout.clone(),
            (None, "dm") => "mapping".to_owned(),
            (None, "md") => "array".to_owned(),
            (None, "zfs") => "ZFS pool".to_owned(),
            (None, kind) => kind.to_owned(),
        }
    }

    /// `raid5 of 4 drives`.
    pub fn describe(&self) -> String {
        let (layout, drives) = (self.layout_in_words(), count(self.drives, "drive"));
        match self.members {
            // The kernel learns it when it starts the array.
            0 => layout,
            members if members == self.drives => format!("{layout} of {drives}"),
            _ => format!("{layout} of {} on {drives}", count(self.members, "member")),
        }
    }

    /// How many more of its members may fail, whichever they are; none where that is not known.
    pub fn survives(&self) -> Option<u64> {
        let members = usize::try_from(self.members).ok()?;
        let may = match self.layout.as_deref()? {
            "raid4" => 1,
            // Two copies of each block, on however many drives.
            "raid1" if self.kind == "btrfs" => 1,
            "raid1c3" => 2,
            "raid1c4" => 3,
            "single" => 0,
            name => Layout::of_name(name)?.survives(members),
        };
        Some((may as u64).saturating_sub(self.degraded))
    }

    /// A drive's failure loses all of it, however many drives are there.
    pub fn has_no_copies(&self) -> bool {
        matches!(self.layout.as_deref(), Some("linear" | "raid0" | "single"))
    }

    /// The same layout, with as many of its members.
    pub fn is_like(&self, other: &Self) -> bool {
        self.has_layout_of(other) && self.degraded == other.degraded
    }

    pub fn has_layout_of(&self, other: &Self) -> bool {
        (&self.kind, &self.layout, self.members, self.chunk)
            == (&other.kind, &other.layout, other.members, other.chunk)
    }

    /// A member is being filled, or made equal to the others.
    pub fn is_filling(&self) -> bool {
        self.kind != "zfs" && self.degraded > self.missing
            || matches!(self.action, Some(Action::Resync | Action::Recover | Action::Reshape))
    }

    /// Files on it can be used.
    pub fn is_usable(&self) -> bool {
        matches!(self.state, PoolState::Active | PoolState::ReadOnly)
    }

    /// The drives are joined for good: of volumes and mappings of others it isn't known what else is on them.
    pub fn is_of_whole_drives(&self) -> bool {
        self.layout.is_some() || matches!(self.kind.as_str(), "md" | "btrfs" | "bcachefs" | "zfs")
    }

    /// It has all of its members, and the kernel does nothing else with it.
    pub fn is_quiet(&self) -> bool {
        self.state == PoolState::Active && self.degraded == 0 && self.action.is_none()
    }

    /// `active`, or what is wrong with it, and what the kernel does with it.
    pub fn state_in_words(&self, work: Option<&Work>) -> String {
        let missing = || format!("{} of {} missing", self.missing, count(self.members, "drive"));
        let state = match self.state {
            PoolState::Active if self.missing > 0 => format!("degraded: {}", missing()),
            PoolState::Active if self.degraded > 0 => "degraded".to_owned(),
            PoolState::Active => "active".to_owned(),
            PoolState::ReadOnly => "read-only".to_owned(),
            PoolState::Suspended => "suspended".to_owned(),
            PoolState::Inactive => "inactive: assembled in part, not started".to_owned(),
            PoolState::Broken if self.missing > 0 => format!("broken: {}", missing()),
            PoolState::Broken => "broken".to_owned(),
            PoolState::TakesNoWrites => "broken: takes no writes".to_owned(),
            PoolState::Stopped => "not active".to_owned(),
        };
        // Of a whole pool that is being filled, that is the state.
        let is_said = self.state != PoolState::Active || self.degraded > 0 || !self.is_filling();
        let mut words: Vec<String> = is_said.then_some(state).into_iter().collect();
        words.extend(match (work, self.action) {
            (Some(work), _) => Some(work.progress()),
            (None, Some(action)) => Some(action.words().to_owned()),
            (None, None) if self.is_filling() => Some(Action::Recover.words().to_owned()),
            _ => None,
        });
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(layout: &str, members: u64) -> Pool {
        let layout = layout.to_owned();
        Pool { kind: layout.clone(), layout: Some(layout), members, drives: members, ..Pool::default() }
    }

    #[test]
    fn states_are_said_with_their_numbers() {
        let raid5 = pool("raid5", 4);
        let work = Work { action: Action::Recover, done: Some(0.32), rate: None, left: None };
        assert_eq!(raid5.state_in_words(None), "active");
        let degraded = Pool { degraded: 1, missing: 1, ..raid5.clone() };
        assert_eq!(degraded.state_in_words(None), "degraded: 1 of 4 drives missing");
        let filling = Pool { degraded: 1, action: Some(Action::Recover), ..raid5.clone() };
        assert_eq!(filling.state_in_words(Some(&work)), "degraded, filling a drive 32 %");
        assert_eq!(filling.state_in_words(None), "degraded, filling a drive");
        // A drive that is to replace another one that still has its data.
        let replacing = Pool { degraded: 0, ..filling };
        assert_eq!(replacing.state_in_words(Some(&work)), "filling a drive 32 %");
        assert!(replacing.is_filling() && !degraded.is_filling() && !raid5.is_filling());
        let broken = Pool { state: PoolState::Broken, missing: 1, degraded: 1, ..pool("raid0", 2) };
        assert_eq!(broken.state_in_words(None), "broken: 1 of 2 drives missing");
    }

    #[test]
    fn what_is_missing_can_not_fail_again() {
        assert_eq!(pool("raid6", 5).survives(), Some(2));
        assert_eq!(Pool { degraded: 1, ..pool("raid6", 5) }.survives(), Some(1));
        assert_eq!(Pool { degraded: 2, ..pool("raid5", 5) }.survives(), Some(0));
        assert_eq!(Pool { kind: "btrfs".to_owned(), ..pool("raid1", 4) }.survives(), Some(1));
        assert_eq!(pool("raid1", 4).survives(), Some(3));
        assert_eq!(Pool { layout: None, ..pool("lvm", 2) }.survives(), None);
    }

    #[test]
    fn members_on_one_drive_are_not_called_drives() {
        assert_eq!(pool("raid5", 4).describe(), "raid5 of 4 drives");
        assert_eq!(Pool { drives: 2, ..pool("raid1", 4) }.describe(), "raid1 of 4 members on 2 drives");
        assert_eq!(
            Pool { kind: "btrfs".to_owned(), ..pool("raid1", 2) }.describe(),
            "btrfs raid1 of 2 drives"
        );
        assert_eq!(Pool { kind: "dm".to_owned(), ..pool("linear", 3) }.describe(), "linear of 3 drives");
    }
}
