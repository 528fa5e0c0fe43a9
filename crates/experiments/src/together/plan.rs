//! The options and the plan of together.

use super::super::{
    Declared, LoadName, Opt, PlanError, Request,
    shared_options::{self as shared, ENGINE, IODEPTH, MAX_BYTES, RW, RWMIXREAD, SEED},
    target_checks::{aligned, reach},
};
use crate::{
    plan::{FILL, Measure, Plan, Rule, Steps, TimeLimit},
    target::{Kind, Target},
    units::{Load, MIB},
};

/// Large enough that the processor cost of an operation hardly counts.
const BS: Opt<u64> = shared::BS.default("1M");

/// Drives are measured one after the other, and at once.
const MAX_TIME: Opt<f64> = shared::MAX_TIME.help("Time limit for all targets together");

const RUNS: Opt<u32> = shared::RUNS.default("3");

pub(super) const OPTIONS: &[&dyn Declared] =
    &[&RW, &BS, &IODEPTH, &RWMIXREAD, &SEED, &ENGINE, &MAX_TIME, &MAX_BYTES, &RUNS];

/// Most seconds of a load: some hundred operations of a slow stick.
const SECONDS: f64 = 10.0;
/// Time limit of filling, as a multiple of a load's.
const FILL_LOADS: f64 = 3.0;
/// Most bytes of a load that writes, and of filling: more would only wear the drive.
const WRITTEN: u64 = 1024 * MIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    if ask.targets.len() < 2 {
        return Err(PlanError::TooFew { experiment: "together", least: 2 });
    }
    let loads = loads(ask)?;
    let reach = ask
        .targets
        .iter()
        .enumerate()
        .map(|(at, t)| reach(t, ask, loads.iter().any(|(_, load, on)| load.writes() && on.contains(&at))))
        .collect::<Result<Vec<u64>, _>>()?;
    let reach = reach.into_iter().min().unwrap_or(0);
    let runs = ask.values.get(&RUNS);
    let each: Vec<(LoadName, Load, Vec<Vec<usize>>)> =
        loads.into_iter().map(|(name, load, on)| (name, load, sets(&on, &ask.targets))).collect();
    let files: Vec<usize> =
        (0..ask.targets.len()).filter(|&t| ask.targets[t].kind == Kind::Directory).collect();
    let filled = !files.is_empty() && !each.is_empty();

    // One step follows the other, also where they are on different drives.
    // A write has one before it that fills the write cache.
    let times = |load: &Load| if load.writes() { 2 } else { 1 };
    let all =
        each.iter().map(|(_, load, sets)| times(load) * sets.len()).sum::<usize>() as f64 * f64::from(runs);
    let shares = all + if filled { FILL_LOADS } else { 0.0 };
    let seconds = (ask.effort.max_seconds / shares).min(SECONDS);

    let mut steps = Steps::default();
    for &target in &files {
        steps.add_file(target, reach, ask.effort.max_bytes);
    }
    if filled {
        steps.add(&files, fill(ask, reach, seconds));
    }
    for repetition in 1..=runs {
        for (name, load, sets) in &each {
            // Another order each time, so that a drift affects no set more than others.
            let order = (0..sets.len()).map(|i| &sets[(i + repetition as usize - 1) % sets.len()]);
            for set in order {
                let most = if load.writes() { WRITTEN } else { u64::MAX };
                let bytes = (ask.effort.max_bytes.min(most) / load.block).max(1) * load.block;
                let rule = Rule::Fixed { bytes, seconds: Some(seconds) };
                let only_written = !load.writes() && set.iter().any(|t| files.contains(t));
                // A cache that had time to empty while others were measured would make a drive look faster alone.
                if load.writes() {
                    steps.add(set, Measure::new(FILL, load.clone(), rule.clone(), reach));
                }
                let measure = Measure::new(&label(*name, set, sets), load.clone(), rule, reach);
                steps.add(set, Measure { repetition, only_written, ..measure });
            }
        }
    }
    let limit = Some(TimeLimit { seconds: ask.effort.max_seconds, together: true });
    Ok(Plan { limit, ..ask.planned(steps) })
}

/// The loads with their targets. Default loads leave out targets that can't be written.
fn loads(ask: &Request) -> Result<Vec<(LoadName, Load, Vec<usize>)>, PlanError> {
    let usual = [LoadName::Write, LoadName::Read];
    let mut loads = Vec::new();
    for name in ask.loads.as_deref().unwrap_or(&usual) {
        let load = name.load(ask);
        load.check()?;
        ask.targets.iter().try_for_each(|target| aligned(target, &load))?;
        let takes =
            |t: &usize| ask.loads.is_some() || !load.writes() || ask.targets[*t].kind == Kind::Directory;
        let on: Vec<usize> = (0..ask.targets.len()).filter(takes).collect();
        if on.len() > 1 {
            loads.push((*name, load, on));
        }
    }
    Ok(loads)
}

/// Sets to measure: each target alone, all at once, and subsets that separate the buses: the drives of each bus, and
/// one drive of each bus. With one bus, or unknown buses, two and four targets.
fn sets(on: &[usize], targets: &[Target]) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = on.iter().map(|&t| vec![t]).collect();
    sets.push(on.to_vec());
    let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for &t in on {
        let bus = targets[t].drives.first().and_then(|d| d.upstream.as_deref());
        match groups.iter_mut().find(|(other, _)| *other == bus) {
            Some((_, group)) => group.push(t),
            None => groups.push((bus, vec![t])),
        }
    }
    let several = groups.len() > 1 && groups.len() < on.len();
    let between: Vec<Vec<usize>> = if several {
        let across = groups.iter().map(|(_, group)| group[0]).collect();
        groups.into_iter().map(|(_, group)| group).chain([across]).collect()
    } else {
        let sizes: &[usize] = if on.len() > 5 { &[2, 4] } else { &[2] };
        sizes.iter().map(|&n| on.iter().take(n).copied().collect()).collect()
    };
    for set in between {
        if set.len() > 1 && set.len() < on.len() && !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// The label of a step, with its targets by their position from 1.
fn label(name: LoadName, set: &[usize], sets: &[Vec<usize>]) -> String {
    let name = name.name();
    match set {
        [_] => format!("{name} alone"),
        // The largest set is all of them.
        _ if sets.iter().all(|other| other.len() <= set.len()) => format!("{name} at once"),
        _ => {
            let numbers: Vec<String> = set.iter().map(|t| (t + 1).to_string()).collect();
            format!("{name} {}", numbers.join("+"))
        }
    }
}

fn fill(ask: &Request, reach: u64, seconds: f64) -> Measure {
    let block = ask.block.max(MIB / ask.block * ask.block).min(reach);
    let bytes = reach.min(WRITTEN) / block * block;
    let rule = Rule::Fixed { bytes, seconds: Some(seconds * FILL_LOADS) };
    Measure::new(FILL, Load { block, depth: 1, ..LoadName::Write.load(ask) }, rule, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Drive;

    fn on(buses: &[Option<&str>]) -> Vec<Vec<usize>> {
        let target = |bus: &Option<&str>| Target {
            given: String::new(),
            path: "/".into(),
            drives: vec![Drive { upstream: bus.map(str::to_owned), ..Drive::default() }],
            direct_alignment: 512,
            ..Target::default()
        };
        let targets: Vec<Target> = buses.iter().map(target).collect();
        let all: Vec<usize> = (0..targets.len()).collect();
        sets(&all, &targets).into_iter().filter(|set| set.len() > 1).collect()
    }

    #[test]
    fn subsets_separate_one_bus_from_another() {
        let (a, b, c) = (Some("hub 1"), Some("hub 2"), Some("hub 3"));
        assert_eq!(on(&[a, a]), [vec![0, 1]]);
        assert_eq!(on(&[a, b]), [vec![0, 1]]);
        assert_eq!(on(&[a, a, a]), [vec![0, 1, 2], vec![0, 1]]);
        assert_eq!(on(&[a, a, b, b]), [vec![0, 1, 2, 3], vec![0, 1], vec![2, 3], vec![0, 2]]);
        assert_eq!(on(&[a, a, b]), [vec![0, 1, 2], vec![0, 1], vec![0, 2]]);
        assert_eq!(on(&[a, b, c]), [vec![0, 1, 2], vec![0, 1]]);
        assert_eq!(on(&[None; 6]), [(0..6).collect(), vec![0, 1], vec![0, 1, 2, 3]]);
    }
}
