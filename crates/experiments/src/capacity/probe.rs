//! Stamps are written to blocks spread over the drive and read back after its cache was overflowed.
//!
//! A drive with a false size either maps addresses to blocks that it uses for others, too, or loses what is written beyond its
//! real size. So each round saves blocks, writes stamps, overflows the cache with what is there already, reads the stamps and
//! restores the blocks. Kinds of false drives: <https://fight-flash-fraud.readthedocs.io/en/latest/introduction.html>

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    iter::once,
    ops::Range,
    rc::Rc,
};

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::verdict::tail;
use crate::stamped::{BLOCK, Medium, attempt, stamp, stamped};

/// Blocks as they were before, by their position.
pub(super) type Saved = BTreeMap<u64, Vec<u8>>;

/// Saves the blocks that a test replaces, and reports its progress.
pub(super) trait Keeper {
    /// Saves blocks and the salt of the stamps that are about to replace them, so that they are restored after a kill, too.
    fn save(&mut self, salt: u64, blocks: &Saved) -> io::Result<()>;

    /// Removes the saved blocks, which are back on the drive.
    fn restored(&mut self) -> io::Result<()>;

    /// Has the drive unplugged and plugged in again between writing and reading, and says whether that was asked for.
    fn replug(&mut self, medium: &mut dyn Medium) -> io::Result<bool>;

    fn seconds(&self) -> f64;

    /// An error ends the test, after the saved blocks were put back.
    fn report_progress(&mut self, what: &str) -> io::Result<()>;
}

/// Sizes of the test, in blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The fewest samples.
    pub samples: u64,
    /// Blocks that are written to overflow the cache.
    pub overflow: u64,
    /// Blocks that are written back one by one, for caches of small writes.
    pub singles: u64,
    /// Most blocks in one write or read.
    pub transfer: u64,
    /// Stamps of a round that searches for the real size.
    pub search: u64,
    /// Blocks of each file in a test of free space, a multiple of a transfer; `None` for a whole drive.
    pub file: Option<u64>,
}

impl Sizes {
    /// At least one sample in each half of what overflows the cache: wherever the addresses wrap around, a sample beyond that point is
    /// mapped to a block that is read again.
    pub const USUAL: Self = Self {
        samples: 1024,
        overflow: (512 << 20) / BLOCK as u64,
        singles: 4096,
        transfer: 256,
        search: 256,
        file: None,
    };

    /// For files in the free space, which has this many blocks: a sample is the first block of a file.
    pub fn of_files(self, blocks: u64) -> Self {
        let file = blocks / self.samples(blocks).max(1) / self.transfer * self.transfer;
        Self { file: Some(file.max(self.transfer)), ..self }
    }

    pub fn samples(self, blocks: u64) -> u64 {
        self.samples.max(blocks.div_ceil(self.overflow / 2)).min(blocks)
    }
}

/// The state of a stamp when it is read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It is there.
    Good,
    /// Something else is there, each time.
    Lost,
    /// Something else was read at first, and the stamp later.
    Unsteady,
    /// It can't be read.
    ReadError,
    /// It can't be written.
    WriteError,
}

impl State {
    /// The drive does not keep the block. An unsteady one may be the fault of the port.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Good | Self::Unsteady)
    }
}

/// One sampled block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    pub block: u64,
    pub state: State,
    /// Time to read it, s.
    pub seconds: f64,
}

/// The first block that the drive does not keep, with all after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edge {
    /// Number of blocks before it, which are kept.
    pub blocks: u64,
    /// A second pass over both sides of it agreed.
    pub confirmed: bool,
}

/// What a test found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Probed {
    /// The size that the drive claims, in blocks.
    pub blocks: u64,
    pub samples: Vec<Sample>,
    /// Addresses wrap around after this many blocks, and whether a second pass agreed.
    pub wraps: Option<Edge>,
    /// Blocks from here on are lost or fail.
    pub edge: Option<Edge>,
    /// Blocks that could not be put back. They are kept in the store.
    pub not_restored: u64,
    /// Whether stamps were found in the place of others, in a test of free space: its positions are not those of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<bool>,
}

/// One round over some blocks.
#[derive(Default)]
struct Round {
    samples: Vec<Sample>,
    /// Stamps found at another position than theirs: the position, and theirs.
    foreign: Vec<(u64, u64)>,
    replugged: bool,
}

/// Good samples, one in the middle of each of equal parts.
pub(super) fn good(samples: u64, blocks: u64) -> Vec<Sample> {
    let middle = |n: u64| (u128::from(2 * n + 1) * u128::from(blocks) / u128::from(2 * samples)) as u64;
    (0..samples).map(|n| Sample { block: middle(n), state: State::Good, seconds: 1e-3 }).collect()
}

pub(super) fn probe(
    medium: &mut dyn Medium,
    keeper: &mut dyn Keeper,
    sizes: Sizes,
    seed: u64,
) -> io::Result<Probed> {
    let blocks = medium.blocks();
    let mut test = Test {
        medium,
        keeper,
        sizes,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        saved: BTreeMap::new(),
        not_restored: 0,
    };
    let samples = test.sizes.samples(blocks);
    let place = |n: u64| (u128::from(n) * u128::from(blocks) / u128::from(samples)) as u64;
    let positions: Vec<u64> = match sizes.file {
        Some(file) => (0..blocks / file).map(|n| n * file).collect(),
        None => (0..samples).map(|n| test.within(place(n)..place(n + 1))).collect(),
    };
    let overflow = test.sizes.overflow;
    let Round { mut samples, mut foreign, .. } = test.round("samples", &positions, &[], 0..overflow)?;
    let mut bad: Vec<u64> = samples.iter().filter(|s| s.state != State::Good).map(|s| s.block).collect();
    let mut probed = Probed { blocks, ..Probed::default() };
    // Nothing more is written to a drive that is read wrongly, or does not take back what it held.
    let ends = samples.iter().any(|s| s.state == State::Unsteady) || test.not_restored > 0;
    if ends {
        (bad, foreign) = (Vec::new(), Vec::new());
    }
    if !bad.is_empty() || !foreign.is_empty() {
        // The cache is overflowed elsewhere, and what was overwritten there before is only read.
        // A good sample tells the drive from another that was plugged in.
        let good = samples.iter().find(|s| s.state == State::Good).map(|s| s.block);
        let again = if bad.is_empty() { positions } else { bad.iter().copied().chain(good).collect() };
        let second = test.round("bad samples again", &again, &bad, overflow..3 * overflow)?;
        foreign.extend(second.foreign);
        for sample in samples.iter_mut().filter(|s| s.state != State::Good) {
            let now = second.samples.iter().find(|s| s.block == sample.block).map(|s| s.state);
            // In files, only some of what wraps around is overwritten each time.
            if now == Some(State::Good) && (sizes.file.is_none() || foreign.is_empty()) {
                sample.state = State::Unsteady;
            }
        }
    }
    if sizes.file.is_some() {
        return Ok(Probed { samples, foreign: Some(!foreign.is_empty()), ..probed });
    }
    probed.wraps = test.wraps(&foreign)?;
    // Addresses beyond a wraparound lead to blocks before it.
    let known = probed.wraps.map_or(blocks, |wraps| wraps.blocks);
    let real: Vec<Sample> = samples.iter().filter(|s| s.block < known).copied().collect();
    if let Some((good, bad)) = tail(&real, probed.wraps.is_some()).filter(|_| !ends) {
        probed.edge = test.search(good, bad)?;
    }
    Ok(Probed { samples, not_restored: test.not_restored, ..probed })
}

struct Test<'m> {
    medium: &'m mut dyn Medium,
    keeper: &'m mut dyn Keeper,
    sizes: Sizes,
    random: Xoshiro256PlusPlus,
    /// What the stamps of each round replaced, by the salt of the round.
    saved: BTreeMap<u64, Rc<Saved>>,
    not_restored: u64,
}

impl Test<'_> {
    fn within(&mut self, range: Range<u64>) -> u64 {
        use rand::Rng;
        if range.is_empty() { range.start } else { self.random.random_range(range) }
    }

    /// Stamps these blocks, overflows the cache, reads them and restores them. The blocks that were `bad` before, in ascending order,
    /// are stamped last: if they are bad at once, nothing hides in a cache, and it is not overflowed. A round that overflows another
    /// range than the first one did looks for stamps in that of the first.
    fn round(
        &mut self,
        what: &str,
        positions: &[u64],
        bad: &[u64],
        overflow: Range<u64>,
    ) -> io::Result<Round> {
        use rand::Rng;
        let salt = self.random.random();
        let mut round = Round::default();
        let mut saved = BTreeMap::new();
        self.keeper.report_progress(&format!("{what}: saving {} blocks", positions.len()))?;
        for at in positions.iter().copied().collect::<BTreeSet<u64>>() {
            let mut block = vec![0; BLOCK];
            match self.read_twice(at, &mut block)? {
                // A stamp of an earlier round is what the drive has not replaced yet where two addresses are one block.
                None => drop(
                    saved.insert(at, self.original(&block).map_or(block.clone(), |(_, was)| was.clone())),
                ),
                Some(state) => round.samples.push(Sample { block: at, state, seconds: 0.0 }),
            }
        }
        // What is read wrongly would be put back wrongly.
        if round.samples.iter().any(|s| s.state == State::Unsteady) {
            return Ok(round);
        }
        self.keeper.save(salt, &saved)?;
        let saved = Rc::new(saved);
        self.saved.insert(salt, Rc::clone(&saved));
        let tested = self.tested(what, salt, &saved, bad, overflow, &mut round);
        let restored = match self.sizes.file {
            None => restore(self.medium, salt, &saved)?,
            // Files are removed.
            Some(_) => Restored::default(),
        };
        if round.replugged && restored.is_elsewhere(&saved) {
            let why = "the drive that was plugged in has none of the stamps: it may be another one";
            return Err(io::Error::other(why));
        }
        match restored.failed {
            0 => self.keeper.restored()?,
            failed => self.not_restored += failed,
        }
        tested?;
        round.samples.sort_by_key(|s| s.block);
        Ok(round)
    }

    fn tested(
        &mut self,
        what: &str,
        salt: u64,
        saved: &Saved,
        bad: &[u64],
        overflow: Range<u64>,
        round: &mut Round,
    ) -> io::Result<()> {
        let mut order: Vec<u64> = saved.keys().copied().collect();
        order.shuffle(&mut self.random);
        order.sort_by_key(|at| bad.binary_search(at).is_ok());
        self.keeper.report_progress(&format!("{what}: writing {} blocks", order.len()))?;
        let mut unwritten = BTreeSet::new();
        for &at in &order {
            if attempt(self.medium.write(at, &stamp(salt, at)))?.is_none() {
                unwritten.insert(at);
            }
        }
        attempt(self.medium.flush())?;
        let mut may_hide = bad.is_empty();
        for &at in bad.iter().filter(|at| saved.contains_key(at) && !unwritten.contains(at)) {
            may_hide = may_hide || self.state(salt, at)? == State::Good;
        }
        if may_hide {
            // Small writes first: they evict stamps from a cache of small writes, and the large ones find them at wrong places.
            let from = self.within(overflow.start..overflow.end.saturating_sub(self.sizes.singles));
            self.pass(what, salt, from..from + self.sizes.singles, 1, true, round)?;
            self.pass(what, salt, overflow.clone(), self.sizes.transfer, true, round)?;
            attempt(self.medium.flush())?;
        }
        round.replugged = self.keeper.replug(self.medium)?;
        if overflow.start > 0 {
            self.pass(what, salt, 0..self.sizes.overflow, self.sizes.transfer, false, round)?;
        }
        order.shuffle(&mut self.random);
        self.keeper.report_progress(&format!("{what}: reading them"))?;
        for at in order {
            let since = self.keeper.seconds();
            let mut state = self.state(salt, at)?;
            let seconds = self.keeper.seconds() - since;
            if unwritten.contains(&at) {
                state = State::WriteError;
            } else if state == State::Lost
                && (0..6).any(|_| self.state(salt, at).is_ok_and(|s| s == State::Good))
            {
                state = State::Unsteady;
            }
            round.samples.push(Sample { block: at, state, seconds });
        }
        Ok(())
    }

    /// Reads blocks twice, and says why they can't be written back if so.
    fn read_twice(&mut self, at: u64, into: &mut [u8]) -> io::Result<Option<State>> {
        let mut again = vec![0; into.len()];
        let read = attempt(self.medium.read(at, into))?.is_some()
            && attempt(self.medium.read(at, &mut again))?.is_some();
        Ok(match () {
            () if !read => Some(State::ReadError),
            () if *into != again[..] => Some(State::Unsteady),
            () => None,
        })
    }

    fn state(&mut self, salt: u64, at: u64) -> io::Result<State> {
        let mut block = vec![0; BLOCK];
        Ok(match attempt(self.medium.read(at, &mut block))? {
            None => State::ReadError,
            Some(()) if block == stamp(salt, at) => State::Good,
            Some(()) => State::Lost,
        })
    }

    /// Reads a range, notes stamps of other positions, and with `write` writes what it read.
    fn pass(
        &mut self,
        what: &str,
        salt: u64,
        range: Range<u64>,
        transfer: u64,
        write: bool,
        round: &mut Round,
    ) -> io::Result<()> {
        let end = range.end.min(self.medium.blocks());
        let mut at = range.start;
        let mut buffer = vec![0; transfer as usize * BLOCK];
        while at < end {
            let count = transfer.min(end - at);
            if at / transfer % 64 == 0 {
                let done = 100 * (at - range.start) / (end - range.start);
                let how = if write { "overflowing its cache" } else { "looking for foreign blocks" };
                self.keeper.report_progress(&format!("{what}: {how}, {done} %"))?;
            }
            let chunk = &mut buffer[..count as usize * BLOCK];
            let trouble = self.read_twice(at, chunk)?;
            if trouble == Some(State::Unsteady) {
                round.samples.push(Sample { block: at, state: State::Unsteady, seconds: 0.0 });
                return Ok(());
            }
            if trouble.is_none() {
                for (block, here) in chunk.chunks_exact_mut(BLOCK).zip(at..) {
                    let Some(((of_salt, of), was)) =
                        self.original(block).filter(|(of, _)| *of != (salt, here))
                    else {
                        continue;
                    };
                    round.foreign.extend((of_salt == salt).then_some((here, of)));
                    block.copy_from_slice(was);
                }
                if write {
                    attempt(self.medium.write(at, chunk))?;
                }
            }
            at += count;
        }
        Ok(())
    }

    /// What a stamp of this test in a block says, and what the block held before.
    fn original(&self, block: &[u8]) -> Option<((u64, u64), &Vec<u8>)> {
        let (salt, position) = stamped(block)?;
        Some(((salt, position), self.saved.get(&salt)?.get(&position)?))
    }

    /// After how many blocks addresses wrap around, from stamps that were found at other positions.
    fn wraps(&mut self, foreign: &[(u64, u64)]) -> io::Result<Option<Edge>> {
        let blocks = self.medium.blocks();
        let gcd_of =
            |foreign: &[(u64, u64)]| foreign.iter().fold(0, |all, (seen, of)| gcd(all, seen.abs_diff(*of)));
        let mut found = gcd_of(foreign);
        if found == 0 || found >= blocks {
            return Ok(None);
        }
        // All differences may be multiples of a smaller number.
        let smaller = [2, 3, 5, 7].into_iter().filter(|n| found % n == 0).map(|n| found / n);
        let positions: Vec<u64> =
            (0..8).map(|n| found + n).chain(smaller).filter(|at| *at < blocks).collect();
        let overflow = self.sizes.overflow;
        let round = self.round("wraparound", &positions, &[], overflow..3 * overflow)?;
        found = gcd(found, gcd_of(&round.foreign));
        let confirmed = round.foreign.iter().any(|(seen, of)| *seen == 0 && *of == found);
        Ok(Some(Edge { blocks: found, confirmed }))
    }

    /// The first bad block between a good and a bad one.
    fn search(&mut self, mut good: u64, mut bad: u64) -> io::Result<Option<Edge>> {
        let overflow = self.sizes.overflow;
        while bad - good > 1 {
            let between = (bad - good - 1).min(self.sizes.search);
            let place = |n: u64| good + 1 + n * (bad - good - 1) / between;
            let positions: Vec<u64> = once(good).chain((0..between).map(place)).chain(once(bad)).collect();
            let Round { samples, .. } = self.round("real size", &positions, &[bad], 0..overflow)?;
            let first = samples.iter().position(|s| s.state != State::Good);
            // Neither all good up to a point nor all bad beyond it.
            let Some(first) = first.filter(|first| samples[*first..].iter().all(|s| s.state.is_bad())) else {
                return Ok(None);
            };
            bad = samples[first].block;
            good = first.checked_sub(1).map_or(good, |last| samples[last].block);
        }
        let around = bad.saturating_sub(64)..(bad + 64).min(self.medium.blocks());
        let round = self.round("real size, once more", &around.collect::<Vec<_>>(), &[], 0..overflow)?;
        let confirmed = round.samples.iter().all(|s| (s.state == State::Good) == (s.block < bad));
        Ok(Some(Edge { blocks: bad, confirmed }))
    }
}

/// What was found where blocks are put back.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// Blocks that held a stamp.
    pub stamped: u64,
    /// Blocks that hold what was saved.
    pub unchanged: u64,
    /// Blocks that could not be written, or still hold a stamp.
    pub failed: u64,
}

impl Restored {
    /// Whether nothing shows that these blocks were saved from this drive: it is another one, or was written since.
    pub fn is_elsewhere(&self, saved: &Saved) -> bool {
        self.stamped == 0 && self.unchanged < saved.len() as u64
    }
}

/// Puts back the blocks that hold a stamp with this salt. What holds something else was written since, or is not kept by the drive.
pub(super) fn restore(medium: &mut dyn Medium, salt: u64, saved: &Saved) -> io::Result<Restored> {
    let mut restored = Restored::default();
    for (at, content) in saved {
        let mut block = vec![0; BLOCK];
        let is_stamped = |block: &[u8]| stamped(block).is_some_and(|(of, _)| of == salt);
        match attempt(medium.read(*at, &mut block))? {
            Some(()) if *content == block => restored.unchanged += 1,
            Some(()) if !is_stamped(&block) => {}
            read => {
                restored.stamped += u64::from(read.is_some());
                if attempt(medium.write(*at, content))?.is_none() {
                    restored.failed += 1;
                }
            }
        }
    }
    if attempt(medium.flush())?.is_none() {
        restored.failed = restored.failed.max(1);
    }
    for at in saved.keys() {
        let mut block = vec![0; BLOCK];
        let read = attempt(medium.read(*at, &mut block))?;
        restored.failed += u64::from(read.is_some() && stamped(&block).is_some_and(|(of, _)| of == salt));
    }
    Ok(restored)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
