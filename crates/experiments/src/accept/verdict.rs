//! The verdict on a drive.

use super::{
    act::Pass,
    compared::Slower,
    cover::{Bad, Counts, Failure},
};
use crate::{
    check::{Counter, counters, risen},
    inventory::Drive,
    units::Health,
};

/// The results of one drive in the record.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tested {
    pub blocks: u64,
    pub parts: u32,
    /// Parts that were written, and verified, to their end.
    pub written: u32,
    pub verified: u32,
    pub counts: Counts,
    /// The first bad blocks of each part.
    pub bad: Vec<Bad>,
    /// Why it was left out, and in which part.
    pub failed: Option<(Failure, Pass, u32)>,
    pub before: Option<Health>,
    pub after: Option<Health>,
    pub slower: Vec<Slower>,
    /// Degrees Celsius.
    pub hottest: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Reject(Vec<Reason>),
    /// It could not be written and verified completely.
    Undecided,
    Accept,
}

/// Why a drive is rejected.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reason {
    /// Blocks that can't be read or written, or hold something else than was written.
    Blocks,
    /// Its test ended after too many errors.
    TooManyErrors,
    /// A counter of errors that rose during the test: its values before and after.
    Rose(Counter, u64, u64),
    /// Its passes that are slower than those of other drives of its model.
    Slower,
}

impl Tested {
    /// All of it was written and verified.
    pub fn is_whole(&self) -> bool {
        self.written == self.parts && self.verified == self.parts
    }

    /// The counters of the drive's own errors that rose, with their values before and after.
    pub fn risen(&self) -> Vec<(Counter, u64, u64)> {
        let counters = |health: &Option<Health>| {
            counters(&Drive { sectors: self.blocks * 8, health: health.clone(), ..Drive::default() })
        };
        let mut before = counters(&self.before);
        // One that failed before is no better for it.
        before.remove(&Counter::Failing);
        let mut risen = risen(&before, &counters(&self.after));
        risen.retain(|(counter, ..)| !matches!(counter, Counter::Cable | Counter::Wear));
        risen
    }
}

impl Verdict {
    pub fn of(tested: &Tested) -> Self {
        let mut reasons = Vec::new();
        if tested.counts.all() > 0 {
            reasons.push(Reason::Blocks);
        }
        if matches!(tested.failed, Some((Failure::TooManyErrors, ..))) {
            reasons.push(Reason::TooManyErrors);
        }
        let rose = |(counter, before, after)| Reason::Rose(counter, before, after);
        reasons.extend(tested.risen().into_iter().map(rose));
        if !tested.slower.is_empty() {
            reasons.push(Reason::Slower);
        }
        match () {
            () if !reasons.is_empty() => Self::Reject(reasons),
            () if tested.failed.is_some() || !tested.is_whole() => Self::Undecided,
            () => Self::Accept,
        }
    }
}
