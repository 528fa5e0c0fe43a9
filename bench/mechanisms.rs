//! Kinds of drives, each a mechanism that makes operations slower or stops them: twenty-four, and those in `unforeseen.rs`,
//! `blind.rs` and `mixed_use.rs`. Frozen on 2026-11-22: a rule that changes is judged by the same drives.

// Each bench uses a part.
#![allow(dead_code)]

#[path = "blind.rs"]
mod blind;
#[path = "mixed_use.rs"]
mod mixed_use;
#[path = "unforeseen.rs"]
mod unforeseen;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use drivebench::units::MIB;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, Gamma, Pareto, StandardNormal};

pub type Random = rand_xoshiro::Xoshiro256PlusPlus;

/// What a mechanism does to the next operation.
struct Effect {
    /// How many times as long the operation takes.
    slower: f64,
    /// How long the drive stops besides, s.
    stops: f64,
}

/// The drive before its next operation.
struct Now {
    /// Since the start.
    seconds: f64,
    mib: f64,
    /// The noise of the operation, and how long it would take with nothing but noise, s.
    noise: f64,
    base: f64,
}

type Mechanism = Box<dyn FnMut(&Now, &mut Random) -> Effect>;
/// Makes the mechanism of a drive in its state at the start, which is the drive's and not by chance.
type Make = fn(&Model, &mut Random) -> Mechanism;

const KINDS: [(&str, Make); 24] = [
    ("steady, 0.3 %", |_, _| slowed(|_| 1.0)),
    ("0.44 s stalls, regular", regular_stalls),
    ("0.44 s stalls, random", random_stalls),
    ("2.6 s stalls", long_stalls),
    ("both stalls", both_stalls),
    ("bursts of stalls", bursts),
    ("switching regimes", regimes),
    ("thermal drift", thermal_drift),
    ("cache, then slow", cache),
    ("cache of two levels", two_caches),
    ("stalls of any length", heavy_stalls),
    ("slow periods", slow_periods),
    ("cache that refills", refilling_cache),
    ("erase blocks", erase_blocks),
    ("neighbour, on and off", neighbour),
    ("warm-up", warm_up),
    (DIFFERING, |_, _| slowed(|_| 1.0)),
    ("weak regions", weak_regions),
    ("two kinds of operations", two_speeds),
    ("rare 10 s stalls", rare_stalls),
    ("wandering speed", wandering),
    ("fading speed", fading),
    ("noisy operations", noisy),
    ("cache, neighbour, stalls", mixed),
];
const DIFFERING: &str = "runs differ by 2 %";

/// The names of the kinds.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|kind| kind.0)
}

fn all() -> impl Iterator<Item = (&'static str, Make)> {
    KINDS.into_iter().chain(unforeseen::KINDS).chain(blind::KINDS).chain(mixed_use::KINDS)
}

/// Does a job for each number below `count`, on all cores; the results are in the order of the numbers.
pub fn on_all_cores<T: Send>(count: u64, job: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let work = || {
        let number = || next.fetch_add(1, Ordering::Relaxed);
        let mine = std::iter::repeat_with(number).take_while(|i| *i < count);
        mine.map(|i| (i, job(i))).collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let mut all: Vec<(u64, T)> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = running.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
        joined.flatten().collect()
    });
    all.sort_by_key(|(i, _)| *i);
    all.into_iter().map(|(_, result)| result).collect()
}

/// A drive of a kind.
pub struct Model {
    make: Make,
    pub block: u64,
    /// The time of an operation without noise, s.
    operation: f64,
    /// The standard deviation between runs.
    run: f64,
    /// What a mechanism differs by from drive to drive: six numbers from 0 to 1.
    traits: [f64; 6],
    /// Is a mechanism that switches on at the start?
    on: bool,
    start: u64,
}

impl Model {
    /// Large blocks are moved at 2 to 400 MiB/s, small ones at 30 to 40,000 operations a second.
    pub fn draw(kind: usize, block: u64, random: &mut Random) -> Self {
        let mut between = |low: f64, high: f64| random.random_range(low.ln()..high.ln()).exp();
        let mib = mib(block);
        let rate = if block >= MIB { between(2.0, 400.0) } else { between(30.0, 40_000.0) * mib };
        let traits = std::array::from_fn(|_| random.random());
        let (name, make) = all().nth(kind).unwrap_or(KINDS[0]);
        let run = if name == DIFFERING { 0.02 } else { 0.003 };
        Self { make, block, operation: mib / rate, run, traits, on: traits[5] < 0.5, start: random.random() }
    }

    /// The expected mean over as long as `seconds` from the state at the start, from this many runs, MiB/s.
    pub fn over(&self, seconds: f64, runs: u32, random: &mut Random) -> f64 {
        (0..runs).map(|_| Drive::start(self, random).moves_in(seconds, random)).sum::<f64>()
            / seconds
            / f64::from(runs)
    }

    /// What it sustains: the mean over hours, once the start is forgotten, MiB/s.
    pub fn sustained(&self, random: &mut Random) -> f64 {
        const FORGOTTEN: f64 = 900.0;
        const SECONDS: f64 = 4.0 * 3600.0;
        const OPERATIONS: f64 = 1e6;
        let alike = self.without_runs();
        let mut drive = Drive::start(&alike, random);
        drive.moves_in(FORGOTTEN, random);
        let seconds = SECONDS.min(OPERATIONS * self.operation);
        drive.moves_in(seconds, random) / seconds
    }

    /// The same drive with larger operations that take at least so long, s: a bench of minutes needs fewer of them.
    pub fn coarse(mut self, least: f64) -> Self {
        let times = (least / self.operation).ceil().max(1.0);
        self.block *= times as u64;
        self.operation *= times;
        self
    }

    /// The same drive, whose runs do not differ.
    pub fn without_runs(&self) -> Self {
        Self { run: 0.0, ..*self }
    }

    /// An equal drive at another moment.
    pub fn another(&self, random: &mut Random) -> Self {
        Self { start: random.random(), on: random.random(), ..*self }
    }

    /// A drive that is so many times as fast.
    pub fn faster(&self, times: f64) -> Self {
        Self { operation: self.operation / times, ..*self }
    }

    /// MiB that the drive moves in so many seconds without hindrance.
    fn moves(&self, seconds: f64) -> f64 {
        seconds / self.operation * mib(self.block)
    }
}

pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// A run on a drive, from the drive's state at the start.
pub struct Drive<'a> {
    model: &'a Model,
    mechanism: Mechanism,
    now: Now,
    /// The time of an operation in this run, without noise, s.
    operation: f64,
}

impl<'a> Drive<'a> {
    pub fn start(model: &'a Model, random: &mut Random) -> Self {
        let operation = model.operation * (1.0 + model.run * normal(random)).max(0.5);
        let now = Now { seconds: 0.0, mib: 0.0, noise: normal(random), base: operation };
        let mechanism = (model.make)(model, &mut Random::seed_from_u64(model.start));
        Self { model, mechanism, now, operation }
    }

    /// How long the next operation takes, s.
    pub fn operate(&mut self, random: &mut Random) -> f64 {
        const MEMORY: f64 = 0.6;
        const NOISE: f64 = 0.03;
        let now = &mut self.now;
        now.noise = MEMORY * now.noise + (1.0 - MEMORY * MEMORY).sqrt() * normal(random);
        now.base = self.operation * (NOISE * now.noise).exp();
        let effect = (self.mechanism)(now, random);
        let took = now.base * effect.slower + effect.stops;
        now.seconds += took;
        now.mib += mib(self.model.block);
        took
    }
}

impl Drive<'_> {
    /// Time passes in which the drive does something else, s.
    pub fn rest(&mut self, seconds: f64) {
        self.now.seconds += seconds;
    }

    /// MiB moved in the next `seconds`; the last operation counts in part.
    fn moves_in(&mut self, seconds: f64, random: &mut Random) -> f64 {
        let (mut moved, mut at) = (0.0, 0.0);
        while at < seconds {
            let took = self.operate(random);
            moved += mib(self.model.block) * f64::min((seconds - at) / took, 1.0);
            at += took;
        }
        moved
    }
}

fn slowed(mut slower: impl FnMut(&Now) -> f64 + 'static) -> Mechanism {
    Box::new(move |now, _| Effect { slower: slower(now), stops: 0.0 })
}

fn stopped(mut stops: impl FnMut(&Now, &mut Random) -> f64 + 'static) -> Mechanism {
    Box::new(move |now, random| Effect { slower: 1.0, stops: stops(now, random) })
}

/// A length in s with a mean and a coefficient of variation.
#[derive(Clone, Copy)]
struct Length(f64, f64);

impl Length {
    fn draw(self, random: &mut Random) -> f64 {
        let Self(mean, variation) = self;
        let shape = 1.0 / variation / variation;
        Gamma::new(shape, mean * variation * variation).map_or(mean, |gamma| gamma.sample(random))
    }
}

/// Stalls with gaps between them.
struct Stalls {
    due: f64,
    stall: Length,
    gap: Length,
}

impl Stalls {
    /// The stall that is due before the next operation; 0 if none is.
    fn next(&mut self, now: &Now, random: &mut Random) -> f64 {
        if now.seconds < self.due {
            return 0.0;
        }
        let stall = self.stall.draw(random);
        self.due = now.seconds + stall + self.gap.draw(random);
        stall
    }
}

const SHORT: Length = Length(0.44, 0.1);
const LONG: Length = Length(2.6, 0.1);

fn regular_stalls(m: &Model, _: &mut Random) -> Mechanism {
    let every = 0.5 + 1.5 * m.traits[0];
    let mut stalls = Stalls { due: every * m.traits[4], stall: SHORT, gap: Length(every, 0.2) };
    stopped(move |now, random| stalls.next(now, random))
}

fn random_stalls(m: &Model, start: &mut Random) -> Mechanism {
    let every = 1.0 + 3.0 * m.traits[0];
    let mut stalls = Stalls { due: exponential(every, start), stall: SHORT, gap: Length(every, 1.0) };
    stopped(move |now, random| stalls.next(now, random))
}

fn long_stalls(m: &Model, start: &mut Random) -> Mechanism {
    let gap = Length(4.0 + 12.0 * m.traits[0], 0.5);
    let mut stalls = Stalls { due: gap.draw(start) * m.traits[4].max(0.1), stall: LONG, gap };
    stopped(move |now, random| stalls.next(now, random))
}

fn both_stalls(m: &Model, start: &mut Random) -> Mechanism {
    let (often, seldom) = (Length(0.7 + 1.5 * m.traits[0], 0.3), Length(8.0 + 15.0 * m.traits[1], 0.6));
    let mut short = Stalls { due: often.draw(start) * m.traits[4], stall: SHORT, gap: often };
    let mut long = Stalls { due: seldom.draw(start) * m.traits[3].max(0.1), stall: LONG, gap: seldom };
    stopped(move |now, random| {
        let first = short.next(now, random);
        let second = long.next(now, random);
        if second > 0.0 {
            long.due += first;
        }
        first + second
    })
}

/// Four stalls at a time on average, 0.1 s apart.
fn bursts(m: &Model, start: &mut Random) -> Mechanism {
    let every = 3.0 + 7.0 * m.traits[0];
    let (mut due, mut left) = (exponential(every, start), 0);
    stopped(move |now, random| {
        if now.seconds < due {
            return 0.0;
        }
        let stall = SHORT.draw(random);
        if left == 0 {
            left = 1;
            while random.random::<f64>() > 0.25 {
                left += 1;
            }
        }
        left -= 1;
        due = now.seconds + stall + if left > 0 { 0.1 } else { exponential(every, random) };
        stall
    })
}

/// Stalls from 0.05 s to 30 s, most of them short: Pareto's distribution.
fn any_length(m: &Model, start: &mut Random) -> impl FnMut(&Now, &mut Random) -> f64 + use<> {
    let every = 2.0 + 6.0 * m.traits[0];
    let mut due = exponential(every, start);
    move |now, random| {
        if now.seconds < due {
            return 0.0;
        }
        let stall = pareto(0.05, 1.5, random).min(30.0);
        due = now.seconds + stall + exponential(every, random);
        stall
    }
}

fn heavy_stalls(m: &Model, start: &mut Random) -> Mechanism {
    stopped(any_length(m, start))
}

fn rare_stalls(_: &Model, start: &mut Random) -> Mechanism {
    let mut stalls =
        Stalls { due: exponential(100.0, start), stall: Length(10.0, 0.3), gap: Length(100.0, 1.0) };
    stopped(move |now, random| stalls.next(now, random))
}

/// On or off for random times.
struct Switch {
    on: bool,
    until: f64,
}

impl Switch {
    fn is_on(&mut self, now: &Now, random: &mut Random, length: impl FnOnce(&mut Random) -> f64) -> bool {
        if now.seconds >= self.until {
            self.on = !self.on;
            self.until = now.seconds + length(random);
        }
        self.on
    }
}

fn switched(slower: f64, mut on: impl FnMut(&Now, &mut Random) -> bool + 'static) -> Mechanism {
    Box::new(move |now, random| Effect { slower: if on(now, random) { slower } else { 1.0 }, stops: 0.0 })
}

fn regimes(m: &Model, start: &mut Random) -> Mechanism {
    let every = 1.0 + 4.0 * m.traits[0];
    let mut slow = Switch { on: m.on, until: exponential(every, start) };
    switched(1.0 / 0.6, move |now, random| slow.is_on(now, random, |r| exponential(every, r)))
}

/// Another load that takes half of the speed while it lasts.
fn neighbour(m: &Model, start: &mut Random) -> Mechanism {
    let least = 0.5 + m.traits[0];
    let mut busy = Switch { on: m.on, until: exponential(1.0 + 2.0 * m.traits[0], start) };
    switched(2.0, move |now, random| busy.is_on(now, random, |r| pareto(least, 1.6, r).min(20.0)))
}

fn thermal_drift(m: &Model, _: &mut Random) -> Mechanism {
    let over = 5.0 + 25.0 * m.traits[0];
    slowed(move |now| 1.0 / (0.8 + 0.2 * (-now.seconds / over).exp()))
}

fn warm_up(m: &Model, _: &mut Random) -> Mechanism {
    let over = 0.5 + 2.0 * m.traits[0];
    slowed(move |now| 1.0 + 2.0 * (-now.seconds / over).exp())
}

/// Slower for good, as `1 / (1 + t)`.
fn fading(m: &Model, _: &mut Random) -> Mechanism {
    let over = 10.0 + 40.0 * m.traits[0];
    slowed(move |now| 1.0 + now.seconds / over)
}

fn cache(m: &Model, _: &mut Random) -> Mechanism {
    let (size, slow) = (m.moves(2.0 + 20.0 * m.traits[0]), 2.0 + 6.0 * m.traits[1]);
    slowed(move |now| if now.mib < size { 1.0 } else { slow })
}

fn two_caches(m: &Model, _: &mut Random) -> Mechanism {
    let first = m.moves(1.0 + 6.0 * m.traits[0]);
    let second = first * (1.5 + 2.0 * m.traits[1]);
    let (slow, slowest) = (1.5 + 2.0 * m.traits[2], 4.0 + 6.0 * m.traits[3]);
    slowed(move |now| match now.mib {
        x if x < first => 1.0,
        x if x < second => slow,
        _ => slowest,
    })
}

/// Fast until it is full, then slow until it is half empty.
fn refilling_cache(m: &Model, _: &mut Random) -> Mechanism {
    let (size, drain, block) = (m.moves(1.0 + 3.0 * m.traits[0]), m.moves(0.3), mib(m.block));
    let (mut fast, mut full) = (true, 0.0);
    slowed(move |now| {
        fast = if fast { full < size } else { full <= 0.5 * size };
        let slower = if fast { 1.0 } else { 6.0 };
        let taken = if fast { block } else { 0.5 * block };
        full = f64::max(full + taken - drain * now.base * slower, 0.0);
        slower
    })
}

/// A stop at the end of each erase block.
fn erase_blocks(m: &Model, _: &mut Random) -> Mechanism {
    let (size, block, stop) = (m.moves(0.2 + m.traits[0]), mib(m.block), 0.03 + 0.15 * m.traits[1]);
    let number = move |mib: f64| (mib / size).floor();
    stopped(move |now, _| if number(now.mib) == number(now.mib - block) { 0.0 } else { stop })
}

/// Half the speed in a quarter of every 40 to 120 s.
fn slow_periods(m: &Model, _: &mut Random) -> Mechanism {
    let period = 40.0 + 80.0 * m.traits[0];
    let begin = m.traits[1] * period;
    slowed(move |now| if (now.seconds + begin) % period < 0.25 * period { 2.0 } else { 1.0 })
}

/// One region in twenty needs retries.
fn weak_regions(m: &Model, _: &mut Random) -> Mechanism {
    let (second, salt) = (m.moves(1.0), (m.traits[0] * 1e9) as u64);
    stopped(move |now, random| {
        let region = (now.mib * 7.0 / second) as u64;
        let hash = (region.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let weak = (hash >> 40) % 20 == 0;
        if weak && random.random::<f64>() < 0.1 { 0.03 + 0.3 * random.random::<f64>() } else { 0.0 }
    })
}

/// Some operations are much slower than the rest.
fn two_speeds(m: &Model, _: &mut Random) -> Mechanism {
    let (share, slow) = (0.1 + 0.3 * m.traits[0], 1.0 + 20.0 * m.traits[1]);
    let slower = move |random: &mut Random| if random.random::<f64>() < share { slow } else { 0.5 };
    Box::new(move |_, random| Effect { slower: slower(random), stops: 0.0 })
}

/// Wanders by 15 %, over seconds.
fn wandering(m: &Model, _: &mut Random) -> Mechanism {
    const BY: f64 = 0.15;
    let over = 2.0 + 6.0 * m.traits[1];
    let mut level = BY * (2.0 * m.traits[0] - 1.0);
    Box::new(move |now, random| {
        let memory = (-now.base / over).exp();
        level = memory * level + (1.0 - memory * memory).sqrt() * BY * normal(random);
        Effect { slower: level.exp(), stops: 0.0 }
    })
}

fn noisy(_: &Model, _: &mut Random) -> Mechanism {
    slowed(|now| (0.5 * now.noise).exp())
}

fn mixed(m: &Model, start: &mut Random) -> Mechanism {
    let mut stops = any_length(m, start);
    let mut busy = Switch { on: m.on, until: exponential(2.0, start) };
    let size = m.moves(4.0 + 10.0 * m.traits[2]);
    Box::new(move |now, random| {
        let busy = if busy.is_on(now, random, |r| exponential(2.0, r)) { 1.5 } else { 1.0 };
        let full = if now.mib >= size { 3.0 } else { 1.0 };
        Effect { slower: busy * full, stops: stops(now, random) }
    })
}

fn normal(random: &mut Random) -> f64 {
    StandardNormal.sample(random)
}

fn exponential(mean: f64, random: &mut Random) -> f64 {
    let e: f64 = Exp1.sample(random);
    e * mean
}

fn pareto(least: f64, shape: f64, random: &mut Random) -> f64 {
    Pareto::new(least, shape).map_or(least, |pareto| pareto.sample(random))
}
