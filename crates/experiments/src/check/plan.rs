//! The plan of check: a sequential and a random read, in short rounds spread over each drive.

use super::super::{PlanError, Request, rounds::Rounds, target_checks::reach};
use crate::{
    plan::{Measure, Plan, Steps, TimeLimit},
    units::{Caching, Direction, KIB, Load, MIB, Pattern},
};

/// The rounds of each load.
pub(super) const ROUNDS: u32 = 7;
/// The loads of each drive.
pub(super) const LOADS: usize = 2;
/// How long a round takes, and the most on a slow medium, s.
const SECONDS: f64 = 0.65;
const LONGEST: f64 = 1.5;
/// Most time on each drive, s.
const LIMIT: f64 = 60.0;
/// More than is read in a round.
const BYTES: u64 = 1 << 40;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let rounds = Rounds::fixed(ROUNDS, SECONDS, LONGEST);
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let small = (4 * KIB).max(u64::from(target.direct_alignment));
        let whole = reach(target, &Request { block: MIB, ..ask.clone() }, false)?;
        let load = |pattern, block| {
            let load = Load::new(Direction::Read, pattern, block, Caching::Direct, ask.seed);
            Measure::new(&load.short_name(), load, rounds.rule(BYTES, block), whole)
        };
        let on: &[usize] = &[at];
        let loads = [load(Pattern::Sequential, MIB), load(Pattern::Random, small)];
        rounds.add(&mut steps, &loads.map(|load| (on, load)), ask.seed);
    }
    let limit = Some(TimeLimit { seconds: LIMIT, together: false });
    Ok(Plan { limit, ..ask.planned(steps) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Values,
        check::CHECK,
        target::{Kind, Target},
    };

    #[test]
    fn it_only_reads_for_about_ten_seconds() {
        let target = Target {
            given: "/dev/sda".to_owned(),
            kind: Kind::BlockDevice,
            size: Some(64 << 30),
            direct_alignment: 512,
            ..Target::default()
        };
        let ask = Request::new(&CHECK, vec![target], Values::default()).expect("no suite");
        let plan = CHECK.plan(&ask).expect("plans");
        let measures: Vec<&Measure> = plan.measures().map(|(_, measure)| measure).collect();
        assert_eq!(measures.len(), ROUNDS as usize * LOADS);
        assert!(measures.iter().all(|m| !m.load.writes() && m.reach == 64 << 30));
        assert!((SECONDS * measures.len() as f64 - 9.1).abs() < 0.01);
        let cost = plan.cost(0);
        assert!(cost.written == 0 && cost.seconds.is_some_and(|seconds| seconds < 25.0), "{cost:?}");
    }
}
