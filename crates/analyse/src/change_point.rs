//! The time at which a drive's speed changed, in a series of runs over months.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{
    Estimate,
    estimate::FLOOR,
    interval::{correlation, deviation},
};

/// The least runs of a series, and on each side of a change.
const LEAST: usize = 8;
const SIDE: usize = 3;
/// The share of series without a change in which one is found.
const LEVEL: f64 = 0.01;
/// The standard deviation between runs of a drive that is never assumed to be less.
const BETWEEN_RUNS: f64 = FLOOR / 2.0;

/// A change of speed from one level to another.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePoint {
    /// Position of the first run at the new speed: the most likely one, and the ends of its 95 % interval.
    pub first: usize,
    pub range: [usize; 2],
    /// The new speed as a multiple of the old one.
    pub ratio: Estimate,
}

/// A run with the logarithm of its speed.
#[derive(Clone, Copy)]
struct Run {
    day: f64,
    speed: f64,
    weight: f64,
}

/// The most likely change of level in a series of days and speeds, if it is significant. Runs without an interval are left out.
///
/// Two levels are fitted to the logarithms by weighted least squares. The test is Student's, with the scatter of runs around
/// both levels, and with Bonferroni's correction for all positions. Where a run resembles the one before, fewer runs count
/// (Bayley and Hammersley, J. R. Stat. Soc. Suppl. 8, 1946). A series that a straight line fits better (Schwarz, Ann. Stat. 6,
/// 1978) changed slowly, which has no date. Positions are weighed by their likelihood.
pub fn change_point(series: &[(f64, Estimate)]) -> Option<ChangePoint> {
    let is_known = |&at: &usize| {
        let (day, speed) = &series[at];
        speed.is_bounded() && speed.value.is_normal() && day.is_finite()
    };
    let known: Vec<usize> = (0..series.len()).filter(is_known).collect();
    if known.len() < LEAST {
        return None;
    }
    let runs = weighted(&known.iter().map(|&at| &series[at]).collect::<Vec<_>>());
    let positions = SIDE..runs.len() + 1 - SIDE;
    let levels = |at: usize| squares(&runs[..at], speed) + squares(&runs[at..], speed);
    let squares_at: Vec<f64> = positions.clone().map(levels).collect();
    let best = squares_at.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?.0;
    let (first, least) = (SIDE + best, squares_at[best]);
    let (before, after) = runs.split_at(first);
    let (old, new) = (mean(before, speed), mean(after, speed));

    let level = |at: usize| if at < first { old } else { new };
    let residual = |(at, run): (usize, &Run)| (run.speed - level(at)) * run.weight.sqrt();
    let correlation = correlation(&runs.iter().enumerate().map(residual).collect::<Vec<_>>());
    let repeats = (1.0 + correlation) / (1.0 - correlation);
    let n = runs.len() as f64;
    let degrees = n - 2.0;
    let student = StudentsT::new(0.0, 1.0, degrees).ok()?;
    let variance = least.max(weight(&runs) * BETWEEN_RUNS.powi(2)) / degrees * repeats;
    let all = squares(&runs, speed);
    let t = ((all - least).max(0.0) / variance).sqrt();
    let slope =
        products(&runs, |run| run.day, speed).powi(2) / squares(&runs, |run| run.day).max(f64::MIN_POSITIVE);
    let is_found = 2.0 * student.sf(t) * positions.len() as f64 <= LEVEL;
    if !is_found || least >= (all - slope) * n.powf(-1.0 / n) {
        return None;
    }

    let likelihood =
        |squares: &f64| (1.0 + (squares - least) / (degrees * variance)).powf(-(degrees + 1.0) / 2.0);
    let mut likelihoods: Vec<(f64, usize)> = squares_at.iter().map(likelihood).zip(positions).collect();
    likelihoods.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut rest = 0.95 * likelihoods.iter().map(|(likelihood, _)| likelihood).sum::<f64>();
    let mut range = [first; 2];
    for (likelihood, at) in likelihoods {
        if rest > 0.0 {
            range = [range[0].min(at), range[1].max(at)];
        }
        rest -= likelihood;
    }
    let error = (variance * (weight(before).recip() + weight(after).recip())).sqrt();
    let half = student.inverse_cdf(0.975) * error;
    let ends = [new - old - half, new - old + half].map(f64::exp);
    let ratio = Estimate::new((new - old).exp(), ends, format!("two levels of {n} runs"), true);
    Some(ChangePoint { first: known[first], range: range.map(|at| known[at]), ratio })
}

fn weighted(series: &[&(f64, Estimate)]) -> Vec<Run> {
    // The variance includes that of a step, so no run counts much more than others.
    let between = deviation(&series.iter().map(|(_, speed)| speed.value.ln()).collect::<Vec<_>>()).powi(2);
    let run = |(day, speed): &&(f64, Estimate)| {
        let within = ((speed.high / speed.low).ln() / 2.0 / 1.96).max(BETWEEN_RUNS);
        Run { day: *day, speed: speed.value.ln(), weight: 1.0 / (between + within.powi(2)) }
    };
    series.iter().map(run).collect()
}

fn speed(run: &Run) -> f64 {
    run.speed
}

fn weight(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.weight).sum()
}

fn mean(runs: &[Run], of: fn(&Run) -> f64) -> f64 {
    runs.iter().map(|run| run.weight * of(run)).sum::<f64>() / weight(runs)
}

/// The weighted products of two quantities around their means.
fn products(runs: &[Run], x: fn(&Run) -> f64, y: fn(&Run) -> f64) -> f64 {
    let (middle, level) = (mean(runs, x), mean(runs, y));
    runs.iter().map(|run| run.weight * (x(run) - middle) * (y(run) - level)).sum()
}

fn squares(runs: &[Run], of: fn(&Run) -> f64) -> f64 {
    products(runs, of, of)
}
