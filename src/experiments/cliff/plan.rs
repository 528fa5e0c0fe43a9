//! The plan of cliff.

use super::super::{
    LoadName, PlanError, Request,
    target_checks::{aligned, reach},
};
use super::options;
use crate::{
    analyse::Rules,
    plan::{Condition, Measure, Pause, Plan, Rule, Steps},
    target::{Kind, Target},
    units::{Load, MIB},
};

pub(super) const WRITE: &str = "write";
pub(super) const AGAIN: &str = "write again";
pub(super) const SWEEP: &str = "read";

/// The first check, MiB: a cliff can't be found in fewer.
const FIRST: u64 = 128;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let name = if target.kind == Kind::Directory { LoadName::Write } else { LoadName::Read };
        let load = name.load(ask);
        load.check()?;
        aligned(target, &load)?;
        match target.kind {
            Kind::Directory => writes(&mut steps, at, ask, &load)?,
            Kind::BlockDevice if target.rotates() => {
                let (precision, seconds) = (ask.effort.rules.precision, ask.effort.max_seconds);
                let rule = Rule::Zones { precision, seconds };
                steps.add(&[at], Measure::new(SWEEP, load, rule, reach(target, ask, false)?));
            }
            kind => return Err(unsuitable(target, kind)),
        }
    }
    Ok(ask.planned(steps))
}

/// A write until the speed falls for good, a pause, and as much again into the rest of the file. Written blocks are not
/// overwritten, because that may have another speed.
fn writes(steps: &mut Steps, at: usize, ask: &Request, load: &Load) -> Result<(), PlanError> {
    let target = &ask.targets[at];
    let reach = reach(target, ask, true)?;
    let pause = ask.values.get(&options::PAUSE);
    // The second write takes as long as the first at most; some of it is fast again.
    let seconds = (ask.effort.max_seconds - pause).max(1.0);
    let rules = Rules {
        first: FIRST,
        w_min: None,
        budget: reach.div_ceil(MIB),
        give_up: None,
        ..ask.effort.rules.clone()
    };
    let measure = |label: &str, rule| Measure::new(label, load.clone(), rule, reach);
    let first = Rule::Adaptive { rules: rules.clone(), bytes: reach, seconds: seconds * 0.6 };
    steps.add_file(at, reach, ask.effort.max_bytes);
    let of = steps.add(&[at], measure(WRITE, first));
    let needs = Condition::Cliff { of };
    steps.add_if(needs, &[at], Pause { seconds: pause });
    steps.add_if(needs, &[at], measure(AGAIN, Rule::Again { of, rules, seconds: seconds * 0.4 }));
    Ok(())
}

fn unsuitable(target: &Target, kind: Kind) -> PlanError {
    let why = match kind {
        Kind::File => "existing files are not overwritten; name its directory",
        _ => {
            "writing to a device would erase it, and only rotating disks are read for speed over position; name a \
              directory on it"
        }
    };
    PlanError::Unsuitable { path: target.path.clone(), why: why.to_owned() }
}
