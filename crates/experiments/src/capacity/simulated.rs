//! Drives of known real size, as people have met them: <https://github.com/AltraMayor/f3/issues>.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    io,
};

use rand::{Rng, RngCore, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    probe::{Keeper, Probed, Saved, Sizes, State, good, probe},
    verdict::{False, Verdict},
};
use crate::stamped::{BLOCK, Medium};

/// Small enough for thousands of drives: a cache is overflowed by 4 MiB.
pub(super) const SMALL: Sizes =
    Sizes { samples: 256, overflow: 1024, singles: 700, transfer: 64, search: 64, file: None };

/// A drive, in blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub blocks: u64,
    /// Blocks that there are.
    pub real: u64,
    /// Addresses are taken modulo this.
    pub wraps: Option<u64>,
    /// What lies beyond the real size fails with an error.
    pub fails: bool,
    /// Blocks of a cache that is written back, the oldest first.
    pub cache: usize,
    /// Only single blocks are cached; larger writes go past it.
    pub is_for_small: bool,
    /// The share of blocks that lose what is written to them, or fail.
    pub bad: f64,
    /// The share of reads that return something else.
    pub misread: f64,
    /// What lies beyond the real size is kept until it is unplugged.
    pub forgets: bool,
    /// It does not come back once it is unplugged.
    pub stays_away: bool,
    /// Another drive comes back in its place.
    pub is_swapped: bool,
}

pub(super) struct Simulated {
    model: Model,
    flash: HashMap<u64, Vec<u8>>,
    cached: HashMap<u64, Vec<u8>>,
    order: VecDeque<u64>,
    random: Xoshiro256PlusPlus,
    seed: u64,
    /// Times that it was plugged in again: what it does not keep reads differently each time.
    reopened: u8,
}

fn filled(seed: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut block);
    block
}

impl Simulated {
    pub fn new(model: Model, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            model,
            flash: HashMap::new(),
            cached: HashMap::new(),
            order: VecDeque::new(),
            random,
            seed,
            reopened: 0,
        }
    }

    fn physical(&self, at: u64) -> Option<u64> {
        let at = self.model.wraps.map_or(at, |wraps| at % wraps);
        ((at < self.model.real || self.model.forgets) && !self.is_bad(at)).then_some(at)
    }

    fn is_bad(&self, at: u64) -> bool {
        self.model.bad > 0.0
            && Xoshiro256PlusPlus::seed_from_u64(at ^ self.seed << 32).random_bool(self.model.bad)
    }

    fn original(&self, physical: u64) -> Vec<u8> {
        filled(physical.wrapping_mul(77) ^ self.seed)
    }

    fn evict(&mut self) {
        while self.order.len() > self.model.cache {
            let Some(at) = self.order.pop_front() else { return };
            let Some(data) = self.cached.remove(&at) else { continue };
            if let Some(physical) = self.physical(at) {
                self.flash.insert(physical, data);
            }
        }
    }

    /// Physical blocks that differ from what they held before the test.
    pub fn changed(mut self) -> usize {
        self.model.cache = 0;
        self.evict();
        self.flash.iter().filter(|(physical, data)| **data != self.original(**physical)).count()
    }
}

impl Medium for Simulated {
    fn blocks(&self) -> u64 {
        self.model.blocks
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        for (block, at) in into.chunks_exact_mut(BLOCK).zip(at..) {
            let data = match (self.cached.get(&at), self.physical(at)) {
                (Some(data), _) => data.clone(),
                (None, None) if self.model.fails => return Err(io::Error::from_raw_os_error(5)),
                (None, None) => vec![self.reopened; BLOCK],
                (None, Some(at)) => self.flash.get(&at).cloned().unwrap_or_else(|| self.original(at)),
            };
            block.copy_from_slice(&data);
            if self.model.misread > 0.0 && self.random.random_bool(self.model.misread) {
                block[self.random.random_range(0..BLOCK)] ^= 1;
            }
        }
        Ok(())
    }

    fn write(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        for (block, at) in data.chunks_exact(BLOCK).zip(at..) {
            if self.model.fails && self.physical(at).is_none() {
                return Err(io::Error::from_raw_os_error(5));
            }
            if self.model.is_for_small && data.len() > BLOCK {
                self.cached.remove(&at);
                if let Some(physical) = self.physical(at) {
                    self.flash.insert(physical, block.to_vec());
                }
                continue;
            }
            if self.cached.insert(at, block.to_vec()).is_none() {
                self.order.push_back(at);
            }
            self.evict();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        if self.model.stays_away {
            self.model = Model { real: 0, fails: true, cache: 0, forgets: false, ..self.model };
            self.evict();
            return Err(io::Error::other("it did not come back"));
        }
        let (model, cache) = (self.model.clone(), std::mem::take(&mut self.model.cache));
        self.evict();
        self.model.cache = cache;
        self.reopened += 1;
        self.seed += u64::from(model.is_swapped);
        self.flash.retain(|at, _| *at < model.real && !model.is_swapped);
        Ok(())
    }
}

/// Files in the free space of a drive, in the order of their places.
struct InFiles {
    drive: Simulated,
    used: u64,
    blocks: u64,
    written: HashSet<u64>,
}

impl Medium for InFiles {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        for (block, at) in into.chunks_exact_mut(BLOCK).zip(at..) {
            block.fill(0);
            if self.written.contains(&at) {
                self.drive.read(self.used + at, block)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        self.written.extend(at..at + (data.len() / BLOCK) as u64);
        self.drive.write(self.used + at, data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drive.flush()
    }
}

/// The model is not killed: only the number of rounds that are not restored is kept.
#[derive(Default)]
struct Idle {
    replugs: bool,
    saved: u32,
}

impl Keeper for Idle {
    fn save(&mut self, _: u64, _: &Saved) -> io::Result<()> {
        self.saved += 1;
        Ok(())
    }

    fn restored(&mut self) -> io::Result<()> {
        self.saved -= 1;
        Ok(())
    }

    fn replug(&mut self, medium: &mut dyn Medium) -> io::Result<bool> {
        if self.replugs { medium.reopen().map(|()| true) } else { Ok(false) }
    }

    fn seconds(&self) -> f64 {
        0.0
    }

    fn report_progress(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
}

/// The kinds of drives, and the verdict that is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Good,
    Vanishes,
    Wraps,
    Chain,
    FailsBeyond,
    Scattered,
    ScatteredErrors,
    Misreads,
}

pub(super) const KINDS: [Kind; 8] = [
    Kind::Good,
    Kind::Vanishes,
    Kind::Wraps,
    Kind::Chain,
    Kind::FailsBeyond,
    Kind::Scattered,
    Kind::ScatteredErrors,
    Kind::Misreads,
];

/// A drive of a kind, with a cache of up to half of what overflows it.
pub(super) fn drive(kind: Kind, seed: u64) -> Model {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let blocks = random.random_range(16_384..100_000);
    let real = random.random_range(4096..blocks - blocks / 32);
    let cache = *[0, 8, 64, 500].choose(&mut random).unwrap_or(&0);
    let is_for_small = random.random_bool(0.25);
    let whole = Model { blocks, real: blocks, cache, is_for_small, ..Model::default() };
    match kind {
        Kind::Good => whole,
        Kind::Vanishes => Model { real, ..whole },
        Kind::Wraps => Model { real, wraps: Some(real), ..whole },
        Kind::Chain => Model { real: real - real / random.random_range(3..20), wraps: Some(real), ..whole },
        Kind::FailsBeyond => Model { real, fails: true, ..whole },
        Kind::Scattered => Model { bad: random.random_range(0.02..0.3), ..whole },
        Kind::ScatteredErrors => Model { bad: random.random_range(0.02..0.3), fails: true, ..whole },
        Kind::Misreads => Model { misread: random.random_range(0.02..0.2), ..whole },
    }
}

/// Whether a verdict is right, and how many blocks of the drive were left changed.
pub(super) fn test(kind: Kind, seed: u64) -> (bool, Verdict, usize) {
    let model = drive(kind, seed);
    let mut simulated = Simulated::new(model.clone(), seed);
    let mut keeper = Idle { replugs: seed % 2 == 1, saved: 0 };
    let probed = probe(&mut simulated, &mut keeper, SMALL, seed).expect("the model goes on");
    let verdict = Verdict::of(&probed);
    let bytes = |blocks: u64| blocks * BLOCK as u64;
    let is_right = match (&verdict, kind) {
        (Verdict::Real { .. }, Kind::Good) => true,
        (Verdict::Fake { how: False::Vanishes, bytes: found, .. }, Kind::Vanishes) => {
            *found == bytes(model.real)
        }
        (Verdict::Fake { how: False::Wraps(at), bytes: found, .. }, Kind::Wraps | Kind::Chain) => {
            let wraps = model.wraps.expect("a wraparound");
            let is_unseen = probed.samples.iter().all(|s| !(model.real..wraps).contains(&s.block));
            *at == bytes(wraps) && (*found == bytes(model.real) || is_unseen && *found == *at)
        }
        (Verdict::Fails { from }, Kind::FailsBeyond) => *from == bytes(model.real),
        (Verdict::Faulty { errors, .. }, Kind::Scattered | Kind::ScatteredErrors) => *errors == model.fails,
        (Verdict::Unsteady { .. }, Kind::Misreads) => true,
        _ => false,
    };
    (is_right, verdict, simulated.changed())
}

#[test]
fn each_kind_is_told_and_nothing_is_left_changed() {
    let mut wrong = Vec::new();
    // More drives take minutes: DRIVEBENCH_DRIVES=1250 gives 10,000.
    let drives = std::env::var("DRIVEBENCH_DRIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    for kind in KINDS {
        for seed in 0..drives {
            let (is_right, verdict, changed) = test(kind, seed);
            if !is_right || changed > 0 {
                wrong.push(format!(
                    "{kind:?} {seed}: {verdict:?}, {changed} changed, {:?}",
                    drive(kind, seed)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The verdict on the free space of a drive of a kind.
fn test_in_files(kind: Kind, seed: u64) -> Verdict {
    let model = drive(kind, seed);
    let used = model.blocks / 64;
    let free = model.blocks - used;
    let sizes = SMALL.of_files(free);
    let blocks = sizes.file.map_or(0, |file| free / file * file);
    let drive = Simulated::new(model, seed);
    let mut files = InFiles { drive, used, blocks, written: HashSet::new() };
    Verdict::of(&probe(&mut files, &mut Idle::default(), sizes, seed).expect("the model goes on"))
}

#[test]
fn free_space_of_each_kind_is_told() {
    let mut wrong = Vec::new();
    for kind in KINDS {
        for seed in 0..6 {
            let verdict = test_in_files(kind, seed);
            let is_right = match kind {
                Kind::Good => matches!(verdict, Verdict::Real { .. }),
                Kind::Vanishes => matches!(verdict, Verdict::FakeSomewhere { overwrites: false, .. }),
                Kind::Wraps => {
                    matches!(verdict, Verdict::FakeSomewhere { overwrites: true, share } if share > 0.0)
                }
                Kind::Chain => matches!(verdict, Verdict::FakeSomewhere { .. }),
                Kind::FailsBeyond | Kind::ScatteredErrors => {
                    matches!(verdict, Verdict::Faulty { errors: true, .. })
                }
                Kind::Scattered => matches!(verdict, Verdict::Faulty { errors: false, .. }),
                Kind::Misreads => matches!(verdict, Verdict::Unsteady { .. }),
            };
            if !is_right {
                wrong.push(format!("{kind:?} {seed}: {verdict:?}, {:?}", drive(kind, seed)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn free_space_is_false_only_if_its_end_is_lost() {
    let verdict = |bad: std::ops::Range<usize>| {
        let mut samples = good(100, 10_000);
        samples[bad].iter_mut().for_each(|sample| sample.state = State::Lost);
        Verdict::of(&Probed { blocks: 10_000, samples, foreign: Some(false), ..Probed::default() })
    };
    assert_eq!(verdict(60..100), Verdict::FakeSomewhere { overwrites: false, share: 0.4 });
    // Some neighbours are defective.
    assert!([50..60, 0..3, 98..100].map(verdict).iter().all(|v| matches!(v, Verdict::Faulty { .. })));
}

#[test]
fn a_drive_that_forgets_when_it_is_unplugged_needs_that() {
    let model = Model { blocks: 40_000, real: 9000, forgets: true, ..Model::default() };
    let verdict = |replugs| {
        let mut drive = Simulated::new(model.clone(), 1);
        let mut keeper = Idle { replugs, saved: 0 };
        Verdict::of(&probe(&mut drive, &mut keeper, SMALL, 1).expect("the model goes on"))
    };
    assert!(matches!(verdict(false), Verdict::Real { .. }));
    let real = 9000 * BLOCK as u64;
    assert_eq!(verdict(true), Verdict::Fake { how: False::Vanishes, bytes: real, confirmed: true });
    let mut gone = Simulated::new(Model { stays_away: true, ..model.clone() }, 1);
    let mut keeper = Idle { replugs: true, saved: 0 };
    let e = probe(&mut gone, &mut keeper, SMALL, 1).expect_err("it is away");
    assert_eq!((e.to_string().as_str(), keeper.saved), ("it did not come back", 1), "its blocks stay saved");
    let mut other = Simulated::new(Model { is_swapped: true, ..model }, 1);
    let mut keeper = Idle { replugs: true, saved: 0 };
    probe(&mut other, &mut keeper, SMALL, 1).expect_err("it has no stamps");
    assert_eq!((other.changed(), keeper.saved), (0, 1), "it is as it was, and the blocks stay saved");
}
