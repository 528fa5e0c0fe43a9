//! The plan of baseline.

use super::super::{
    LoadName, PlanError, Request,
    target_checks::{aligned, fits, reach, too_small, would_erase},
};
use crate::{
    analyse::Rules,
    plan::{FILL, Measure, Plan, Protocol, Rule, ScratchFile, Steps},
    target::Kind,
    units::{Caching, Direction, Load, MIB, Pattern},
};

/// The most that a load reads; only filled blocks are read.
const FILL_BYTES: u64 = 1024 * MIB;
/// Through the page cache an interval needs repetitions.
const CACHED_RUNS: u32 = 3;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let steps = match &ask.protocol {
        Some(protocol) => protocol_steps(ask, protocol)?,
        None => adaptive_steps(ask)?,
    };
    Ok(ask.planned(steps))
}

/// The loads, each until its interval is narrow enough, one target after the other.
fn adaptive_steps(ask: &Request) -> Result<Steps, PlanError> {
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let usual: &[LoadName] = match target.kind {
            Kind::Directory => &[LoadName::Write, LoadName::Read],
            Kind::File | Kind::BlockDevice => &[LoadName::Read],
        };
        let names = ask.loads.as_deref().unwrap_or(usual);
        let loads: Vec<(LoadName, Load)> = names.iter().map(|n| (*n, n.load(ask))).collect();
        for (_, load) in &loads {
            load.check()?;
            aligned(target, load)?;
        }
        let writes = loads.iter().any(|(_, l)| l.writes());
        let reach = reach(target, ask, writes)?;
        // All steps on one drive share its time limit.
        let filled = target.kind == Kind::Directory && !matches!(loads.first(), Some((LoadName::Write, _)));
        let runs = if ask.caching == Caching::Direct { 1 } else { CACHED_RUNS as usize };
        let seconds = ask.effort.max_seconds / (loads.len() * runs + usize::from(filled)) as f64;
        if target.kind == Kind::Directory {
            steps.add(&[at], ScratchFile { bytes: reach });
            // Only a sequential write fills the file for the other loads.
            if filled {
                steps.add(&[at], fill(ask, reach, seconds));
            }
        }
        for (name, load) in loads {
            // Giving up early saves flash wear; reading causes none.
            let give_up = ask.effort.rules.give_up.filter(|_| load.writes());
            let rules = Rules { give_up, ..ask.effort.rules.clone() };
            let bytes = ask.effort.max_bytes / ask.block * ask.block;
            let adaptive = Rule::Adaptive { rules, bytes, seconds };
            let zoned = target.rotates() && target.kind == Kind::BlockDevice && name == LoadName::Read;
            let rule =
                if zoned { Rule::Zones { precision: ask.effort.rules.precision, seconds } } else { adaptive };
            let measure = Measure {
                only_written: target.kind == Kind::Directory && name != LoadName::Write,
                ..Measure::new(name.name(), load, rule, reach)
            };
            if ask.caching == Caching::Direct {
                steps.add(&[at], measure);
            } else {
                for repetition in 1..=CACHED_RUNS {
                    let mut cached = measure.through_cache();
                    // As asked for, even without the final fsync.
                    cached.load.caching = ask.caching;
                    steps.add(&[at], Measure { repetition, ..cached });
                }
            }
        }
    }
    Ok(steps)
}

/// Fills the file in large blocks; its speed is recorded but not reported.
fn fill(ask: &Request, reach: u64, seconds: f64) -> Measure {
    // Stamps are checked per block, so they are written per block.
    let block = if ask.verify { ask.block } else { MIB.min(reach) / ask.block.min(MIB) * ask.block.min(MIB) };
    let bytes = reach.min(FILL_BYTES) / block * block;
    let load = Load::new(Direction::Write, Pattern::Sequential, block, ask.caching, ask.seed);
    let rule = Rule::Fixed { bytes, seconds: Some(seconds) };
    Measure::new(FILL, Load { verify: ask.verify, ..load }, rule, bytes)
}

/// A protocol, followed exactly: its bytes, however long they take.
fn protocol_steps(ask: &Request, protocol: &Protocol) -> Result<Steps, PlanError> {
    let bytes = protocol.loads.iter().map(|l| l.bytes).max().unwrap_or(0);
    let mut steps = Steps::default();
    for target in &ask.targets {
        protocol.loads.iter().try_for_each(|l| aligned(target, &l.load))?;
        let writes = protocol.loads.iter().any(|l| l.load.writes());
        if target.kind != Kind::Directory && writes {
            return Err(would_erase(target));
        }
        if target.kind == Kind::Directory {
            fits(target, bytes)?;
        } else if target.size.unwrap_or(0) < bytes {
            return Err(too_small(target, bytes));
        }
    }
    let all: Vec<usize> = (0..ask.targets.len()).collect();
    let groups: Vec<&[usize]> = if protocol.together { vec![&all] } else { all.chunks(1).collect() };
    for group in groups {
        for &target in group.iter().filter(|&&t| ask.targets[t].kind == Kind::Directory) {
            steps.add(&[target], ScratchFile { bytes });
        }
        for load in &protocol.loads {
            for repetition in 1..=protocol.runs {
                let seeded = Load { seed: ask.seed, ..load.load.clone() };
                let rule = Rule::Fixed { bytes: load.bytes, seconds: None };
                let only_written = !load.load.writes() && ask.targets[group[0]].kind == Kind::Directory;
                let measure = Measure::new(&load.label, seeded, rule, load.bytes);
                steps.add(group, Measure { repetition, only_written, cold: load.cold, ..measure });
            }
        }
    }
    Ok(steps)
}
