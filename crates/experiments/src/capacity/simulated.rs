//! Drives of known real size, as people have met them: <https://github.com/AltraMayor/f3/issues>.

use std::{
    collections::{HashMap, VecDeque},
    io,
};

use rand::{Rng, RngCore, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    probe::{Keeper, Saved, Sizes, probe},
    verdict::{False, Verdict},
};
use crate::stamped::{BLOCK, Medium};

/// Small enough for thousands of drives: a cache is overflowed by 4 MiB.
pub(super) const SMALL: Sizes =
    Sizes { samples: 256, overflow: 1024, singles: 700, transfer: 64, search: 64 };

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
}

pub(super) struct Simulated {
    model: Model,
    flash: HashMap<u64, Vec<u8>>,
    cached: HashMap<u64, Vec<u8>>,
    order: VecDeque<u64>,
    random: Xoshiro256PlusPlus,
    seed: u64,
}

fn filled(seed: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut block);
    block
}

impl Simulated {
    pub fn new(model: Model, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { model, flash: HashMap::new(), cached: HashMap::new(), order: VecDeque::new(), random, seed }
    }

    fn physical(&self, at: u64) -> Option<u64> {
        let at = self.model.wraps.map_or(at, |wraps| at % wraps);
        (at < self.model.real && !self.is_bad(at)).then_some(at)
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
                (None, None) => vec![0; BLOCK],
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
}

/// The model is not killed: only the number of rounds that are not restored is kept.
#[derive(Default)]
struct Idle {
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
    let probed = probe(&mut simulated, &mut Idle::default(), SMALL, seed).expect("the model goes on");
    let verdict = Verdict::of(&probed);
    let bytes = |blocks: u64| blocks * BLOCK as u64;
    let is_right = match (&verdict, kind) {
        (Verdict::Real { .. }, Kind::Good) => true,
        (Verdict::Fake { how: False::Vanishes, bytes: found, .. }, Kind::Vanishes) => {
            *found == bytes(model.real)
        }
        (Verdict::Fake { how: False::Wraps(at), bytes: found, .. }, Kind::Wraps | Kind::Chain) => {
            Some(*at) == model.wraps.map(bytes) && *found == bytes(model.real)
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
