//! How cliff plans itself.

use super::super::{
    request::{Ask, LoadName, PlanError},
    target_checks::{aligned, reach},
};
use super::options;
use crate::{
    analyse::Rules,
    plan::{Errand, Measure, Plan, Rule, Step, Task},
    target::{Kind, Target},
    units::{Load, MIB},
};

/// The first write.
pub(super) const WRITE: &str = "write";
/// Leaving the drive alone.
const PAUSE: &str = "pause";
/// The write after that.
pub(super) const AGAIN: &str = "write again";
/// The sweep over a disk.
pub(super) const SWEEP: &str = "read";

/// The first look, MiB: fewer show no cliff.
const FIRST: usize = 128;
/// FAT counts a file's bytes in 32 bits.
const FAT_FILE: u64 = (4 << 30) - 1;

pub(super) fn plan(ask: &Ask) -> Result<Plan, PlanError> {
    if ask.targets.is_empty() {
        return Err(PlanError::NoTarget);
    }
    let mut steps = Vec::new();
    for (at, target) in ask.targets.iter().enumerate() {
        let name = if target.kind == Kind::Directory { LoadName::Write } else { LoadName::Read };
        let load = name.load(ask);
        load.check()?;
        aligned(target, &load)?;
        match target.kind {
            Kind::Directory => steps.extend(writes(at, target, ask, &load)?),
            Kind::BlockDevice if target.rotates() => {
                steps.push(sweep(at, ask, load, reach(target, ask, false)?))
            }
            kind => return Err(unsuitable(target, kind)),
        }
    }
    Ok(ask.planned("cliff", steps))
}

/// A write until the speed falls for good, a pause, and as much again into the rest of the file: what was written
/// before is not written over, which may be of another speed.
fn writes(at: usize, target: &Target, ask: &Ask, load: &Load) -> Result<Vec<Step>, PlanError> {
    let fat =
        target.mount.as_ref().is_some_and(|mount| ["vfat", "msdos"].contains(&mount.filesystem.as_str()));
    let most = if fat { FAT_FILE } else { u64::MAX };
    let reach = reach(target, ask, true)?.min(most) / load.block * load.block;
    let pause = ask.values.get(&options::PAUSE);
    // The second write takes as long as the first at most; some of it is fast again.
    let seconds = (ask.effort.max_seconds - pause).max(1.0);
    let rules = Rules {
        first: FIRST,
        w_min: Rules::UNTIL_CLIFF,
        budget: reach.div_ceil(MIB) as usize,
        give_up: None,
        ..ask.effort.rules.clone()
    };
    let measure = |label: &str, rule| Measure {
        label: label.to_owned(),
        repetition: 1,
        targets: vec![at],
        load: load.clone(),
        rule,
        reach,
        only_written: false,
        cold: false,
    };
    let first = Rule::Adaptive { rules: rules.clone(), bytes: reach, seconds: seconds * 0.6 };
    let again = Rule::Again { rules, seconds: seconds * 0.4 };
    Ok(vec![
        Step::Scratch { target: at, bytes: reach },
        Step::Measure(measure(WRITE, first)),
        Step::Errand(Errand {
            label: PAUSE.to_owned(),
            repetition: 1,
            target: at,
            task: Task::Pause { seconds: pause },
        }),
        Step::Measure(measure(AGAIN, again)),
    ])
}

/// Reads at places all over a disk.
fn sweep(at: usize, ask: &Ask, load: Load, reach: u64) -> Step {
    Step::Measure(Measure {
        label: SWEEP.to_owned(),
        repetition: 1,
        targets: vec![at],
        load,
        rule: Rule::Zones { precision: ask.effort.rules.precision, seconds: ask.effort.max_seconds },
        reach,
        only_written: false,
        cold: false,
    })
}

fn unsuitable(target: &Target, kind: Kind) -> PlanError {
    let why = match kind {
        Kind::File => "an existing file is not written to; name its directory",
        _ => {
            "writing to a device would erase it, and reading one tells of position only where it rotates; name a \
              directory on it"
        }
    };
    PlanError::Unsuitable { path: target.path.clone(), why: why.to_owned() }
}
