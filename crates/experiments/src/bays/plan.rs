//! The plan of bays.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::{
    LoadName, PlanError, Request,
    target_checks::{aligned, fits, too_small, would_erase},
};
use super::options;
use crate::{
    analyse::latin_square,
    inventory::Drive,
    plan::{AnyAct, FILL, Measure, MoveDrives, Plan, Rule, ScratchFile, Steps},
    target::{Kind, Target},
    units::Load,
};

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let targets = ask.targets.iter().map(movable).collect::<Result<Vec<_>, _>>()?;
    let drives: Vec<&Drive> = targets.iter().flat_map(|t| t.drives.first()).collect();
    if drives.len() < 2 {
        return Err(PlanError::TooFew { experiment: "bays", least: 2 });
    }
    for (at, drive) in drives.iter().enumerate() {
        if let Some(first) = drives[..at].iter().position(|d| d.identity() == drive.identity()) {
            let ([a, b], drive) = ([first, at].map(|at| &targets[at].given), &drive.name);
            let why = format!("{a} and {b} are on one drive ({drive}): name drives in different bays");
            return Err(PlanError::Options(why));
        }
    }
    for (target, drive) in targets.iter().zip(&drives) {
        alike(target, drives[0], drive)?;
    }
    let n = targets.len();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(ask.seed);
    let rounds = ask.values.typed(&options::RUNS).map_or(latin_square::rounds(n), |runs| runs as usize);
    let design = latin_square::draw(n, rounds, &mut random);
    let bays: Vec<String> = drives.iter().map(|d| d.full_bay()).collect();
    let each = targets.iter().map(|t| loads(t, ask, design.len())).collect::<Result<Vec<_>, _>>()?;
    let mut steps = Steps::default();
    let all: Vec<usize> = (0..n).collect();
    for (number, arrangement) in (1..).zip(&design) {
        let bays = arrangement.iter().map(|&b| bays[b].clone()).collect();
        steps.add(&all, MoveDrives { number, bays });
        // A drift within an arrangement should not favour the same drive every time.
        let mut order = all.clone();
        order.shuffle(&mut random);
        for target in order {
            for act in &each[target] {
                match act.get::<Measure>() {
                    Some(m) => steps.add(&[target], Measure { repetition: number, ..m.clone() }),
                    None => steps.add(&[target], act.clone()),
                };
            }
        }
    }
    Ok(Plan { targets, ..ask.planned(steps) })
}

/// What is measured in every bay: a file where a directory was named, else the whole drive.
fn movable(target: &Target) -> Result<Target, PlanError> {
    let no = |why: &str| PlanError::Unsuitable { path: target.path.clone(), why: why.to_owned() };
    if !target.layers.is_empty() || target.drives.len() > 1 {
        return Err(no("it spans several drives or a layer above a drive; name one drive"));
    }
    let by_path = target.given.contains('/');
    let target = match target.kind {
        Kind::File => return Err(no("it is a file; name its directory, or the drive")),
        Kind::Directory if by_path && target.mount.is_some() => target.clone(),
        Kind::Directory | Kind::BlockDevice => {
            target.whole_drive().ok_or_else(|| no("it is not on a known drive"))?
        }
    };
    match target.drives.first().and_then(|drive| drive.unique_id()) {
        Some(_) => Ok(target),
        None => {
            Err(no("it is on no drive with a serial of its own, so it could not be found again after a move"))
        }
    }
}

/// Whether both drives fit into each other's bays, and their bays have the same names.
fn alike(target: &Target, first: &Drive, drive: &Drive) -> Result<(), PlanError> {
    // The two generations of USB number the same port differently.
    let generation = |d: &Drive| Some(d.controller.as_deref()?.rsplit_once("-usbv")?.1.to_owned());
    let bus = |d: &Drive| match (&d.bus, generation(d)) {
        (Some(bus), Some(generation)) => format!("{bus} (USB {generation})"),
        (bus, _) => bus.clone().unwrap_or_else(|| "an unknown bus".to_owned()),
    };
    if bus(first) != bus(drive) {
        let why = format!("it is on {}, but {} is on {}", bus(drive), first.label(), bus(first));
        return Err(PlanError::Unsuitable { path: target.path.clone(), why });
    }
    Ok(())
}

/// The acts on a target in each of `times` arrangements: the same bytes at the same offsets. No rule stops them early,
/// because the interval comes from all arrangements, not from one measurement.
fn loads(target: &Target, ask: &Request, times: usize) -> Result<Vec<AnyAct>, PlanError> {
    let files = target.kind == Kind::Directory;
    let usual: &[LoadName] = if files { &[LoadName::Write, LoadName::Read] } else { &[LoadName::Read] };
    let names = ask.loads.as_deref().unwrap_or(usual);
    let share = ask.effort.max_bytes / times as u64 / ask.block * ask.block;
    if share == 0 {
        return Err(PlanError::Budget { bytes: ask.effort.max_bytes / times as u64, block: ask.block });
    }
    let bytes = if files {
        share.min(fits(target, share)?)
    } else {
        let size = target.size.unwrap_or(0);
        if size < ask.block {
            return Err(too_small(target, ask.block));
        }
        share.min(size / ask.block * ask.block)
    };
    let fills = files && names.first() != Some(&LoadName::Write);
    let seconds = ask.effort.max_seconds / (times * (names.len() + usize::from(fills))) as f64;
    let measure = |label: &str, load: Load, name: LoadName| Measure {
        only_written: files && name != LoadName::Write,
        cold: !load.writes() && load.caching != crate::units::Caching::Direct,
        ..Measure::new(label, load, Rule::Fixed { bytes, seconds: Some(seconds) }, bytes)
    };
    let mut acts: Vec<AnyAct> = Vec::new();
    if files {
        acts.push(ScratchFile { bytes }.into());
    }
    if fills {
        acts.push(measure(FILL, LoadName::Write.load(ask), LoadName::Write).into());
    }
    for name in names {
        let load = name.load(ask);
        load.check()?;
        aligned(target, &load)?;
        if load.writes() && !files {
            return Err(would_erase(target));
        }
        acts.push(measure(name.name(), load, *name).into());
    }
    Ok(acts)
}
