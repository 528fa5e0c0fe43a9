//! The plan of layouts.

use std::collections::BTreeMap;

use super::{
    super::{
        PlanError, Request,
        target_checks::aligned,
        whole_drives::{check, check_survival, layouts_of, name, pool_target},
    },
    options,
    predict::Predict,
};
use crate::{
    plan::{BuildPool, FILL, Files, Measure, Plan, RebuildPool, RemovePool, Rule, Steps, Suite},
    target::Target,
    units::{Caching, Direction, KIB, Layout, Load, MIB, Pattern},
};

/// The loads of the posts: one operation at a time.
const LOADS: [(&str, Direction, Pattern, u64); 6] = [
    ("write 1M", Direction::Write, Pattern::Sequential, MIB),
    ("read 1M", Direction::Read, Pattern::Sequential, MIB),
    ("write 4k", Direction::Write, Pattern::Sequential, 4 * KIB),
    ("read 4k", Direction::Read, Pattern::Sequential, 4 * KIB),
    ("randwrite 4k", Direction::Write, Pattern::Random, 4 * KIB),
    ("randread 4k", Direction::Read, Pattern::Random, 4 * KIB),
];
/// Number of these loads that also run on all drives at once.
const AT_ONCE: usize = 2;
/// Time limit of filling a file, as a multiple of a load's.
const FILL_LOADS: f64 = 6.0;
/// Most bytes of a load: more would only wear the drives.
const MOST: u64 = 1024 * MIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let drives = ask.targets.len();
    let (most, chunk) = (ask.values.get(&options::SIZE), ask.values.get(&options::CHUNK));
    // A quarter of it is written as one file: no drive may be too small for that.
    check("layouts", &ask.targets, most)?;
    let identities: Vec<String> = ask.targets.iter().map(|target| target.drives[0].identity()).collect();
    let name = name("layouts", &identities);
    let all = &ask.targets[..];
    let layouts = layouts_of(ask.values.typed(&options::LAYOUTS), drives)?;
    check_survival(&layouts, drives, ask.values.get(&options::SURVIVE))?;
    let suite = suite(ask, all)?;
    let single = |(nth, one): (usize, &Target)| {
        pool_target(&name, &nth.to_string(), one.given.clone(), std::slice::from_ref(one))
    };
    let mut targets: Vec<Target> = (1..).zip(all).map(single).collect();
    let pool = |layout: &Layout| pool_target(&name, layout.name(), layout.name().to_owned(), all);
    targets.extend(layouts.iter().map(pool));
    let build = |at: usize| {
        let single = at < drives;
        BuildPool {
            name: format!("{name}-{}", if single { (at + 1).to_string() } else { targets[at].given.clone() }),
            layout: if single { Layout::Single } else { layouts[at - drives] },
            chunk,
            most,
            drives: if single { vec![identities[at].clone()] } else { identities.clone() },
        }
    };
    let members: Vec<usize> = (0..drives).collect();
    let pools = drives..targets.len();
    // Where the same drives have the same parts again; no more than half of the file.
    let aligned = |at: usize| match layouts[at - drives] {
        layout if !layout.is_striped() => 0,
        layout => {
            [chunk * layout.cycle(drives), chunk].into_iter().find(|bytes| *bytes <= most / 8).unwrap_or(0)
        }
    };
    let mut steps = Steps::default();
    let predict = Predict {
        pools: pools.clone().map(|at| at as u32).collect(),
        survive: ask.values.get(&options::SURVIVE),
    };
    for &at in &members {
        prepare(&mut steps, ask, at, build(at));
    }
    for repetition in 1..=ask.values.get(&options::RUNS) {
        for &at in &members {
            loads(&mut steps, ask, &[at], (repetition, 0), "");
            further(&mut steps, ask, at, (repetition, 0), &suite);
        }
        hubs(all).iter().for_each(|hub| loads(&mut steps, ask, hub, (repetition, 0), AT_ONE_HUB));
        loads(&mut steps, ask, &members, (repetition, 0), AT_ONCE_ALL);
    }
    steps.add(&members, predict);
    for &at in &members {
        steps.add(&[at], RemovePool { name: build(at).name });
    }
    for at in pools {
        prepare(&mut steps, ask, at, build(at));
        for repetition in 1..=ask.values.get(&options::RUNS) {
            loads(&mut steps, ask, &[at], (repetition, aligned(at)), "");
            further(&mut steps, ask, at, (repetition, aligned(at)), &suite);
        }
        if layouts[at - drives].is_redundant() {
            steps.add(&[at], RebuildPool { member: drives as u32 - 1, most });
        }
        steps.add(&[at], RemovePool { name: build(at).name });
    }
    Ok(Plan { limit: None, targets, ..ask.planned(steps) })
}

/// Builds a pool, and fills a file on it.
fn prepare(steps: &mut Steps, ask: &Request, at: usize, build: BuildPool) {
    // The smallest pools hold what one drive does, less what a filesystem needs.
    let bytes = (build.most / 4).min(MOST) / MIB * MIB;
    steps.add(&[at], build);
    steps.add_file(at, bytes, bytes);
    let load = load(ask, Direction::Write, Pattern::Sequential, MIB);
    let seconds = Some(ask.values.get(&options::RUNTIME) * FILL_LOADS);
    steps.add(&[at], Measure::new(FILL, load, Rule::Fixed { bytes, seconds }, bytes));
}

/// Suffixes of the label of a load on all drives at once, and on those behind one of several hubs.
const AT_ONCE_ALL: &str = " at once";
const AT_ONE_HUB: &str = " at once, one hub";

/// Drives that are behind one hub, or on one bus, if others are not. A plan has no inventory, whose buses would say more.
fn hubs(drives: &[Target]) -> Vec<Vec<usize>> {
    let mut behind: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, target) in drives.iter().enumerate() {
        if let Some(hub) = &target.drives[0].upstream {
            behind.entry(hub).or_default().push(at);
        }
    }
    behind.into_values().filter(|hub| hub.len() > 1 && hub.len() < drives.len()).collect()
}

/// The labels of the loads on all drives at once.
pub(super) fn labels_at_once() -> impl Iterator<Item = String> {
    LOADS.iter().take(AT_ONCE).map(|(label, ..)| format!("{label}{AT_ONCE_ALL}"))
}

/// The label of the same load on one drive.
pub(super) fn alone(at_once: &str) -> &str {
    at_once.trim_end_matches(AT_ONCE_ALL)
}

/// The loads of the posts; `at` is the repetition, and `aligned` of [`Measure`].
fn loads(steps: &mut Steps, ask: &Request, on: &[usize], at: (u32, u64), at_once: &str) {
    let several = on.len() > 1;
    for (label, direction, pattern, block) in LOADS.iter().take(if several { AT_ONCE } else { LOADS.len() }) {
        let load = load(ask, *direction, *pattern, *block);
        steps.add(on, measure(ask, &format!("{label}{at_once}"), load, at));
    }
}

fn measure(ask: &Request, label: &str, load: Load, (repetition, aligned): (u32, u64)) -> Measure {
    let rule = Rule::Fixed { bytes: MOST, seconds: Some(ask.values.get(&options::RUNTIME)) };
    let from = from(ask, repetition);
    // Only what is filled: writing elsewhere would change the filesystem's map, too.
    let (only_written, most) = (true, ask.values.get(&options::SIZE) / 4);
    Measure { repetition, only_written, from, aligned, ..Measure::new(label, load, rule, most) }
}

/// Where in the file a repetition begins: each at another place of a chunk, because that decides how many drives an operation
/// reaches, and a person's file may begin anywhere.
fn from(ask: &Request, repetition: u32) -> u64 {
    const PAGE: u64 = 4 * KIB;
    let chunk = ask.values.get(&options::CHUNK).min(ask.values.get(&options::SIZE) / 8);
    let part = chunk / u64::from(ask.values.get(&options::RUNS));
    u64::from(repetition - 1) * part / PAGE * PAGE
}

/// The other loads of the suite, on one target at a time.
fn further(steps: &mut Steps, ask: &Request, on: usize, at: (u32, u64), suite: &Suite) {
    for l in &suite.loads {
        let load = Load { seed: ask.seed, ..l.load.clone() };
        steps.add(&[on], measure(ask, &l.name(), load, at));
    }
    for set in &suite.files {
        let seed = ask.seed.wrapping_add(u64::from(at.0));
        for files in Files::both(*set, seed, None, ask.values.get(&options::RUNTIME) * FILL_LOADS) {
            steps.add(&[on], files);
        }
    }
}

/// The suite that was asked for, if its loads can be done on each layout.
fn suite(ask: &Request, drives: &[Target]) -> Result<Suite, PlanError> {
    if ask.values.get(&options::QUICK) {
        return Ok(Suite::default());
    }
    let suite = ask.suite.clone().unwrap_or_else(Suite::nas);
    let size = ask.values.get(&options::SIZE);
    let no =
        |why: String| PlanError::Options(format!("suite {} can't be used for layouts: {why}", suite.name));
    for l in &suite.loads {
        if l.load.caching != Caching::Direct {
            return Err(no(format!("{} goes through the page cache", l.name())));
        }
        if l.load.block * u64::from(l.load.streams) > size / 4 {
            return Err(no(format!("{} needs more than a quarter of --size", l.name())));
        }
        drives.iter().try_for_each(|target| aligned(target, &l.load))?;
    }
    // Half of a drive is for the file of the loads and what a filesystem needs.
    match suite.files.iter().find(|set| set.on_disk() > size / 4) {
        Some(set) => Err(no(format!("{} need more than a quarter of --size", set.describe()))),
        None => Ok(suite),
    }
}

fn load(ask: &Request, direction: Direction, pattern: Pattern, block: u64) -> Load {
    Load::new(direction, pattern, block, Caching::Direct, ask.seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Drive;

    #[test]
    fn drives_behind_one_of_several_hubs_are_measured_at_once() {
        let behind = |hub: Option<&str>| Target {
            drives: vec![Drive { upstream: hub.map(str::to_owned), ..Drive::default() }],
            ..Target::default()
        };
        let hubs = |upstream: &[Option<&str>]| {
            let targets: Vec<Target> = upstream.iter().map(|hub| behind(*hub)).collect();
            super::hubs(&targets)
        };
        let (a, b, c) = (Some("usb-1"), Some("usb-2"), Some("sata"));
        assert_eq!(hubs(&[a, b, a, b, c]), [[0, 2], [1, 3]]);
        assert_eq!(hubs(&[a, a, c]), [[0, 1]]);
        assert!(hubs(&[a, a, a]).is_empty(), "that is all of them");
        assert!(hubs(&[None, None, a]).is_empty(), "what they are behind is not known");
    }
}
