//! Series of runs over months of 21 kinds, simulated with fixed seeds: how often a change is found, and how often it is true.
//! All kinds but the last were written before the rule, with what was wanted of the rule where the table says 0.95, 0.9 or 0.02.

use rand::{Rng, SeedableRng};
use rand_distr::{StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{ChangePoint, Estimate, change_point, estimate::FLOOR};

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
    /// A second step after as many runs as before the first one, as a multiple of the speed at the beginning.
    second: Option<f64>,
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
    second: None,
};
const SCATTER: Kind = Kind { name: "scatter 5 %", scatter: 0.05, ..STEADY };
const STEP: Kind = Kind { name: "step 20 %", step: 0.8, ..SCATTER };

/// A kind with the shares of its series in which a change is found, least and most; of these, the least shares whose intervals
/// hold the time and the size.
type Wanted = (Kind, [f64; 2], [f64; 2]);

const KINDS: [Wanted; 21] = [
    (STEADY, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "steady, 8 runs", runs: 8, ..STEADY }, [0.0, 0.02], [0.0; 2]),
    (SCATTER, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "scatter 5 %, 100 runs", runs: 100, ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "scatter 15 %", scatter: 0.15, ..STEADY }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "one outlier", outlier: Some(9), ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "last run an outlier", outlier: Some(-1), ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "heavy tails", tails: true, ..SCATTER }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "step 10 %, middle", step: 0.9, at: Some(0.5), ..SCATTER }, [0.45, 1.0], [0.9; 2]),
    (Kind { name: "step 10 %", step: 0.9, ..SCATTER }, [0.35, 1.0], [0.9; 2]),
    (Kind { name: "step 20 %, middle", at: Some(0.5), ..STEP }, [0.95, 1.0], [0.9; 2]),
    (STEP, [0.95, 1.0], [0.9; 2]),
    (Kind { name: "20 % faster", step: 1.25, ..STEP }, [0.95, 1.0], [0.9; 2]),
    (Kind { name: "step 40 %", step: 0.6, ..STEP }, [0.99, 1.0], [0.9; 2]),
    (Kind { name: "step 40 %, 8 runs", step: 0.6, runs: 8, ..STEP }, [0.95, 1.0], [0.9; 2]),
    (Kind { name: "step 20 %, heavy tails", tails: true, ..STEP }, [0.95, 1.0], [0.9; 2]),
    (Kind { name: "20 % slower and back", at: Some(0.33), second: Some(1.0), ..STEP }, [0.0, 0.02], [0.0; 2]),
    (Kind { name: "slow decline by 20 %", decline: 0.2, ..SCATTER }, [0.0, 0.15], [0.0; 2]),
    (Kind { name: "correlated, 0.5", memory: 0.5, ..SCATTER }, [0.0, 0.07], [0.0; 2]),
    (Kind { name: "correlated, 0.8", memory: 0.8, ..SCATTER }, [0.0, 0.2], [0.0; 2]),
    (Kind { name: "20 % slower, twice", at: Some(0.33), second: Some(0.64), ..STEP }, [0.0, 1.0], [0.0; 2]),
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
        let steps = [(first, Some(kind.step)), (2 * first, kind.second)];
        let step = steps.iter().filter(|(from, _)| at >= *from).filter_map(|(_, step)| *step).next_back();
        let is_outlier = kind.outlier.is_some_and(|o| o.rem_euclid(kind.runs as isize) as usize == at);
        let level = step.unwrap_or(1.0) * if is_outlier { 0.5 } else { 1.0 };
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
        let step = kind.second.unwrap_or(kind.step);
        let half = if kind.outlier == Some(-1) { 0.5 } else { 1.0 };
        let expected = (step * (1.0 - kind.decline) * half).ln();
        let seen = mean(true) - mean(false);
        let error = (2.0 * kind.scatter.hypot(0.02).powi(2) / all.len() as f64).sqrt();
        assert!((seen - expected).abs() < 4.0 * error, "{}: {seen}, not {expected}", kind.name);
    }
}

#[test]
fn changes_are_found_where_they_are() {
    const SERIES: usize = 1000;
    for (kind, [least, most], [times, sizes]) in &KINDS {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(2);
        let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
        let all = (0..SERIES).map(|_| series(kind, random));
        let found: Vec<(ChangePoint, usize)> =
            all.filter_map(|(runs, first)| Some((change_point(&runs)?, first))).collect();
        let holds = |is: &dyn Fn(&ChangePoint, usize) -> bool| {
            share(found.iter().filter(|(change, first)| is(change, *first)).count(), found.len())
        };
        let in_time = holds(&|change, first| (change.range[0]..=change.range[1]).contains(&first));
        let in_size = holds(&|change, _| (change.ratio.low..=change.ratio.high).contains(&kind.step));
        let part = share(found.len(), SERIES);
        assert!((*least..=*most).contains(&part), "{}: found in {part}", kind.name);
        assert!(in_time >= *times && in_size >= *sizes, "{}: {in_time} {in_size}", kind.name);
    }
}

#[test]
fn runs_without_an_interval_are_left_out() {
    let run = |at: usize| {
        let value = if at < 6 { 100e6 } else { 70e6 };
        (at as f64, Estimate::new(value, [0.95 * value, 1.05 * value], "", true))
    };
    let mut runs: Vec<(f64, Estimate)> = (0..12).map(run).collect();
    let found = change_point(&runs).expect("a change");
    assert_eq!((found.first, found.range), (6, [6, 6]));
    assert!(
        found.ratio.low > 0.67 && found.ratio.high < 0.73 && (found.ratio.value - 0.7).abs() < 1e-9,
        "{found:?}"
    );
    runs.insert(2, (1.5, Estimate::unbounded(1.0, "")));
    assert_eq!(change_point(&runs).map(|found| found.first), Some(7));
    runs[3].0 = f64::INFINITY;
    assert!(change_point(&runs).is_some());
    assert_eq!(change_point(&runs[5..]), None, "too few before it");
    assert_eq!(change_point(&[]), None);
}
