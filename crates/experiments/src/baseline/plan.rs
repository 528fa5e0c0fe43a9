//! The options and the plan of baseline: the loads of a suite, one drive after the other.

use super::super::{
    Declared, LoadName, PlanError, Request,
    rounds::Rounds,
    shared_options as shared,
    target_checks::{aligned, fits, reach, too_small, would_erase},
};
use crate::{
    analyse::Rules,
    plan::{FILL, FileSet, Files, Measure, Plan, Rule, Steps, Suite, SuiteLoad, TimeLimit, Until},
    target::{Kind, Target},
    units::{Caching, Direction, Load, MIB, Pattern},
};

/// Most time on each target, s: in rounds, and where the sustained speed is asked for.
const SECONDS: f64 = 360.0;
const SUSTAINED_SECONDS: f64 = 1800.0;

/// What limits a load; a procedure that is followed exactly has no limits.
const LIMITS: [&str; 6] = [
    shared::QUICK.name(),
    shared::THOROUGH.name(),
    shared::PRECISION.name(),
    shared::ROUNDS.name(),
    shared::MAX_TIME.name(),
    shared::MAX_BYTES.name(),
];

pub(super) const OPTIONS: &[&dyn Declared] = &[
    &shared::SUITE,
    &shared::RW,
    &shared::BS,
    &shared::IODEPTH,
    &shared::RWMIXREAD,
    &shared::CACHING,
    &shared::VERIFY,
    &shared::SEED,
    &shared::ENGINE,
    &const { shared::QUICK.help("5 rounds of each load, in half the time") },
    &const { shared::THOROUGH.help("sustained speeds, ±3 % within a run, in 2 h at most") },
    &const { shared::PRECISION.without_default("Target half-width [default: 10%; sustained: 5%]") },
    &shared::ROUNDS,
    &const { shared::MAX_TIME.without_default("Time limit per target [default: 6m; sustained: 30m]") },
    &const { shared::MAX_BYTES.without_default("Byte limit per target [default: 3 to 12GiB a write]") },
];

/// The most that a load reads; only filled blocks are read.
const FILL_BYTES: u64 = 1024 * MIB;
/// More than can be read in the time of a load.
const READ_BYTES: u64 = 1 << 40;
/// The most that is written in order in rounds. The usual limit would be reached too early on a fast drive.
const WRITE_BYTES: u64 = 12 * 1024 * MIB;
/// Most time to fill a file, s.
const FILL_SECONDS: f64 = 30.0;
/// The least room for the file of a suite.
const LEAST_FILE: u64 = 64 * MIB;
/// Times a set of files is written and read.
const FILE_RUNS: u32 = 3;
/// Through the page cache an interval needs repetitions.
const CACHED_RUNS: u32 = 3;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let own = ask.suite.is_none() && asks_for_loads(ask);
    let suite = match &ask.suite {
        Some(suite) => suite.clone(),
        None if own => own_loads(ask),
        None => Suite::mark(),
    };
    let steps = steps(ask, &suite, own)?;
    // A procedure that is followed exactly has no time limit.
    let exact = suite.loads.iter().any(|l| matches!(l.until, Until::Bytes(_)));
    let seconds = most_seconds(ask, suite.loads.iter().any(|l| l.until == Until::Sustained));
    let limit = (!exact).then_some(TimeLimit { seconds, together: false });
    Ok(Plan { suite: (!own).then_some(suite.name), limit, ..ask.planned(steps) })
}

/// Whether loads were described instead of a suite.
fn asks_for_loads(ask: &Request) -> bool {
    let described = shared::SUITE.spec().conflicts;
    ask.loads.is_some() || described.iter().any(|option| ask.values.is_typed(option))
}

/// The described loads as a suite.
fn own_loads(ask: &Request) -> Suite {
    let load = |name: &LoadName| SuiteLoad {
        label: name.name().to_owned(),
        load: name.load(ask),
        until: Until::Rounds,
        cold: false,
    };
    let loads = ask.loads.as_deref().unwrap_or(&[LoadName::Write, LoadName::Read]).iter().map(load).collect();
    Suite { runs: 1, loads, ..Suite::default() }
}

fn steps(ask: &Request, suite: &Suite, own: bool) -> Result<Steps, PlanError> {
    let mut steps = Steps::default();
    // What was named is refused where it can't be done; of anything else, only reads are done on devices.
    let named = ask.loads.is_some();
    let all: Vec<usize> = (0..ask.targets.len()).collect();
    let groups: Vec<&[usize]> = if suite.together { vec![&all] } else { all.chunks(1).collect() };
    for group in groups {
        let targets = || group.iter().map(|&at| &ask.targets[at]);
        let files = targets().all(|target| target.kind == Kind::Directory);
        let loads: Vec<&SuiteLoad> =
            suite.loads.iter().filter(|l| named || files || !l.load.writes()).collect();
        let exact = loads.iter().any(|l| matches!(l.until, Until::Bytes(_)));
        let refused = targets().find(|target| target.kind != Kind::Directory);
        if let (Some(target), true) = (refused, loads.is_empty() || exact && suite.writes()) {
            return Err(would_erase(target));
        }
        if let (true, Some(option)) = (exact, LIMITS.iter().find(|name| ask.values.is_typed(name))) {
            let suite = &suite.name;
            let why = format!("suite {suite} is followed exactly: --{option} can't be used with it");
            return Err(PlanError::Options(why));
        }
        let first = loads.first().filter(|l| exact && files && !l.load.writes());
        if let (Some(l), Some(target)) = (first, targets().next()) {
            let (suite, label, path) = (&suite.name, &l.label, target.path.display());
            return Err(PlanError::Options(format!(
                "suite {suite} is followed exactly, and its load {label} reads before anything is written: put a load that writes \
                 before it, or name a file or drive to read instead of {path}"
            )));
        }
        // Whether it leaves a file without gaps for the loads after it.
        let gapless = |l: &SuiteLoad| {
            (l.load.direction, l.load.pattern, l.load.streams) == (Direction::Write, Pattern::Sequential, 1)
        };
        // A procedure that is followed exactly has no other steps.
        let thorough = ask.values.get(&shared::THOROUGH);
        let fills =
            files && !exact && !loads.first().is_some_and(|l| gapless(l) && !is_in_rounds(l, thorough));
        let sets: &[FileSet] = if files { &suite.files } else { &[] };
        let others = u32::from(fills) + 2 * FILE_RUNS * sets.len() as u32;
        let limits = Limits::new(ask, &loads, suite.runs, others);
        let sets: Vec<FileSet> = sets.iter().map(|set| limits.files(*set)).collect::<Result<_, _>>()?;
        let besides = sets.iter().map(FileSet::on_disk).max().unwrap_or(0);
        let mut room = u64::MAX;
        for target in targets() {
            for l in &loads {
                l.load.check()?;
                aligned(target, &l.load)?;
                if limits.bytes < l.load.block {
                    return Err(PlanError::Budget { bytes: limits.bytes, block: l.load.block });
                }
            }
            room = room.min(space(ask, suite, target, &loads, &limits, besides)?);
        }
        for &at in group.iter().filter(|_| files) {
            steps.add_file(
                at,
                room,
                if exact { room } else { suite.file.unwrap_or(u64::MAX).min(limits.bytes) },
            );
        }
        if fills {
            steps.add(group, fill(ask, room, limits.seconds.min(FILL_SECONDS)));
        }
        let mut rounds = Vec::new();
        for l in loads {
            let rotates = targets().all(|target| target.rotates() && target.kind == Kind::BlockDevice);
            let (label, row) = label(l, own);
            let measure = Measure {
                only_written: files && if exact { !l.load.writes() } else { !gapless(l) },
                cold: l.cold,
                row,
                ..Measure::new(
                    &label,
                    Load { seed: ask.seed, ..l.load.clone() },
                    limits.rule(l, rotates),
                    room,
                )
            };
            if let Rule::Round { .. } = measure.rule {
                rounds.push((group, measure));
            } else if matches!(l.until, Until::Bytes(_)) || l.load.caching == Caching::Direct {
                for repetition in 1..=suite.runs {
                    steps.add(group, Measure { repetition, ..measure.clone() });
                }
            } else {
                for repetition in 1..=CACHED_RUNS {
                    let mut cached = measure.through_cache();
                    // As asked for, even without the final fsync.
                    cached.load.caching = ask.caching;
                    steps.add(group, Measure { repetition, ..cached });
                }
            }
        }
        limits.rounds.add(&mut steps, &rounds, ask.seed);
        for (set, repetition) in sets.iter().flat_map(|set| (1..=FILE_RUNS).map(move |run| (*set, run))) {
            let seed = ask.seed.wrapping_add(u64::from(repetition));
            for files in Files::both(set, seed, None, limits.seconds) {
                steps.add(group, files);
            }
        }
    }
    Ok(steps)
}

/// The label of a load and the row of its table, if that has a name of its own: a read and a write of a suite share one.
fn label(l: &SuiteLoad, own: bool) -> (String, Option<String>) {
    let name = l.name();
    if own || l.label == name {
        return (l.label.clone(), None);
    }
    (name, (l.label != l.load.short_name()).then(|| l.label.clone()))
}

/// Pieces of a load through the page cache would be those of memory.
fn is_in_rounds(l: &SuiteLoad, thorough: bool) -> bool {
    l.until == Until::Rounds && l.load.caching == Caching::Direct && !thorough
}

/// Most seconds on one drive; a sustained speed takes longer.
fn most_seconds(ask: &Request, sustained: bool) -> f64 {
    let (quick, thorough) = (ask.values.get(&shared::QUICK), ask.values.get(&shared::THOROUGH));
    match ask.values.is_typed(shared::MAX_TIME.name()) {
        true => ask.effort.max_seconds,
        false if thorough => shared::THOROUGH_SECONDS,
        false if sustained && quick => shared::QUICK_SECONDS,
        false if sustained => SUSTAINED_SECONDS,
        false => SECONDS,
    }
}

/// The limits of each load on one drive.
struct Limits {
    rules: Rules,
    rounds: Rounds,
    bytes: u64,
    typed_bytes: bool,
    seconds: f64,
    /// All loads are measured until the sustained speed is known.
    thorough: bool,
}

impl Limits {
    /// `others` are steps besides the loads.
    fn new(ask: &Request, loads: &[&SuiteLoad], runs: u32, others: u32) -> Self {
        let runs = |l: &&SuiteLoad| if l.load.caching == Caching::Direct { runs } else { CACHED_RUNS };
        let all = loads.iter().map(runs).sum::<u32>() + others;
        let all = u64::from(all.max(1));
        let bytes = ask.effort.max_bytes;
        // What was typed holds for the whole drive.
        let typed_bytes = ask.values.is_typed(shared::MAX_BYTES.name());
        let bytes = if typed_bytes { bytes / all } else { bytes };
        let seconds = most_seconds(ask, loads.iter().any(|l| l.until == Until::Sustained));
        let seconds = seconds / all as f64;
        Self {
            rules: Rules { budget: bytes.div_ceil(MIB), ..ask.effort.rules.clone() },
            rounds: Rounds::of(ask, seconds),
            bytes,
            typed_bytes,
            seconds,
            thorough: ask.values.get(&shared::THOROUGH),
        }
    }

    /// As many files of the set as the bytes that were typed allow.
    fn files(&self, set: FileSet) -> Result<FileSet, PlanError> {
        let most = if self.typed_bytes { self.bytes / set.cluster_bytes() } else { u64::MAX };
        match most {
            0 => Err(PlanError::Budget { bytes: self.bytes, block: set.cluster_bytes() }),
            most => Ok(FileSet { files: set.files.min(most), ..set }),
        }
    }

    fn rule(&self, l: &SuiteLoad, rotates: bool) -> Rule {
        let (seconds, sequential) = (self.seconds, l.load.pattern == Pattern::Sequential);
        let bytes = self.bytes / l.load.block * l.load.block;
        match l.until {
            Until::Bytes(bytes) => Rule::Fixed { bytes, seconds: None },
            _ if rotates && sequential && !l.load.writes() => {
                Rule::Zones { precision: self.rules.precision, seconds }
            }
            Until::Rounds if is_in_rounds(l, self.thorough) => {
                // Reading wears nothing, so only time and what was typed limit it.
                let most = match l.load.writes() {
                    false if !self.typed_bytes => READ_BYTES,
                    true if !self.typed_bytes && sequential => WRITE_BYTES,
                    _ => bytes,
                };
                self.rounds.rule(most, l.load.block)
            }
            Until::Rounds | Until::Sustained => {
                // Giving up early saves flash wear; reading causes none.
                let give_up = self.rules.give_up.filter(|_| l.load.writes());
                let free = !l.load.writes() && !self.typed_bytes;
                let bytes = if free { READ_BYTES / l.load.block * l.load.block } else { bytes };
                let budget = if free { READ_BYTES / MIB } else { self.rules.budget };
                Rule::Adaptive { rules: Rules { give_up, budget, ..self.rules.clone() }, bytes, seconds }
            }
        }
    }
}

/// How far into a target the loads may reach; `besides` is taken by other files.
fn space(
    ask: &Request,
    suite: &Suite,
    target: &Target,
    loads: &[&SuiteLoad],
    limits: &Limits,
    besides: u64,
) -> Result<u64, PlanError> {
    let block = loads.iter().map(|l| l.load.block).max().unwrap_or(1);
    let exact =
        loads.iter().filter_map(|l| if let Until::Bytes(bytes) = l.until { Some(bytes) } else { None }).max();
    let writes = loads.iter().any(|l| l.load.writes());
    match (exact, suite.file) {
        (Some(bytes), _) if target.kind == Kind::Directory => {
            fits(target, bytes.saturating_add(besides)).map(|_| bytes)
        }
        (Some(bytes), _) if target.size.unwrap_or(0) < bytes => Err(too_small(target, bytes)),
        (Some(bytes), _) => Ok(bytes),
        (None, Some(file)) if target.kind == Kind::Directory => {
            let wanted = file.min(limits.bytes).max(block);
            let room = fits(target, wanted.min(LEAST_FILE).saturating_add(besides))? - besides;
            Ok((wanted.min(room) / block).max(1) * block)
        }
        _ => {
            let effort = super::super::Effort { max_bytes: limits.bytes, ..ask.effort.clone() };
            let reach = reach(target, &Request { block, effort, ..ask.clone() }, writes)?;
            if besides > 0 {
                fits(target, reach.saturating_add(besides))?;
            }
            Ok(reach)
        }
    }
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
