//! The options and the plan of pagecache.

use super::super::{
    Declared, Opt, PlanError, Request,
    shared_options::{self as shared, ENGINE, MAX_BYTES, MAX_TIME, SEED},
    target_checks::{fits, too_small},
};
use crate::{
    plan::{AtLeast, Measure, Plan, Rule, ScratchFile, Steps},
    target::{Kind, Target},
    units::{Caching, Caching::*, Direction, Direction::*, Load, MIB, Pattern},
};

/// The fewest for a useful interval.
const RUNS: Opt<u32> = shared::RUNS.default("3");

pub(super) const OPTIONS: &[&dyn Declared] = &[&SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS];

/// Most bytes of each load: more than most drives' own caches, and little enough that the page cache of a board with
/// 512 MB takes all of it before it throttles writers, as happens with short copies.
const AMOUNT: u64 = 64 * MIB;
/// How long each mode is measured at least, over all its runs, s.
const SECONDS: f64 = 1.0;
/// Most passes of a run that only reads memory.
const PASSES: u64 = 1024;
/// The usual block size of dd.
const BLOCK: u64 = MIB;

#[derive(Debug)]
pub(super) struct Way {
    pub label: &'static str,
    pub direction: Direction,
    pub caching: Caching,
    /// The page cache holds nothing of the file, and nothing waits to be written.
    pub cold: bool,
}

/// A write as plain dd does it.
pub(super) const NAIVE_WRITE: &str = "write cached";
/// A read of a file that was just written or read.
pub(super) const NAIVE_READ: &str = "read warm";
/// Loads that show the drive's own speed.
pub(super) const TRUE_WRITE: &str = "write fsync";
pub(super) const TRUE_READ: &str = "read cold";

/// In the order in which they are measured: a warm read follows the cold one that warmed it.
pub(super) const WAYS: [Way; 6] = [
    Way { label: NAIVE_WRITE, direction: Write, caching: Buffered, cold: true },
    Way { label: TRUE_WRITE, direction: Write, caching: BufferedFsync, cold: true },
    Way { label: "write direct", direction: Write, caching: Direct, cold: true },
    Way { label: TRUE_READ, direction: Read, caching: Buffered, cold: true },
    Way { label: NAIVE_READ, direction: Read, caching: Buffered, cold: false },
    Way { label: "read direct", direction: Read, caching: Direct, cold: true },
];

/// Most bytes of all passes of one run.
fn most(way: &Way, bytes: u64, ask: &Request) -> u64 {
    let (max, runs) = (ask.effort.max_bytes, u64::from(ask.values.get(&RUNS)));
    let most = match way.label {
        // Only memory is read.
        NAIVE_READ => PASSES * bytes,
        // As fast as memory.
        NAIVE_WRITE => max,
        // Flash wears by writing.
        _ if way.direction == Write => max / runs,
        _ => max,
    };
    most.max(bytes)
}

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let bytes = AMOUNT.min(ask.effort.max_bytes) / BLOCK * BLOCK;
    if bytes == 0 {
        return Err(PlanError::Bytes { bytes: ask.effort.max_bytes, least: BLOCK });
    }
    let mut targets = ask.targets.clone();
    // No second memory target where one was named, and none without enough room.
    let ceiling =
        ask.memory.iter().filter(|m| fits(m, bytes).is_ok() && !ask.targets.iter().any(Target::is_memory));
    targets.extend(ceiling.cloned());
    let mut steps = Steps::default();
    for (at, target) in targets.iter().enumerate() {
        let made = target.kind == Kind::Directory;
        let memory = target.is_memory();
        let bytes = if made { bytes } else { bytes.min(target.size.unwrap_or(0)) / BLOCK * BLOCK };
        if made {
            fits(target, bytes)?;
        } else if bytes == 0 {
            return Err(too_small(target, BLOCK));
        }
        let reads = |w: &&Way| made || w.direction == Read;
        // Memory has no drive behind it, so only the cached modes make sense.
        let naive = |w: &&Way| !memory || [NAIVE_WRITE, NAIVE_READ].contains(&w.label);
        let ways: Vec<&Way> = WAYS.iter().filter(reads).filter(naive).collect();
        let runs = ask.values.get(&RUNS);
        let seconds = ask.effort.max_seconds / (ways.len() as f64 * f64::from(runs));
        let lasts = (SECONDS / f64::from(runs)).min(seconds);
        for repetition in 1..=runs {
            if made {
                // A new file each time, as dd creates one: overwriting may have another speed.
                steps.add(&[at], ScratchFile { bytes });
            }
            for w in &ways {
                let rule = Rule::Fixed { bytes, seconds: Some(seconds) };
                let load = Load::new(w.direction, Pattern::Sequential, BLOCK, w.caching, ask.seed);
                let measure = Measure {
                    repetition,
                    only_written: made && w.direction == Read,
                    cold: w.cold && !memory,
                    again: Some(AtLeast { seconds: lasts, bytes: most(w, bytes, ask) }),
                    ..Measure::new(w.label, load, rule, bytes)
                };
                steps.add(&[at], measure);
            }
        }
    }
    Ok(Plan { targets, ..ask.planned(steps) })
}
