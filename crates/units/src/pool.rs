//! Pools of several drives, and their state.

use serde::{Deserialize, Serialize};

use super::{Layout, count, duration, percent, rate};

/// Several drives joined to one device, by whatever program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Name of the mapping or array, or the label.
    pub name: Option<String>,
    /// The technology that joins them: `raid5` and other levels, `dm`, `lvm`, `btrfs`, `bcachefs`, `zfs`.
    pub kind: String,
    /// How data is spread over them, by the kernel's name; `None` if unknown.
    pub layout: Option<String>,
    pub state: PoolState,
    /// Number of members that it was built of.
    pub members: u64,
    /// Number of drives of its members, with the missing ones.
    pub drives: u64,
    /// Number of members without their data: missing, or not filled yet.
    pub degraded: u64,
    /// Number of missing members; a member that is being filled is not missing.
    pub missing: u64,
    /// Chunk size, bytes.
    pub chunk: Option<u64>,
    /// Background work of the kernel on it.
    pub action: Option<Action>,
    /// Whether it has a write-intent bitmap, which records what changes while a drive is away; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitmap: Option<bool>,
    /// Whether drivebench built it.
    pub ours: bool,
    /// Kernel name of the container of an Intel RST or DDF array; new drives are added to the container.
    #[serde(default)]
    pub container: Option<String>,
    /// Serials of its drives that are not plugged in or not in use, where drivebench built it.
    pub absent: Vec<String>,
}

/// A predicted speed in bytes per second, with an interval from those of the drives. The error of the model itself is not included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictedLoad {
    pub label: String,
    pub speed: f64,
    pub low: f64,
    /// Upper end of the interval; `None` without an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl PredictedLoad {
    /// A prediction with the model's value and both ends. The ends may come from other fits than the value; they are widened to
    /// enclose it.
    pub fn new(label: &str, speed: f64, ends: [f64; 2]) -> Self {
        let [low, high] = [ends[0].min(ends[1]).min(speed), ends[0].max(ends[1]).max(speed)];
        let high = high.is_finite().then_some(high);
        Self { label: label.to_owned(), speed, low, high }
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
    /// No member is missing, but a write to its journal or to the last copy of some data failed; it accepts no writes until it is restarted.
    TakesNoWrites,
    /// It has no device.
    Stopped,
}

/// Background work of the kernel on an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// After creation or a crash: makes copies and parity equal.
    Resync,
    /// A resync that has not begun; usually the kernel waits for the first write since the array was assembled.
    Pending,
    /// Fills a new member.
    Recover,
    /// Compares copies and parity.
    Check,
    Repair,
    Reshape,
    /// Held until it is released: mdadm freezes an array while it adds a drive, and leaves it frozen if it is killed meanwhile.
    Frozen,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub action: Action,
    /// Completed share; `None` if it has not begun.
    pub done: Option<f64>,
    /// Speed on each member, bytes per second.
    pub rate: Option<f64>,
    /// Time left at this rate, s.
    pub left: Option<f64>,
}

/// The state of a member of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    InSync,
    /// Being filled.
    Filling,
    Spare,
    /// Holds the write journal of the array, which accepts no writes without it.
    Journal,
    FailedJournal,
    /// Waits for other members, in an array that was assembled in part.
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
    /// The same with its rate and the time left.
    pub fn describe(&self) -> String {
        let rate = self.rate.map(rate).into_iter();
        let left = self.left.map(|left| format!("{} left", duration(left)));
        [self.progress()].into_iter().chain(rate).chain(left).collect::<Vec<_>>().join(", ")
    }

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

    /// How many more of its members may fail, whichever they are; `None` if unknown.
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

    /// Whether the failure of any drive loses all data.
    pub fn has_no_copies(&self) -> bool {
        matches!(self.layout.as_deref(), Some("linear" | "raid0" | "single"))
    }

    /// Whether both have the same layout, and as many members are missing or not filled.
    pub fn is_like(&self, other: &Self) -> bool {
        let layout = |pool: &Self| (pool.kind.clone(), pool.layout.clone(), pool.members, pool.chunk);
        layout(self) == layout(other) && self.degraded == other.degraded
    }

    /// Whether a member is being filled, or made equal to the others.
    pub fn is_filling(&self) -> bool {
        self.kind != "zfs" && self.degraded > self.missing
            || matches!(self.action, Some(Action::Resync | Action::Recover | Action::Reshape))
    }

    /// Whether files on it can be used.
    pub fn is_usable(&self) -> bool {
        matches!(self.state, PoolState::Active | PoolState::ReadOnly)
    }

    /// Whether it consists of whole drives. Volumes and mappings of other programs may use parts.
    pub fn is_of_whole_drives(&self) -> bool {
        self.layout.is_some() || matches!(self.kind.as_str(), "md" | "btrfs" | "bcachefs" | "zfs")
    }

    /// Whether it is complete, and without background work.
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
        // The state of a complete pool that is being filled is its progress.
        let has_state = self.state != PoolState::Active || self.degraded > 0 || !self.is_filling();
        let mut words: Vec<String> = has_state.then_some(state).into_iter().collect();
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
