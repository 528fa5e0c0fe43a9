//! The verdict on a drive's size.

use super::probe::{Probed, Sample, State};
use crate::{analyse::proportion, stamped::BLOCK};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// At least this share of the blocks is real, with 95 % confidence.
    Real {
        good: f64,
    },
    Fake {
        how: False,
        bytes: u64,
        confirmed: bool,
    },
    /// Free space overwrites other blocks or its end loses what is written, so the size is false: the share of bad blocks.
    FakeSomewhere {
        overwrites: bool,
        share: f64,
    },
    /// Every block beyond this many bytes fails with an error, which false drives and defects have in common.
    Fails {
        from: u64,
    },
    /// The share of bad blocks and its 95 % interval.
    Faulty {
        share: f64,
        low: f64,
        high: f64,
        errors: bool,
    },
    /// Blocks that were wrong at first and right later.
    Unsteady {
        samples: u64,
    },
    Undecided(Undecided),
}

/// How a false size is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum False {
    /// Addresses wrap around after this many bytes.
    Wraps(u64),
    /// What is written beyond it is lost.
    Vanishes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undecided {
    /// Nothing was sampled.
    Nothing,
    /// Blocks are bad beyond some point, but a second pass did not agree where.
    NoEdge,
}

impl Verdict {
    pub fn of(probed: &Probed) -> Self {
        let count = |is: &dyn Fn(State) -> bool| probed.samples.iter().filter(|s| is(s.state)).count() as u64;
        let samples = probed.samples.len() as u64;
        let unsteady = count(&|state| state == State::Unsteady);
        let bad = count(&State::is_bad);
        let errors = count(&|state| matches!(state, State::ReadError | State::WriteError));
        let bytes = |blocks: u64| blocks * BLOCK as u64;
        if samples == 0 {
            return Self::Undecided(Undecided::Nothing);
        }
        if let Some(wraps) = probed.wraps {
            let real = probed.edge.filter(|edge| edge.confirmed).unwrap_or(wraps);
            return Self::Fake {
                how: False::Wraps(bytes(wraps.blocks)),
                bytes: bytes(real.blocks),
                confirmed: wraps.confirmed,
            };
        }
        let share = bad as f64 / samples as f64;
        let foreign = probed.foreign.unwrap_or(false);
        if foreign || probed.foreign.is_some() && errors == 0 && tail(&probed.samples, false).is_some() {
            return Self::FakeSomewhere { overwrites: foreign, share };
        }
        match probed.edge {
            Some(edge) if errors == bad => return Self::Fails { from: bytes(edge.blocks) },
            Some(edge) if edge.confirmed => {
                return Self::Fake { how: False::Vanishes, bytes: bytes(edge.blocks), confirmed: true };
            }
            Some(_) => return Self::Undecided(Undecided::NoEdge),
            None => {}
        }
        if bad > 0 {
            let (low, high) = proportion(bad, samples, 0.95);
            return Self::Faulty { share, low, high, errors: errors == bad };
        }
        match unsteady {
            // One-sided: that more is real harms nobody.
            0 => Self::Real { good: 0.05_f64.powf(1.0 / samples as f64) },
            samples => Self::Unsteady { samples },
        }
    }
}

/// The last good and the first bad sample, where all samples are good up to some point and none beyond it. Where addresses wrap around,
/// bad ones before it were overwritten.
pub(super) fn tail(samples: &[Sample], overwritten: bool) -> Option<(u64, u64)> {
    /// Fewer could be bad by chance.
    const LEAST: usize = 3;
    let is_bad = |s: &Sample| s.state.is_bad();
    let first = samples.iter().rposition(|s| !is_bad(s)).map_or(0, |last| last + 1);
    let (before, beyond) = samples.split_at(first);
    let is_tail = match overwritten {
        true => !beyond.is_empty(),
        false => beyond.len() >= LEAST && !before.iter().any(is_bad),
    };
    is_tail.then(|| (before.last().map_or(0, |s| s.block), beyond[0].block))
}
