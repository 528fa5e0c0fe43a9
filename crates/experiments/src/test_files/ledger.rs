//! The ledger of writes: what was acknowledged, and whether it is there.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{LedgerFound, READ, content::Source, open, read, tree::create, within};
use crate::engine::Aligned;

/// Bytes of a block of the file that is written over and over.
pub const BLOCK: u64 = 16 << 10;
/// The number of that file, the area; files that are made anew have higher ones.
pub const AREA: u64 = 1 << 32;
/// Blocks of the area.
pub const AREA_BLOCKS: u64 = 256;
/// The largest new file, bytes.
pub const LARGEST: u64 = 64 << 10;
/// What a drive writes as a whole, bytes.
const SECTOR: usize = 512;
/// The number of losses that are told in words.
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
    /// The write is under way, or hangs.
    Open,
    /// It was synced without an error.
    Acknowledged,
    /// It got an error.
    Refused,
}

impl Answer {
    pub fn new(acknowledged: bool) -> Self {
        if acknowledged { Self::Acknowledged } else { Self::Refused }
    }
}

impl Write {
    pub fn is_acknowledged(&self) -> bool {
        self.answer == Answer::Acknowledged
    }

    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(file_name(self.file))
    }
}

/// The writes, in their order.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub seed: u64,
    pub writes: Vec<Write>,
}

impl Ledger {
    /// Makes the area in a directory, and syncs it: each block is a write that was acknowledged.
    pub fn begin(dir: &Path, seed: u64) -> io::Result<Self> {
        let ledger = Self { seed, writes: area_writes().collect() };
        let mut file = create(&dir.join(file_name(AREA)))?;
        let mut block = vec![0; BLOCK as usize];
        for write in &ledger.writes {
            ledger.source(write).fill(write.offset, &mut block);
            file.write_all(&block)?;
        }
        file.sync_all()?;
        File::open(dir)?.sync_all()?;
        Ok(ledger)
    }

    pub fn source(&self, write: &Write) -> Source {
        Source { seed: self.seed, file: write.file, write: write.number }
    }

    /// The last write to the place of another one.
    pub fn last_to(&self, place: &Write) -> Option<&Write> {
        self.writes.iter().rev().find(|write| (write.file, write.offset) == (place.file, place.offset))
    }

    /// The writes to each place, in their order.
    pub fn places(&self) -> BTreeMap<(u64, u64), Vec<&Write>> {
        let mut places: BTreeMap<_, Vec<&Write>> = BTreeMap::new();
        for write in &self.writes {
            places.entry((write.file, write.offset)).or_default().push(write);
        }
        places
    }

    /// Compares the ledger with the files of a directory, read past the page cache. What can't be read within `limit` is not known to be
    /// there.
    pub fn verify(&self, dir: &Path, limit: Duration) -> LedgerFound {
        let (dir, ledger) = (dir.to_owned(), self.clone());
        let found = within(limit, move || {
            let mut buffer = Aligned::new(READ);
            ledger.compare(|write| {
                let file = open(&write.path(&dir))?;
                read(&file, write.offset, write.length, &mut buffer).map(<[u8]>::to_vec)
            })
        });
        found.unwrap_or_else(|| self.compare(|_| Err(io::Error::other("reading hung"))))
    }

    /// Compares the ledger with what `read` finds at the place of a write.
    pub(super) fn compare(&self, mut read: impl FnMut(&Write) -> io::Result<Vec<u8>>) -> LedgerFound {
        let acknowledged = self.writes.iter().filter(|write| write.is_acknowledged());
        let mut found = LedgerFound {
            acknowledged: acknowledged.clone().count() as u64,
            acknowledged_bytes: acknowledged.map(|write| write.length).sum(),
            refused: self.writes.iter().filter(|write| write.answer == Answer::Refused).count() as u64,
            ..LedgerFound::default()
        };
        for writes in self.places().into_values() {
            let Some(last) = writes.iter().rposition(|write| write.is_acknowledged()) else { continue };
            // The last one that was acknowledged, and what came after it, may be there.
            let (older, valid) = writes.split_at(last);
            let Write { file, offset, length, number, .. } = *valid[0];
            let (kept, why) = match read(valid[0]) {
                Err(e) => {
                    found.unreadable_bytes += length;
                    (0, e.to_string())
                }
                Ok(mut bytes) => {
                    let mut place = self.place(&bytes, valid);
                    if place.kept < length {
                        let again = read(valid[0]).map(|again| (self.place(&again, valid), again));
                        // What is stored wrong stays wrong.
                        if let Some((right, again)) = again.ok().filter(|(place, _)| place.kept == length) {
                            (place, bytes) = (right, again);
                            found.unsteady += 1;
                        }
                    }
                    found.torn_bytes += if place.is_torn { length } else { 0 };
                    let is_kept = place.kept == length;
                    (place.kept, if is_kept { String::new() } else { self.describe(&bytes, older, length) })
                }
            };
            found.kept_bytes += kept;
            found.lost_bytes += length - kept;
            if kept < length && found.examples.len() < EXAMPLES {
                found.examples.push(format!("{}, write {number} at {offset}: {why}", file_name(file)));
            }
        }
        found
    }

    /// What a place holds, sector by sector.
    fn place(&self, bytes: &[u8], valid: &[&Write]) -> PlaceContent {
        let content = |write: &&Write| {
            let mut content = vec![0; write.length as usize];
            self.source(write).fill(write.offset, &mut content);
            content
        };
        let expected: Vec<Vec<u8>> = valid.iter().map(content).collect();
        let (mut kept, mut first, mut is_torn) = (0, None, false);
        for (at, sector) in bytes.chunks(SECTOR).enumerate() {
            let range = at * SECTOR..at * SECTOR + sector.len();
            let holds = expected.iter().position(|content| content.get(range.clone()) == Some(sector));
            kept += if holds.is_some() { sector.len() as u64 } else { 0 };
            is_torn |= *first.get_or_insert(holds) != holds && holds.is_some();
        }
        PlaceContent { kept, is_torn }
    }

    /// What a place holds instead of what was acknowledged.
    fn describe(&self, bytes: &[u8], older: &[&Write], length: u64) -> String {
        let stale = older.iter().rev().find(|write| self.source(write).matching(write.offset, bytes) > 0);
        match stale {
            Some(write) => format!("it holds write {} instead", write.number),
            None if bytes.iter().all(|byte| *byte == 0) => "it holds zeros".to_owned(),
            None if (bytes.len() as u64) < length => format!("it has {} of {length} bytes", bytes.len()),
            None => "it holds something else".to_owned(),
        }
    }
}

struct PlaceContent {
    /// Bytes of writes that may be there.
    kept: u64,
    is_torn: bool,
}

/// The writes that make the area.
pub fn area_writes() -> impl Iterator<Item = Write> {
    (1..=AREA_BLOCKS).map(|number| Write {
        file: AREA,
        offset: (number - 1) * BLOCK,
        length: BLOCK,
        number,
        answer: Answer::Acknowledged,
    })
}

/// The name of a file of the ledger.
pub fn file_name(file: u64) -> String {
    match file.saturating_sub(AREA) {
        0 => "area".to_owned(),
        number => format!("new-{number}"),
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
        Write { file: AREA, offset: block * BLOCK, length: BLOCK, number, answer: Answer::new(acknowledged) }
    }

    #[test]
    fn each_verdict_has_its_bytes() {
        let ledger =
            Ledger { seed: 7, writes: vec![write(1, 0, true), write(2, 0, true), write(3, 0, false)] };
        let [one, two, three] = [0, 1, 2].map(|at| stored(&ledger, &ledger.writes[at]));
        let found =
            |bytes: Result<Vec<u8>, &str>| ledger.compare(|_| bytes.clone().map_err(io::Error::other));
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
        let gone = found(Err("No such file"));
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
        let found = ledger.compare(|_| Ok(answers.pop().expect("is read twice")));
        assert_eq!((found.kept_bytes, found.lost_bytes, found.unsteady), (BLOCK, 0, 1));
        let found = ledger.compare(|_| Ok(flipped.clone()));
        assert_eq!((found.lost_bytes, found.unsteady), (512, 0));
    }

    #[test]
    fn the_area_is_a_ledger_of_acknowledged_blocks() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let found = Ledger::begin(dir.path(), 9).expect("makes").verify(dir.path(), Duration::from_secs(60));
        assert_eq!((found.kept_bytes, found.lost_bytes), (AREA_BLOCKS * BLOCK, 0));
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
                ledger.compare(|write| Ok(held.get(&write.offset).cloned().unwrap_or(vec![0; write.length as usize])))
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
