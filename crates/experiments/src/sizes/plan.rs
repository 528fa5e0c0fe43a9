//! The options and the plan of sizes.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::{
    Declared, Opt, PlanError, Request,
    shared_options::{self as shared, ENGINE, MAX_TIME, SEED},
    target_checks::{fits, too_small},
};
use crate::{
    plan::{FILL, Measure, Plan, Rule, ScratchFile, Steps},
    target::Kind,
    units::{Caching, Direction, Load, MIB, Pattern},
};

/// A median needs this many for an interval.
const RUNS: Opt<u32> = shared::RUNS.default("6");

const LARGEST: Opt<u64> =
    Opt::new("largest", "SIZE", shared::bytes, "Largest transfer, up to 16M").default("1M");

/// For all transfers together, because there are hundreds of small ones.
const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.help("Limit of bytes written, and of bytes read");

pub(super) const OPTIONS: &[&dyn Declared] = &[&SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS, &LARGEST];

/// The smallest transfer; each next one is twice as large.
const SMALLEST: u64 = 64;
/// Most bytes of a repetition. Through the page cache it is the same for all sizes, so that the final fsync has the same
/// weight; it is small, because all of it is written however slow the drive is.
const WRITTEN: u64 = 4 * MIB;
const MOVED: u64 = 8 * MIB;
/// Filling takes this share of the time at most.
const FILLING: f64 = 0.25;
/// Time limit of a repetition, s, without the fsync.
const SECONDS: f64 = 0.5;
const WRITE_SECONDS: f64 = 4.0;
const FILL_SECONDS: f64 = 30.0;
/// Most operations of a direct repetition: a disk may do only a hundred small writes a second.
const OPERATIONS: u64 = 4096;

/// The four modes of each size: label, direction, caching.
const WAYS: [(&str, Direction, Caching); 4] = [
    ("write", Direction::Write, Caching::BufferedFsync),
    ("write direct", Direction::Write, Caching::Direct),
    ("read", Direction::Read, Caching::Buffered),
    ("read direct", Direction::Read, Caching::Direct),
];

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    for at in 0..ask.targets.len() {
        target_steps(&mut steps, ask, at)?;
    }
    Ok(ask.planned(steps))
}

fn target_steps(steps: &mut Steps, ask: &Request, at: usize) -> Result<(), PlanError> {
    let target = &ask.targets[at];
    let largest = ask.values.get(&LARGEST);
    Load::new(Direction::Read, Pattern::Sequential, largest, Caching::Buffered, 0).check()?;
    let made = target.kind == Kind::Directory;
    let runs = ask.values.get(&RUNS);
    // Each transfer once, and a file of the largest for them.
    let once = 4 * largest * u64::from(runs);
    let left = ask.effort.max_bytes.checked_sub(once + largest);
    let left = left.ok_or(PlanError::Bytes { bytes: ask.effort.max_bytes, least: once + largest })?;
    let room = (2 * largest).max(MOVED).min(largest + left / 2 / largest * largest);
    let fill_seconds = if made { FILL_SECONDS.min(ask.effort.max_seconds * FILLING) } else { 0.0 };
    let reach = match target.size {
        _ if made => {
            fits(target, room)?;
            steps.add(&[at], ScratchFile { bytes: room });
            steps.add(&[at], fill(room, fill_seconds, ask.seed));
            room
        }
        size => size.unwrap_or(0),
    };
    let sizes: Vec<u64> = (0..).map(|n| SMALLEST << n).take_while(|&s| s <= largest.min(reach)).collect();
    let ways = WAYS.iter().filter(|way| made || way.1 == Direction::Read);
    let points = ways.flat_map(|way| sizes.iter().map(move |&size| (way, size)));
    // Direct transfers are whole blocks of the drive.
    let unit = u64::from(target.direct_alignment.max(1));
    let points: Vec<_> = points.filter(|(way, size)| way.2 != Caching::Direct || size % unit == 0).collect();
    if points.is_empty() {
        return Err(too_small(target, SMALLEST));
    }
    let share = (ask.effort.max_seconds - fill_seconds) / (points.len() as f64 * f64::from(runs));
    // All points may move as much, beside one transfer of each size in both modes.
    let bytes = |direction, filled| {
        let own = points.iter().filter(|(way, _)| way.1 == direction).count().max(1) as u64;
        let left = ask.effort.max_bytes.saturating_sub(filled) / u64::from(runs);
        left.saturating_sub(4 * largest) / own
    };
    let filled = if made { room } else { 0 };
    let written = if made { bytes(Direction::Write, filled) } else { 0 };
    let read = bytes(Direction::Read, 0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(ask.seed.wrapping_add(at as u64));
    for repetition in 1..=runs {
        let mut order = points.clone();
        order.shuffle(&mut random);
        for ((label, direction, caching), block) in order {
            let load = Load::new(*direction, Pattern::Sequential, block, *caching, ask.seed);
            let most = if *direction == Direction::Write { written } else { read };
            let measure = Measure {
                repetition,
                only_written: made && *direction == Direction::Read,
                cold: *caching == Caching::Buffered,
                ..Measure::new(label, load, rule(*caching, block, room.min(most), share), reach)
            };
            steps.add(&[at], measure);
        }
    }
    Ok(())
}

fn rule(caching: Caching, block: u64, most: u64, share: f64) -> Rule {
    let (bytes, seconds) = match caching {
        Caching::Direct => (MOVED.min(block * OPERATIONS), SECONDS),
        Caching::Buffered => (MOVED, SECONDS),
        Caching::BufferedFsync => (WRITTEN, WRITE_SECONDS),
    };
    // Whole blocks, one at least.
    let blocks = (bytes.max(2 * block).min(most) / block).max(1);
    Rule::Fixed { bytes: blocks * block, seconds: Some(seconds.min(share)) }
}

/// Writes the whole file once; its speed is recorded but not reported.
fn fill(bytes: u64, seconds: f64, seed: u64) -> Measure {
    let block = MIB.min(bytes);
    let rule = Rule::Fixed { bytes: bytes / block * block, seconds: Some(seconds) };
    let load = Load::new(Direction::Write, Pattern::Sequential, block, Caching::BufferedFsync, seed);
    Measure::new(FILL, load, rule, bytes)
}
