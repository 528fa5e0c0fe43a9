//! Series of runs over months of 20 kinds, simulated with fixed seeds: how often a change is found, and how often it is true.
//! The kinds and what is wanted of them were written before the rule.

use rand::{Rng, SeedableRng};
use rand_distr::{StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Estimate, estimate::FLOOR};

/// How runs of one drive differ, and how its speed changes meanwhile. Speeds are logarithms.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    runs: usize,
    /// The standard deviation between runs.
    scatter: f64,
    /// The correlation of one run with the next.
    memory: f64,
    /// Scatter has the tails of Student's t with 3 degrees of freedom.
    tails: bool,
    /// A run, from the end where negative, that is half as fast.
    outlier: Option<isize>,
    /// The speed falls by this share from the first to the last run, evenly over time.
    decline: f64,
    /// The speed at the end, as a multiple of that at the beginning; the change is anywhere, or at this share of the runs.
    step: f64,
    at: Option<f64>,
    /// The speed returns after as many runs as before the step.
    returns: bool,
}

const STEADY: Kind = Kind {
    name: "steady",
    runs: 20,
    scatter: 0.005,
    memory: 0.0,
    tails: false,
    outlier: None,
    decline: 0.0,
    step: 1.0,
    at: None,
    returns: false,
};
const SCATTER: Kind = Kind { name: "scatter 5 %", scatter: 0.05, ..STEADY };
const STEP: Kind = Kind { name: "step 20 %", step: 0.8, ..SCATTER };

/// A kind with the shares of its series in which a change is found, least and most; of these, the least shares whose intervals
/// hold the time and the size.
type Wanted = (Kind, [f64; 2], [f64; 2]);

const KINDS: [Wanted; 20] = [
    (STEADY, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "steady, 8 runs", runs: 8, ..STEADY }, [0.0, 0.02], [0.0; 2]),
    (SCATTER, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "scatter 5 %, 100 runs", runs: 100, ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "scatter 15 %", scatter: 0.15, ..STEADY }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "one outlier", outlier: Some(9), ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "last run an outlier", outlier: Some(-1), ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "heavy tails", tails: true, ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "step 10 %, middle", step: 0.9, at: Some(0.5), ..SCATTER }, [0.0, 1.0], [0.9, 0.0]),
    (Kind { name: "step 10 %", step: 0.9, ..SCATTER }, [0.0, 1.0], [0.0; 2]),
    (Kind { name: "step 20 %, middle", at: Some(0.5), ..STEP }, [0.95, 1.0], [0.9; 2]),
    (STEP, [0.95, 1.0], [0.9; 2]),
    (Kind { name: "20 % faster", step: 1.25, ..STEP }, [0.95, 1.0], [0.9; 2]),
    (Kind { name: "step 40 %", step: 0.6, ..STEP }, [0.99, 1.0], [0.9; 2]),
    (Kind { name: "step 40 %, 8 runs", step: 0.6, runs: 8, ..STEP }, [0.0, 1.0], [0.9; 2]),
    (Kind { name: "step 20 %, heavy tails", tails: true, ..STEP }, [0.0, 1.0], [0.9, 0.0]),
    (Kind { name: "20 % slower and back", at: Some(0.33), returns: true, ..STEP }, [0.0, 1.0], [0.0; 2]),
    (Kind { name: "slow decline by 20 %", decline: 0.2, ..SCATTER }, [0.0, 1.0], [0.0; 2]),
    (Kind { name: "correlated, 0.5", memory: 0.5, ..SCATTER }, [0.0, 1.0], [0.0; 2]),
    (Kind { name: "correlated, 0.8", memory: 0.8, ..SCATTER }, [0.0, 1.0], [0.0; 2]),
];

/// Days and speeds of a series, and the position of the first run after its step.
fn series(kind: &Kind, random: &mut Xoshiro256PlusPlus) -> (Vec<(f64, Estimate)>, usize) {
    let normal = |random: &mut Xoshiro256PlusPlus| -> f64 { random.sample(StandardNormal) };
    let first = match kind.at {
        Some(share) => (share * kind.runs as f64).round() as usize,
        None => random.random_range(3..=kind.runs - 3),
    };
    let (mut day, mut wander) = (0.0, normal(random));
    let heavy = StudentT::new(3.0).expect("degrees of freedom");
    let run = |at: usize| {
        // A day to six weeks from one run to the next.
        day += random.random_range(0.0f64..3.8).exp();
        wander = kind.memory * wander + (1.0 - kind.memory.powi(2)).sqrt() * normal(random);
        let between = if kind.tails { random.sample::<f64, _>(heavy) / 3.0f64.sqrt() } else { wander };
        // Half-widths of 1 to 8 % within a run.
        let within = 0.01 * random.random_range(0.0f64..8.0f64.ln()).exp();
        let is_after = at >= first && !(kind.returns && at >= 2 * first);
        let is_outlier = kind.outlier.is_some_and(|o| o.rem_euclid(kind.runs as isize) as usize == at);
        let level = if is_after { kind.step } else { 1.0 } * if is_outlier { 0.5 } else { 1.0 };
        let speed = level.ln() + kind.scatter * between + within / 1.96 * normal(random);
        let value = 1e8 * speed.exp();
        let half = within.hypot(FLOOR);
        (day, Estimate::new(value, [value * (1.0 - half), value * (1.0 + half)], "", true))
    };
    let mut runs: Vec<(f64, Estimate)> = (0..kind.runs).map(run).collect();
    let days = [runs[0].0, runs[kind.runs - 1].0];
    for (day, speed) in &mut runs {
        let factor = (1.0 - kind.decline).powf((*day - days[0]) / (days[1] - days[0]));
        *speed = Estimate::new(speed.value * factor, [speed.low * factor, speed.high * factor], "", true);
    }
    (runs, first)
}

#[test]
fn kinds_are_what_they_are_called() {
    for (kind, ..) in &KINDS {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
        let all: Vec<_> = (0..400).map(|_| series(kind, random)).collect();
        let mean = |last: bool| {
            let at = |runs: &[(f64, Estimate)]| runs[if last { kind.runs - 1 } else { 0 }].1.value.ln();
            all.iter().map(|(runs, _)| at(runs)).sum::<f64>() / all.len() as f64
        };
        let step = if kind.returns { 1.0 } else { kind.step };
        let half = if kind.outlier == Some(-1) { 0.5 } else { 1.0 };
        let expected = (step * (1.0 - kind.decline) * half).ln();
        let seen = mean(true) - mean(false);
        let error = (2.0 * kind.scatter.hypot(0.02).powi(2) / all.len() as f64).sqrt();
        assert!((seen - expected).abs() < 4.0 * error, "{}: {seen}, not {expected}", kind.name);
    }
}
