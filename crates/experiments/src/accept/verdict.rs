//! The verdict on a drive.

use super::{
    act::Pass,
    compared::Slower,
    cover::{Bad, Counts, Failure},
};
use crate::{check::MOST_EVENTS, units::Health};

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
    Accept,
    Reject(Vec<Reason>),
    Undecided(Undecided),
}

/// Why a drive is rejected.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reason {
    /// Blocks that can't be read or written, or hold something else than was written.
    Blocks(Counts),
    /// Its test ended after too many errors.
    TooManyErrors,
    /// A count of errors that rose during the test.
    Rose { counter: Counter, before: u64, after: u64 },
    /// Its SMART status reports failure.
    SaysItFails,
    /// Its passes that are slower than those of other drives of its model.
    Slower(Vec<Slower>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Reallocated,
    Pending,
    Uncorrectable,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Undecided {
    /// Parts that are left to be written and verified.
    Unfinished {
        left: u32,
        of: u32,
    },
    Gone(Pass, u32),
    Refused(String),
}

impl Tested {
    /// All of it was written and verified.
    pub fn is_whole(&self) -> bool {
        self.written == self.parts && self.verified == self.parts
    }

    /// The counters that rose, with their values before and after.
    pub fn risen(&self) -> Vec<(Counter, u64, u64)> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Vec::new() };
        let counters = [
            (Counter::Reallocated, before.reallocated, after.reallocated),
            (Counter::Pending, before.pending, after.pending),
            (Counter::Uncorrectable, before.uncorrectable, after.uncorrectable),
        ];
        let known =
            counters.into_iter().filter_map(|(counter, before, after)| Some((counter, before?, after?)));
        known.filter(|(_, before, after)| after > before && *after < MOST_EVENTS).collect()
    }
}

impl Verdict {
    pub fn of(tested: &Tested) -> Self {
        let mut reasons = Vec::new();
        if tested.counts.all() > 0 {
            reasons.push(Reason::Blocks(tested.counts));
        }
        if matches!(tested.failed, Some((Failure::TooManyErrors, ..))) {
            reasons.push(Reason::TooManyErrors);
        }
        let rose = |(counter, before, after)| Reason::Rose { counter, before, after };
        reasons.extend(tested.risen().into_iter().map(rose));
        if tested.after.as_ref().is_some_and(|health| health.passed == Some(false)) {
            reasons.push(Reason::SaysItFails);
        }
        if !tested.slower.is_empty() {
            reasons.push(Reason::Slower(tested.slower.clone()));
        }
        if !reasons.is_empty() {
            return Self::Reject(reasons);
        }
        match &tested.failed {
            Some((Failure::Gone, pass, part)) => Self::Undecided(Undecided::Gone(*pass, *part)),
            Some((Failure::Refused(why), ..)) => Self::Undecided(Undecided::Refused(why.clone())),
            _ if !tested.is_whole() => {
                let of = 2 * tested.parts;
                Self::Undecided(Undecided::Unfinished { left: of - tested.written - tested.verified, of })
            }
            _ => Self::Accept,
        }
    }
}
