//! The options and the plan of cliff.

use super::{
    super::{
        Declared, LoadName, Opt, PlanError, Request,
        shared_options::{self as shared, ENGINE, IODEPTH, MAX_TIME, PRECISION, SEED},
        target_checks::{aligned, reach},
    },
    act::Pause,
};
use crate::{
    analyse::Rules,
    plan::{Condition, Measure, Plan, Rule, Steps},
    target::Kind,
    units::{Load, MIB},
};

/// Large enough that the processor cost of an operation hardly counts.
const BS: Opt<u64> = shared::BS.default("1M");

/// Enough to fill most caches.
const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("32GiB");

const PAUSE: Opt<f64> =
    Opt::new("pause", "TIME", shared::seconds, "Pause before the drive is written again").default("60s");

pub(super) const OPTIONS: &[&dyn Declared] =
    &[&BS, &IODEPTH, &SEED, &ENGINE, &PRECISION, &MAX_TIME, &MAX_BYTES, &PAUSE];

pub(super) const WRITE: &str = "write";
pub(super) const AGAIN: &str = "write again";

/// The pause takes this share of the time at most.
const PAUSED: f64 = 0.5;
/// The first check, MiB: a cliff can't be found in fewer.
const FIRST: u64 = 128;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let why = match target.kind {
            Kind::Directory => None,
            Kind::File => Some("existing files are not overwritten; name its directory"),
            Kind::BlockDevice => Some(
                "writing to a device would erase it; name a directory on it (`drivebench run baseline` reads a disk from its beginning to its end)",
            ),
        };
        if let Some(why) = why {
            return Err(PlanError::Unsuitable { path: target.path.clone(), why: why.to_owned() });
        }
        let load = LoadName::Write.load(ask);
        load.check()?;
        aligned(target, &load)?;
        writes(&mut steps, at, ask, &load)?;
    }
    Ok(ask.planned(steps))
}

/// A write until the speed falls for good, a pause, and as much again into the rest of the file. Written blocks are not
/// overwritten, because that may have another speed. Where the pause would take most of the time, there is only the first.
fn writes(steps: &mut Steps, at: usize, ask: &Request, load: &Load) -> Result<(), PlanError> {
    let target = &ask.targets[at];
    let reach = reach(target, ask, true)?;
    let pause = ask.values.get(&PAUSE);
    let pauses = pause <= PAUSED * ask.effort.max_seconds;
    // The second write takes as long as the first at most; some of it is fast again. Without a cliff there is none.
    let [once, twice] = [0.6, 0.4].map(|share| share * (ask.effort.max_seconds - pause));
    let rules = Rules {
        fallen_seconds: pauses.then_some(once),
        first: FIRST,
        w_min: None,
        budget: reach.div_ceil(MIB),
        give_up: None,
        ..ask.effort.rules.clone()
    };
    let measure = |label: &str, rule| Measure::new(label, load.clone(), rule, reach);
    let first = Rule::Adaptive { rules: rules.clone(), bytes: reach, seconds: ask.effort.max_seconds };
    steps.add_file(at, reach, ask.effort.max_bytes);
    let of = steps.add(&[at], measure(WRITE, first));
    if pauses {
        let needs = Condition::Cliff { of };
        steps.add_if(needs, &[at], Pause { seconds: pause });
        steps.add_if(needs, &[at], measure(AGAIN, Rule::Again { of, rules, seconds: twice }));
    }
    Ok(())
}
