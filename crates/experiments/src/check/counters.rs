//! Error counters of drives whose rise is meaningful.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::inventory::Drive;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Whether the drive reports that it is failing: 0 or 1.
    Failing,
    /// Sectors that wait for reallocation.
    Pending,
    /// Errors that it could not correct; media errors of NVMe drives.
    Uncorrectable,
    /// Sectors that were replaced.
    Reallocated,
    /// CRC errors between drive and controller.
    Cable,
    /// Used life: 0, 90 or 100 percent, rounded down.
    Wear,
}

impl Counter {
    /// What a drive is compared with at its first check: one that fails or is worn by then is no better for it.
    pub fn at_first(self, value: u64) -> u64 {
        if matches!(self, Self::Failing | Self::Wear) { 0 } else { value }
    }
}

/// The counters that a drive reports.
pub type Counters = BTreeMap<Counter, u64>;

/// More events than any drive that still works has counted: such a raw value has another meaning.
const MOST_EVENTS: u64 = 1 << 31;

/// The counters that a drive reported, without values that can't be.
pub fn counters(drive: &Drive) -> Counters {
    let Some(health) = drive.health.as_ref().filter(|health| health.unknown.is_none()) else {
        return Counters::new();
    };
    // Drives with sectors of 4 KiB may count pending and reallocated sectors in units of 512 bytes.
    let sectors = |count: &u64| *count <= drive.sectors.max(1);
    let wear = health.wear.filter(|wear| (0.0..=2.55).contains(wear)).map(|wear| match wear {
        used if used >= 1.0 => 100,
        used if used >= 0.9 => 90,
        _ => 0,
    });
    let all = [
        (Counter::Failing, health.passed.map(|_| u64::from(health.is_failing()))),
        (Counter::Pending, health.pending.filter(sectors)),
        (Counter::Uncorrectable, health.uncorrectable),
        (Counter::Reallocated, health.reallocated.filter(sectors)),
        (Counter::Cable, health.cable_errors),
        (Counter::Wear, wear),
    ];
    let plausible = all.into_iter().filter_map(|(counter, value)| Some((counter, value?)));
    plausible.filter(|(_, value)| *value < MOST_EVENTS).collect()
}

/// The counters that rose: each with what it was and what it is.
pub(crate) fn risen(before: &Counters, now: &Counters) -> Vec<(Counter, u64, u64)> {
    let rise = |(counter, to): (&Counter, &u64)| {
        let from = before.get(counter).copied().unwrap_or(counter.at_first(*to));
        (*to > from).then_some((*counter, from, *to))
    };
    now.iter().filter_map(rise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Health, Warning};

    fn drive(health: Health) -> Drive {
        Drive { sectors: 1 << 30, health: Some(health), ..Drive::default() }
    }

    fn of(health: Health) -> Counters {
        counters(&drive(health))
    }

    #[test]
    fn old_errors_that_do_not_grow_are_none() {
        let old = || Health { reallocated: Some(8), cable_errors: Some(120), ..Health::default() };
        assert_eq!(risen(&of(old()), &of(old())), []);
        let fewer = Health { reallocated: Some(0), ..old() };
        assert_eq!(risen(&of(old()), &of(fewer)), []);
        let more = Health { pending: Some(2), reallocated: Some(9), ..old() };
        assert_eq!(risen(&of(old()), &of(more)), [(Counter::Reallocated, 8, 9)], "pending was not reported");
    }

    #[test]
    fn implausible_values_are_ignored() {
        // Raw values of some vendors pack several counts into 48 bits.
        let packed = Health {
            reallocated: Some(0x0001_0000_0008),
            cable_errors: Some(u64::MAX),
            pending: Some((1 << 30) + 1),
            wear: Some(40.0),
            ..Health::default()
        };
        assert_eq!(of(packed), Counters::new());
        let unknown = Health { unknown: Some("asleep".to_owned()), pending: Some(1), ..Health::default() };
        assert_eq!(of(unknown), Counters::new());
    }

    #[test]
    fn life_counts_at_its_end_and_failing_at_once() {
        let used = |wear| of(Health { wear: Some(wear), ..Health::default() });
        assert_eq!(risen(&used(0.2), &used(0.89)), []);
        assert_eq!(risen(&used(0.89), &used(0.93)), [(Counter::Wear, 0, 90)]);
        let state = |passed, warnings| of(Health { passed: Some(passed), warnings, ..Health::default() });
        assert_eq!(risen(&state(true, vec![]), &state(false, vec![])), [(Counter::Failing, 0, 1)]);
        assert_eq!(risen(&state(true, vec![]), &state(false, vec![Warning::Temperature])), []);
        assert_eq!(
            risen(&Counters::new(), &state(false, vec![])),
            [(Counter::Failing, 0, 1)],
            "at its first check"
        );
    }
}
