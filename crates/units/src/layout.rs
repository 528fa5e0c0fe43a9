//! Layouts: how drives are joined into one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Direction;

/// A layout, by the kernel's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One drive alone.
    Single,
    /// Drives one after the other.
    Linear,
    Raid0,
    Raid1,
    Raid5,
    Raid6,
    /// Two copies of each chunk, near each other (md's `n2`).
    Raid10,
}

/// Rates at which a kernel computes parity, in bytes of data per second; `None` where it has not measured them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Parity {
    /// Rate of raid5's parity, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xor: Option<f64>,
    /// Rate of both parities of raid6, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid6: Option<f64>,
}

impl Parity {
    /// Time to compute the parity of this much data, s; 0 where no parity is computed or the rate is unknown.
    pub fn seconds(self, layout: Layout, bytes: u64) -> f64 {
        let rate = match layout {
            Layout::Raid5 => self.xor,
            Layout::Raid6 => self.raid6,
            _ => None,
        };
        rate.map_or(0.0, |rate| bytes as f64 / rate)
    }
}

impl Layout {
    /// The layouts of several drives.
    pub const ALL: [Self; 6] =
        [Self::Linear, Self::Raid0, Self::Raid1, Self::Raid5, Self::Raid6, Self::Raid10];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Linear => "linear",
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
            Self::Raid10 => "raid10",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }

    pub const fn has_parity(self) -> bool {
        matches!(self, Self::Raid5 | Self::Raid6)
    }

    /// The fewest members it can be built of.
    pub const fn least(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Linear | Self::Raid0 | Self::Raid1 | Self::Raid10 => 2,
            Self::Raid5 => 3,
            Self::Raid6 => 4,
        }
    }

    /// How many of its members may fail, whichever they are.
    pub const fn survives(self, members: usize) -> usize {
        match self {
            Self::Single | Self::Linear | Self::Raid0 => 0,
            Self::Raid1 => members.saturating_sub(1),
            Self::Raid5 | Self::Raid10 => 1,
            Self::Raid6 => 2,
        }
    }

    /// Whether it starts although these members are missing. A raid10 (near, 2 copies) needs one copy of everything.
    pub fn starts_without(self, missing: &[bool]) -> bool {
        let (n, lost) = (missing.len(), missing.iter().filter(|lost| **lost).count());
        let pair_is_lost = |first: usize| missing[first] && missing[(first + 1) % n];
        match self {
            Self::Raid10 => {
                lost < n && (0..n).step_by(if n % 2 == 0 { 2 } else { 1 }).all(|at| !pair_is_lost(at))
            }
            _ => lost <= self.survives(n),
        }
    }

    /// How many members have data of their own in a stripe; the others have copies or parity of it.
    pub const fn data_members(self, members: usize) -> usize {
        match self {
            Self::Single | Self::Linear | Self::Raid0 => members,
            Self::Raid1 => 1,
            Self::Raid5 => members.saturating_sub(1),
            Self::Raid6 => members.saturating_sub(2),
            Self::Raid10 => members / 2,
        }
    }

    /// Chunks of data after which the same members have the same parts again.
    pub const fn cycle(self, members: usize) -> u64 {
        let data = self.data_members(members);
        (if data == 0 { 1 } else { data } * members) as u64
    }

    /// Whether its speed follows from one of its drives: the first file of linear is on one, and raid1 reads one at a time.
    pub const fn is_of_one_drive(self, direction: Direction) -> bool {
        match self {
            Self::Single | Self::Linear => true,
            Self::Raid1 => matches!(direction, Direction::Read),
            Self::Raid0 | Self::Raid5 | Self::Raid6 | Self::Raid10 => false,
        }
    }

    /// Whether it has copies or parity, so that a failed member can be replaced.
    pub const fn is_redundant(self) -> bool {
        !matches!(self, Self::Single | Self::Linear | Self::Raid0)
    }

    /// Whether data is spread over the members in chunks.
    pub const fn is_striped(self) -> bool {
        !matches!(self, Self::Single | Self::Linear | Self::Raid1)
    }

    /// Whether the device mapper joins whole drives, without metadata on them. Other layouts are arrays of md.
    pub const fn is_mapped(self) -> bool {
        matches!(self, Self::Single | Self::Linear)
    }

    /// The kernel's module that builds it.
    pub const fn module(self) -> &'static str {
        match self {
            Self::Single | Self::Linear => "dm_mod",
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid5 | Self::Raid6 => "raid456",
            Self::Raid10 => "raid10",
        }
    }

    /// The sectors that members of these sizes hold together. Striped members are used in whole chunks.
    pub fn capacity(self, members: &[u64], chunk: u64) -> u64 {
        let whole = |sectors: u64| if self.is_striped() { sectors / chunk * chunk } else { sectors };
        let n = members.len() as u64;
        let least = whole(members.iter().copied().min().unwrap_or(0));
        match self {
            Self::Single | Self::Linear | Self::Raid0 => members.iter().map(|sectors| whole(*sectors)).sum(),
            Self::Raid10 => least / chunk * n / 2 * chunk,
            _ => least * self.data_members(members.len()) as u64,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_raid10_starts_with_a_copy_of_everything() {
        let without = |layout: Layout, n: usize, gone: &[usize]| {
            let missing: Vec<bool> = (0..n).map(|at| gone.contains(&at)).collect();
            layout.starts_without(&missing)
        };
        assert!(without(Layout::Raid10, 4, &[0, 2]) && without(Layout::Raid10, 4, &[1, 2]));
        assert!(!without(Layout::Raid10, 4, &[0, 1]) && !without(Layout::Raid10, 4, &[2, 3]));
        // Of three members, any two neighbours share a chunk.
        assert!(without(Layout::Raid10, 3, &[1]) && !without(Layout::Raid10, 3, &[0, 2]));
        assert!(without(Layout::Raid10, 2, &[1]) && !without(Layout::Raid10, 2, &[0, 1]));
        assert!(without(Layout::Raid6, 4, &[0, 1]) && !without(Layout::Raid5, 4, &[0, 1]));
        assert!(!without(Layout::Raid0, 2, &[1]) && without(Layout::Raid0, 2, &[]));
    }

    #[test]
    fn the_sticks_of_the_post_lose_no_sector_in_a_line() {
        let sticks = [121_077_760, 121_077_760, 121_077_761, 483_321_640];
        assert_eq!(Layout::Linear.capacity(&sticks, 1024), 846_554_921);
    }

    #[test]
    fn an_odd_number_of_members_makes_a_raid10_of_half_of_them() {
        assert_eq!(Layout::Raid10.capacity(&[10_000, 10_000, 10_300], 1024), 9 * 3 / 2 * 1024);
    }

    proptest! {
        /// Redundancy takes as much capacity as may be lost.
        #[test]
        fn redundancy_costs_capacity(members in prop::collection::vec(1u64 << 11..1 << 40, 4..8), chunk in 3u32..12) {
            let chunk = 1u64 << chunk;
            let least = members.iter().min().copied().unwrap_or(0);
            for layout in Layout::ALL {
                let (holds, survives) = (layout.capacity(&members, chunk), layout.survives(members.len()));
                prop_assert!(holds <= members.iter().sum());
                prop_assert!(survives == 0 || holds <= least * (members.len() - survives) as u64, "{layout}");
                prop_assert_eq!(survives > 0, layout.is_redundant());
            }
        }
    }
}
