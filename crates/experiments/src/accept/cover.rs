//! One part of a drive is written with stamps, or the stamps are verified.

use std::{io, ops::Range, time::Instant};

use serde::{Deserialize, Serialize};

use super::act::Pass;
use crate::{
    engine::Cancel,
    record::Observation,
    stamped::{BLOCK, Medium, attempt, stamp_into, stamped},
    units::Health,
};

/// Length of a transfer in blocks.
const TRANSFER: u64 = 1024;
/// Pieces of a part, each with a speed of its own.
pub(super) const PIECES: u64 = 4;
/// Bad blocks of a part, or of a drive, that are listed; more are counted.
pub(super) const LISTED: usize = 100;
/// Blocks of a part that fail with errors before the test of the drive ends: each may take minutes.
const MOST_ERRORS: u64 = 256;

/// The result of a pass over a part of a drive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Covered {
    /// Transfers without errors, in equal pieces of the part.
    pub pieces: Vec<Piece>,
    pub counts: Counts,
    /// The first bad blocks.
    pub bad: Vec<Bad>,
    /// SMART values after the part, and before the first one.
    pub health: Option<Health>,
    pub before: Option<Health>,
    /// Why the part was not finished. Later parts leave the drive out.
    pub failed: Option<Failure>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Piece {
    pub bytes: u64,
    pub seconds: f64,
}

/// A block that is not good. Positions are in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Bad {
    pub block: u64,
    pub damage: Damage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Damage {
    Unwritable,
    Unreadable,
    /// It holds other data than was written.
    Changed,
    /// It holds what was written to another block.
    Moved {
        of: u64,
    },
}

/// Numbers of bad blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Blocks that can't be written or read.
    pub errors: u64,
    /// Blocks that hold something else than was written.
    pub wrong: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Failure {
    /// It was unplugged, or dropped off its bus.
    Gone,
    TooManyErrors,
    /// It could not be used; the reason.
    Refused(String),
}

crate::kind!("accept.part", Covered as Observation);

impl Observation for Covered {}

impl Covered {
    pub fn failed(failure: Failure) -> Self {
        Self { failed: Some(failure), ..Self::default() }
    }

    pub fn add(&mut self, block: u64, damage: Damage) {
        match damage {
            Damage::Unwritable | Damage::Unreadable => self.counts.errors += 1,
            Damage::Changed | Damage::Moved { .. } => self.counts.wrong += 1,
        }
        if self.bad.len() < LISTED {
            self.bad.push(Bad { block, damage });
        }
    }
}

impl Counts {
    pub fn all(self) -> u64 {
        self.errors.saturating_add(self.wrong)
    }
}

/// Part `at` of `parts` nearly equal parts of a range.
pub(super) fn part(range: &Range<u64>, at: u64, parts: u64) -> Range<u64> {
    let length = u128::from(range.end - range.start);
    let place = |n: u64| range.start + (length * u128::from(n) / u128::from(parts)) as u64;
    place(at)..place(at + 1)
}

/// Writes or verifies the stamps of a range of blocks. Bad blocks are counted; an error ends the pass.
pub(super) fn cover(
    medium: &mut dyn Medium,
    pass: Pass,
    range: &Range<u64>,
    salt: u64,
    cancel: &Cancel,
) -> io::Result<Covered> {
    let mut buffer = vec![0; TRANSFER as usize * BLOCK];
    let mut covered = Covered::default();
    for nth in 0..PIECES {
        let whole = part(range, nth, PIECES);
        let (mut at, mut piece) = (whole.start, Piece::default());
        while at < whole.end {
            let blocks = TRANSFER.min(whole.end - at);
            let data = &mut buffer[..blocks as usize * BLOCK];
            if pass == Pass::Write {
                data.chunks_exact_mut(BLOCK).zip(at..).for_each(|(block, at)| stamp_into(block, salt, at));
            }
            let since = Instant::now();
            match transfer(medium, pass, at, data)? {
                Some(()) => {
                    piece.seconds += since.elapsed().as_secs_f64();
                    piece.bytes += data.len() as u64;
                    judge(&mut covered, pass, at, data, salt);
                }
                None => {
                    // One by one, to find those that fail.
                    for (block, at) in data.chunks_exact_mut(BLOCK).zip(at..) {
                        match (transfer(medium, pass, at, block)?, pass) {
                            (Some(()), _) => judge(&mut covered, pass, at, block, salt),
                            (None, Pass::Write) => covered.add(at, Damage::Unwritable),
                            (None, Pass::Verify) => covered.add(at, Damage::Unreadable),
                        }
                        if covered.counts.errors >= MOST_ERRORS {
                            covered.failed = Some(Failure::TooManyErrors);
                            return Ok(covered);
                        }
                        if cancel.is_set() {
                            return Ok(covered);
                        }
                    }
                }
            }
            at += blocks;
            if cancel.is_set() {
                return Ok(covered);
            }
        }
        if pass == Pass::Write {
            let since = Instant::now();
            // Losses are found by the verification.
            attempt(medium.flush())?;
            piece.seconds += since.elapsed().as_secs_f64();
        }
        covered.pieces.push(piece);
    }
    Ok(covered)
}

/// `None` where the drive can't do it.
fn transfer(medium: &mut dyn Medium, pass: Pass, at: u64, data: &mut [u8]) -> io::Result<Option<()>> {
    attempt(match pass {
        Pass::Write => medium.write(at, data),
        Pass::Verify => medium.read(at, data),
    })
}

/// Compares blocks that were read with what was written to them.
fn judge(covered: &mut Covered, pass: Pass, from: u64, data: &[u8], salt: u64) {
    if pass == Pass::Write {
        return;
    }
    let mut expected = [0; BLOCK];
    for (block, at) in data.chunks_exact(BLOCK).zip(from..) {
        stamp_into(&mut expected, salt, at);
        if *block == expected[..] {
            continue;
        }
        match stamped(block) {
            Some((own, of)) if own == salt && of != at => covered.add(at, Damage::Moved { of }),
            _ => covered.add(at, Damage::Changed),
        }
    }
}
