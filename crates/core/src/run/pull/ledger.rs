//! The ledger of writes: what was acknowledged, and whether it is there.

use std::collections::BTreeMap;

use super::content::Source;
use crate::record::LedgerFound;

/// Blocks of the file that is written over and over.
pub const BLOCK: u64 = 16 << 10;
/// Its number; files that are made anew have higher ones.
pub const AREA: u64 = 1 << 32;
/// The largest new file, bytes.
pub const LARGEST: u64 = 64 << 10;
/// What a drive writes as a whole, bytes.
const SECTOR: usize = 512;
/// So many losses are told in words.
const EXAMPLES: usize = 5;

/// A write: all of a new file, or a block of the area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Write {
    pub file: u64,
    pub offset: u64,
    pub length: u64,
    /// Counted from 1 over all files.
    pub number: u64,
    pub answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// None yet: it is under way, or hangs.
    Open,
    /// It was synced without an error.
    Acknowledged,
    /// An error.
    Refused,
}

impl Write {
    pub fn is_acknowledged(&self) -> bool {
        self.answer == Answer::Acknowledged
    }
}

#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub seed: u64,
    pub writes: Vec<Write>,
}

impl Ledger {
    pub fn source(&self, write: &Write) -> Source {
        Source { seed: self.seed, file: write.file, write: write.number }
    }

    /// The writes to each place, in their order.
    pub fn places(&self) -> BTreeMap<(u64, u64), Vec<&Write>> {
        let mut places: BTreeMap<_, Vec<&Write>> = BTreeMap::new();
        for write in &self.writes {
            places.entry((write.file, write.offset)).or_default().push(write);
        }
        places
    }

    /// Compares the ledger with what `read` finds at each place: a file, an offset and a length.
    pub fn compare(&self, mut read: impl FnMut(u64, u64, u64) -> Result<Vec<u8>, String>) -> LedgerFound {
        let acknowledged = self.writes.iter().filter(|write| write.is_acknowledged());
        let mut found = LedgerFound {
            acknowledged: acknowledged.clone().count() as u64,
            acknowledged_bytes: acknowledged.map(|write| write.length).sum(),
            refused: self.writes.iter().filter(|write| write.answer == Answer::Refused).count() as u64,
            ..LedgerFound::default()
        };
        for ((file, offset), writes) in self.places() {
            let Some(last) = writes.iter().rposition(|write| write.is_acknowledged()) else { continue };
            // The last one that was acknowledged, and what came after it, may be there.
            let (older, valid) = writes.split_at(last);
            let length = valid[0].length;
            let before = found.lost_bytes;
            let mut why = String::new();
            match read(file, offset, length) {
                Err(e) => {
                    found.lost_bytes += length;
                    found.unreadable_bytes += length;
                    why = e;
                }
                Ok(mut bytes) => {
                    let mut place = self.place(offset, length, &bytes, valid);
                    if place.kept < length {
                        let again = read(file, offset, length)
                            .map(|again| (self.place(offset, length, &again, valid), again));
                        // What is stored wrong stays wrong.
                        if let Some((right, again)) = again.ok().filter(|(place, _)| place.kept == length) {
                            (place, bytes) = (right, again);
                            found.unsteady += 1;
                        }
                    }
                    found.kept_bytes += place.kept;
                    found.torn_bytes += if place.is_torn { length } else { 0 };
                    found.lost_bytes += length - place.kept;
                    if place.kept < length {
                        let stale = older.iter().rev().find(|w| self.source(w).matching(offset, &bytes) > 0);
                        why = match stale {
                            Some(write) => format!("it holds write {} instead", write.number),
                            None if bytes.iter().all(|byte| *byte == 0) => "it holds zeros".to_owned(),
                            None if (bytes.len() as u64) < length => {
                                format!("it has {} of {length} bytes", bytes.len())
                            }
                            None => "it holds something else".to_owned(),
                        };
                    }
                }
            }
            if found.lost_bytes > before && found.examples.len() < EXAMPLES {
                let (name, number) = (name(file), valid[0].number);
                found.examples.push(format!("{name}, write {number} at {offset}: {why}"));
            }
        }
        found
    }

    /// What a place holds, sector by sector.
    fn place(&self, offset: u64, length: u64, bytes: &[u8], valid: &[&Write]) -> Place {
        let expected: Vec<Vec<u8>> = valid
            .iter()
            .map(|write| {
                let mut content = vec![0; length as usize];
                self.source(write).fill(offset, &mut content);
                content
            })
            .collect();
        let (mut kept, mut first, mut is_torn) = (0, None, false);
        for (at, sector) in bytes.chunks(SECTOR).enumerate() {
            let range = at * SECTOR..at * SECTOR + sector.len();
            let holds = expected.iter().position(|content| content.get(range.clone()) == Some(sector));
            kept += if holds.is_some() { sector.len() as u64 } else { 0 };
            is_torn |= *first.get_or_insert(holds) != holds && holds.is_some();
        }
        Place { kept, is_torn }
    }
}

struct Place {
    kept: u64,
    is_torn: bool,
}

/// The name of a file of the ledger.
pub fn name(file: u64) -> String {
    match file.checked_sub(AREA) {
        Some(0) => "area".to_owned(),
        Some(number) => format!("new-{number}"),
        None => file.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is stored: the content of these writes, the later ones over the earlier.
    fn stored(ledger: &Ledger, write: &Write) -> Vec<u8> {
        let mut bytes = vec![0; write.length as usize];
        ledger.source(write).fill(write.offset, &mut bytes);
        bytes
    }

    fn write(number: u64, block: u64, acknowledged: bool) -> Write {
        let answer = if acknowledged { Answer::Acknowledged } else { Answer::Refused };
        Write { file: AREA, offset: block * BLOCK, length: BLOCK, number, answer }
    }

    #[test]
    fn each_verdict_has_its_bytes() {
        let ledger =
            Ledger { seed: 7, writes: vec![write(1, 0, true), write(2, 0, true), write(3, 0, false)] };
        let [one, two, three] = [0, 1, 2].map(|at| stored(&ledger, &ledger.writes[at]));
        let found = |bytes: Result<Vec<u8>, String>| ledger.compare(|_, _, _| bytes.clone());
        let kept = found(Ok(two.clone()));
        assert_eq!((kept.acknowledged, kept.refused, kept.kept_bytes, kept.lost_bytes), (2, 1, BLOCK, 0));
        // What was not acknowledged may be there.
        let later = found(Ok(three.clone()));
        assert_eq!((later.kept_bytes, later.lost_bytes, later.torn_bytes), (BLOCK, 0, 0));
        let torn = found(Ok([&three[..4096], &two[4096..]].concat()));
        assert_eq!((torn.kept_bytes, torn.lost_bytes, torn.torn_bytes), (BLOCK, 0, BLOCK));
        let stale = found(Ok(one.clone()));
        assert_eq!((stale.lost_bytes, stale.unreadable_bytes), (BLOCK, 0));
        assert_eq!(stale.examples, ["area, write 2 at 0: it holds write 1 instead"]);
        let half = found(Ok([&one[..512], &two[512..]].concat()));
        assert_eq!((half.kept_bytes, half.lost_bytes, half.torn_bytes), (BLOCK - 512, 512, BLOCK));
        let zeros = found(Ok(vec![0; BLOCK as usize]));
        assert_eq!(zeros.examples, ["area, write 2 at 0: it holds zeros"]);
        let gone = found(Err("No such file".to_owned()));
        assert_eq!((gone.lost_bytes, gone.unreadable_bytes), (BLOCK, BLOCK));
        let short = found(Ok(two[..600].to_vec()));
        assert_eq!((short.kept_bytes, short.lost_bytes), (600, BLOCK - 600));
    }

    #[test]
    fn what_is_right_when_read_again_is_kept_and_said() {
        let ledger = Ledger { seed: 7, writes: vec![write(1, 0, true)] };
        let right = stored(&ledger, &ledger.writes[0]);
        let mut flipped = right.clone();
        flipped[700] ^= 4;
        let mut answers = vec![right, flipped.clone()];
        let found = ledger.compare(|_, _, _| Ok(answers.pop().expect("is read twice")));
        assert_eq!((found.kept_bytes, found.lost_bytes, found.unsteady), (BLOCK, 0, 1));
        let found = ledger.compare(|_, _, _| Ok(flipped.clone()));
        assert_eq!((found.lost_bytes, found.unsteady), (512, 0));
    }

    proptest! {
        #[test]
        fn bytes_are_kept_or_lost_and_only_acknowledged_ones_count(
            acknowledged in proptest::collection::vec((0_u64..4, any::<bool>()), 1..24),
            drop in 0_usize..24,
        ) {
            let writes = (1..).zip(&acknowledged).map(|(number, (block, ack))| write(number, *block, *ack));
            let ledger = Ledger { seed: 3, writes: writes.collect() };
            // Drives that have all writes but one.
            let hold = |skip: Option<usize>| {
                let kept = ledger.writes.iter().enumerate().filter(|(at, _)| Some(*at) != skip);
                kept.map(|(_, write)| (write.offset, stored(&ledger, write))).collect::<BTreeMap<_, _>>()
            };
            let all = hold(None);
            let compare = |held: &BTreeMap<u64, Vec<u8>>| {
                ledger.compare(|_, offset, length| Ok(held.get(&offset).cloned().unwrap_or(vec![0; length as usize])))
            };
            let healthy = compare(&all);
            prop_assert_eq!(healthy.lost_bytes, 0);
            let places = ledger.places();
            let counted = places.values().filter(|writes| writes.iter().any(|w| w.is_acknowledged()));
            prop_assert_eq!(healthy.kept_bytes, counted.count() as u64 * BLOCK);
            // A dropped write is noticed if it was acknowledged and nothing came after it.
            if let Some(write) = ledger.writes.get(drop) {
                let of = &places[&(write.file, write.offset)];
                let is_last = of.last().is_some_and(|last| last.number == write.number);
                let found = compare(&hold(Some(drop)));
                let lost = if is_last && write.is_acknowledged() { BLOCK } else { 0 };
                prop_assert_eq!(found.lost_bytes, lost);
            }
        }
    }
}
