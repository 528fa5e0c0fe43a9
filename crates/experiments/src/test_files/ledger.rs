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
/// The unit that a drive writes atomically, bytes.
const SECTOR: usize = 512;
/// The number of losses that are described.
const EXAMPLES: usize = 5;

/// A write: all of a new file, or a block of the area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Write {
    pub file: u64,
    pub offset: u64,
    pub length: u64,
    /// Counted from 1 over all files.
    pub number: u64,
    /// It was synced without an error.
    pub acknowledged: bool,
}

impl Write {
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
        let acknowledged = self.writes.iter().filter(|write| write.acknowledged);
        let mut found = LedgerFound {
            acknowledged: acknowledged.clone().count() as u64,
            acknowledged_bytes: acknowledged.map(|write| write.length).sum(),
            ..LedgerFound::default()
        };
        for writes in self.places().into_values() {
            let Some(last) = writes.iter().rposition(|write| write.acknowledged) else { continue };
            // The last one that was acknowledged, and what came after it, may be there.
            let valid = &writes[last..];
            let Write { file, offset, length, number, .. } = *valid[0];
            let (kept, why) = match read(valid[0]) {
                Err(e) => {
                    found.unreadable_bytes += length;
                    (0, e.to_string())
                }
                Ok(bytes) => {
                    let mut kept = self.kept(&bytes, valid);
                    // What is stored wrong stays wrong.
                    if kept < length && read(valid[0]).is_ok_and(|again| self.kept(&again, valid) == length) {
                        kept = length;
                        found.unsteady += 1;
                    }
                    (kept, format!("{} of {length} bytes are something else", length - kept))
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

    /// Bytes of a place that are of writes that may be there, sector by sector.
    fn kept(&self, bytes: &[u8], valid: &[&Write]) -> u64 {
        let content = |write: &&Write| {
            let mut content = vec![0; write.length as usize];
            self.source(write).fill(write.offset, &mut content);
            content
        };
        let expected: Vec<Vec<u8>> = valid.iter().map(content).collect();
        let is_kept = |(at, sector): &(usize, &[u8])| {
            let range = at * SECTOR..at * SECTOR + sector.len();
            expected.iter().any(|content| content.get(range.clone()) == Some(*sector))
        };
        let sectors = bytes.chunks(SECTOR).enumerate().filter(is_kept);
        sectors.map(|(_, sector)| sector.len() as u64).sum()
    }
}

/// The writes that make the area.
pub fn area_writes() -> impl Iterator<Item = Write> {
    (1..=AREA_BLOCKS).map(|number| Write {
        file: AREA,
        offset: (number - 1) * BLOCK,
        length: BLOCK,
        number,
        acknowledged: true,
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
        Write { file: AREA, offset: block * BLOCK, length: BLOCK, number, acknowledged }
    }

    #[test]
    fn each_verdict_has_its_bytes() {
        let ledger =
            Ledger { seed: 7, writes: vec![write(1, 0, true), write(2, 0, true), write(3, 0, false)] };
        let [one, two, three] = [0, 1, 2].map(|at| stored(&ledger, &ledger.writes[at]));
        let found =
            |bytes: Result<Vec<u8>, &str>| ledger.compare(|_| bytes.clone().map_err(io::Error::other));
        let kept = found(Ok(two.clone()));
        assert_eq!((kept.acknowledged, kept.kept_bytes, kept.lost_bytes), (2, BLOCK, 0));
        // What was not acknowledged may be there, also in part.
        for later in [three.clone(), [&three[..4096], &two[4096..]].concat()] {
            let found = found(Ok(later));
            assert_eq!((found.kept_bytes, found.lost_bytes), (BLOCK, 0));
        }
        let stale = found(Ok(one.clone()));
        assert_eq!((stale.lost_bytes, stale.unreadable_bytes), (BLOCK, 0));
        assert_eq!(stale.examples, ["area, write 2 at 0: 16384 of 16384 bytes are something else"]);
        let half = found(Ok([&one[..512], &two[512..]].concat()));
        assert_eq!((half.kept_bytes, half.lost_bytes), (BLOCK - 512, 512));
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
            let counted = places.values().filter(|writes| writes.iter().any(|w| w.acknowledged));
            prop_assert_eq!(healthy.kept_bytes, counted.count() as u64 * BLOCK);
            // A dropped write is noticed if it was acknowledged and nothing came after it.
            if let Some(write) = ledger.writes.get(drop) {
                let of = &places[&(write.file, write.offset)];
                let is_last = of.last().is_some_and(|last| last.number == write.number);
                let found = compare(&hold(Some(drop)));
                let lost = if is_last && write.acknowledged { BLOCK } else { 0 };
                prop_assert_eq!(found.lost_bytes, lost);
            }
        }
    }
}
