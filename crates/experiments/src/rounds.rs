//! Loads in rounds: each once a round, for a short time, in random order, so that what else a drive does falls on all of them alike.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Request, shared_options as shared};
use crate::{
    analyse::rounds::LEAST,
    plan::{Condition, Measure, Plan, Rule, ScratchFile, Step, Steps},
    units::distinct,
};

/// How long a load is measured in a round, s, and the most on a medium that answers few operations.
const SECONDS: f64 = 1.3;
const LONGEST: f64 = 8.0;
/// The least where little time was given.
const SHORTEST: f64 = 0.2;
/// The most rounds that time makes: where there is more, they are longer. Each is a step of the plan.
const MOST_ROUNDS: f64 = 1000.0;
/// Overhead of a round of a load, s.
const START: f64 = 0.05;
const USUAL: u32 = 7;
const QUICK: u32 = 5;
const PRECISION: f64 = 0.1;
/// Limit of the rounds for a higher precision, as a multiple of the usual number.
const MOST: f64 = 8.0;

/// How often each load is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rounds {
    /// In any case, and at most, if its interval is wider than `precision`.
    firm: u32,
    all: u32,
    precision: f64,
    /// Length of a round, and its limit on a medium that answers few operations, s.
    seconds: f64,
    longest: f64,
}

impl Rounds {
    /// As asked for; each load may take `seconds` in all.
    pub fn of(ask: &Request, seconds: f64) -> Self {
        let typed = ask.values.typed(&shared::PRECISION);
        let precision = typed.unwrap_or(PRECISION);
        let times = (PRECISION / precision).powi(2).ceil().clamp(1.0, MOST) as u32;
        // In little time, short rounds have an interval that one long round lacks.
        let each =
            (seconds / LEAST as f64 - START).clamp(SHORTEST, SECONDS).max(seconds / MOST_ROUNDS - START);
        let fit = ((seconds / (each + START) + 1e-9) as u32).max(1);
        let (firm, all) = match ask.values.typed(&shared::ROUNDS) {
            Some(rounds) => (rounds, rounds),
            None if ask.values.get(&shared::QUICK) => (QUICK.min(fit), QUICK.min(fit)),
            // What was given is used.
            None if ask.values.is_typed(shared::MAX_TIME.name()) && typed.is_none() => (fit, fit),
            None => ((USUAL * times).min(fit), (2 * USUAL * times).min(fit)),
        };
        Self { firm, all, precision, seconds: each, longest: LONGEST.max(each) }
    }

    /// The time limit for a target with which a plan like this one has so many rounds of each load, s.
    pub fn time_for(rounds: f64, plan: &Plan, target: usize) -> f64 {
        let is_round = |measure: &&Measure| matches!(measure.rule, Rule::Round { .. });
        let on = plan.steps.iter().filter(|step| step.is_on(target) && !step.act.is::<ScratchFile>());
        // The rounds of a load have the share of one other step.
        let label = |step: &Step| step.act.get().filter(is_round).map(|measure| measure.label.clone());
        let (loads, others): (Vec<_>, Vec<_>) = on.map(label).partition(Option::is_some);
        rounds * (SECONDS + START) * (distinct(loads).len() + others.len()) as f64
    }

    /// A fixed number of rounds of fixed length, s.
    pub fn fixed(rounds: u32, seconds: f64, longest: f64) -> Self {
        Self { firm: rounds, all: rounds, precision: PRECISION, seconds, longest }
    }

    /// The rule of a load that moves at most so many bytes in all rounds.
    pub fn rule(&self, bytes: u64, block: u64) -> Rule {
        let bytes = (bytes / u64::from(self.all) / block).max(1) * block;
        Rule::Round { bytes, seconds: self.seconds, longest: self.longest, precision: self.precision }
    }

    /// Adds all rounds of these loads, each on its targets.
    pub fn add(&self, steps: &mut Steps, loads: &[(&[usize], Measure)], seed: u64) {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut order: Vec<_> = loads.iter().collect();
        for round in 1..=self.all {
            for (on, measure) in order {
                let needs = (round > self.firm).then_some(Condition::Wide);
                steps.add_if(needs, on, Measure { repetition: round, ..measure.clone() });
            }
            order = loads.iter().collect();
            order.shuffle(random);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{BASELINE, Values, testing::directory};

    #[test]
    fn the_time_that_is_named_gives_as_many_rounds() {
        let plan = |time: Option<f64>| {
            let mut values = Values::default();
            time.into_iter().for_each(|time| values.set("max-time", &format!("{time}s")));
            let ask = Request::new(&BASELINE, vec![directory("A")], values).expect("a request");
            BASELINE.plan(&ask).expect("plans")
        };
        let rounds = |plan: &Plan| {
            let mut all = BTreeMap::new();
            for (_, measure) in plan.measures().filter(|(_, m)| matches!(m.rule, Rule::Round { .. })) {
                *all.entry(measure.label.clone()).or_insert(0) += 1;
            }
            all.into_values().collect::<Vec<u32>>()
        };
        assert_eq!(rounds(&plan(None)), [14; 6]);
        assert_eq!(rounds(&plan(Some(Rounds::time_for(40.0, &plan(None), 0).ceil()))), [40; 6]);
        assert_eq!(rounds(&plan(Some(86_400.0))), [1000; 6]);
    }
}
