//! Analysis of variance of a Latin square: how much of the differences is due to things, to places, or to chance.
//!
//! Every thing is in every place equally often, so the effects of thing, place and round are separate. Whether
//! there is an effect is tested by permutation: the design was drawn at random, so if places have no
//! effect, a thing's values could have come in any order. That is exact if nothing else affects all values of a round,
//! and nearly exact otherwise (see the tests).

mod design;

use rand::{Rng, RngCore, SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::function::{beta::beta_reg, gamma::ln_gamma};

pub use design::{Arrangement, balanced, draw, rounds};

use super::{Estimate, interval::student_of};

#[derive(Debug, Clone, PartialEq)]
pub struct Crossed {
    pub things: Factor,
    pub places: Factor,
    /// The p-value of the test that neither things nor places differ.
    pub p: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    pub share: Estimate,
    /// Each level as a multiple of the median of all; of two, as a multiple of the other. The intervals hold simultaneously at 95 %.
    pub levels: Vec<Estimate>,
    /// The p-value of the differences among them.
    pub p: f64,
    /// The smallest `p` that the design can give.
    pub least: f64,
    /// Whether they differ: both this test and that of both factors together are significant. This closed testing procedure
    /// reports a difference that doesn't exist in at most 5 % of all experiments.
    pub differ: bool,
}

const ALPHA: f64 = 0.05;
/// Random permutations, if there are too many to try all.
const TRIES: u32 = 9_999;
/// The random seed is fixed, so that a record always gives the same result.
const SEED: u64 = 0x5eed;

impl Crossed {
    /// `values` of each thing in each arrangement; they are positive and compared as ratios. `None` if all are equal, or
    /// unless every thing stood in every place equally often and there are three arrangements or more.
    pub fn of(design: &[Arrangement], values: &[Vec<f64>]) -> Option<Self> {
        Self::with(design, values, TRIES)
    }

    fn with(design: &[Arrangement], values: &[Vec<f64>], tries: u32) -> Option<Self> {
        let (t, n) = (design.len(), design.first()?.len());
        let whole = values.len() == t && values.iter().all(|row| row.len() == n) && balanced(design);
        let positive = values.iter().flatten().all(|v| *v > 0.0 && v.is_finite());
        if n < 2 || t < 3 || !whole || !positive {
            return None;
        }
        let logs: Vec<Vec<f64>> = values.iter().map(|row| row.iter().map(|v| v.ln()).collect()).collect();
        let mean = logs.iter().flatten().sum::<f64>() / (t * n) as f64;
        // Remove the effect of the round first: it is common to all values of an arrangement.
        let moments: Vec<f64> = logs.iter().map(|row| row.iter().sum::<f64>() / n as f64 - mean).collect();
        let centred = |(row, m): (&Vec<f64>, &f64)| row.iter().map(|v| v - m - mean).collect();
        let by_thing: Vec<Vec<f64>> = logs.iter().zip(&moments).map(centred).collect();
        let by_place: Vec<Vec<f64>> = design.iter().zip(&by_thing).map(|(a, row)| turned(a, row)).collect();
        let (things, places) = (column_sums(&by_thing), column_sums(&by_place));
        let total: f64 = by_thing.iter().flatten().map(|v| v * v).sum();
        if total < 1e-12 {
            return None;
        }
        let spread = Variance::new(n, t, total, [between(&things, t), between(&places, t)], &moments);
        let p = together(&logs, design, &spread, tries);
        let logs_by_place: Vec<Vec<f64>> = design.iter().zip(&logs).map(|(a, row)| turned(a, row)).collect();
        let home: Vec<usize> = (0..n).collect();
        let backwards: Vec<Arrangement> = design.iter().map(|a| turned(a, &home)).collect();
        let factor = |which: usize, sums: &[f64], data: &[Vec<f64>], design: &[Arrangement]| {
            let own = within(design, data, spread.f(which), tries);
            let (share, levels) = (spread.share(which), spread.levels(sums));
            Factor { share, levels, p: own, least: least(n, t / n), differ: own <= ALPHA && p <= ALPHA }
        };
        Some(Self {
            // Without an effect of things, a value belongs to the place, whichever thing was in it.
            things: factor(0, &things, &logs_by_place, &backwards),
            places: factor(1, &places, &logs, design),
            p,
        })
    }
}

/// A row by thing as a row by place.
fn turned<T: Copy>(arrangement: &[usize], row: &[T]) -> Vec<T> {
    let mut turned = row.to_vec();
    arrangement.iter().zip(row).for_each(|(&place, v)| turned[place] = *v);
    turned
}

fn column_sums(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.first().map_or(0, Vec::len)];
    rows.iter().for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v));
    sums
}

/// The sum of squares between groups of `t` values each, from the groups' sums.
fn between(sums: &[f64], t: usize) -> f64 {
    sums.iter().map(|s| s * s).sum::<f64>() / t as f64
}

/// The variance ratios of columns and of the groups of the design: their sum of squares relative to the residual without
/// columns, groups and rows.
fn ratios(design: &[Arrangement], data: &[Vec<f64>], sums: &mut [f64]) -> [f64; 2] {
    let (t, n) = (design.len(), design[0].len());
    let mean = data.iter().flatten().sum::<f64>() / (t * n) as f64;
    let squares = |sums: &[f64], each: usize| {
        sums.iter().map(|s| (s - each as f64 * mean).powi(2)).sum::<f64>() / each as f64
    };
    let total: f64 = data.iter().flatten().map(|v| (v - mean).powi(2)).sum();
    let rows: f64 = data.iter().map(|row| squares(&[row.iter().sum()], n)).sum();
    sums.fill(0.0);
    data.iter().for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v));
    let columns = squares(sums, t);
    sums.fill(0.0);
    for (arrangement, row) in design.iter().zip(data) {
        arrangement.iter().zip(row).for_each(|(&group, v)| sums[group] += v);
    }
    let groups = squares(sums, t);
    let left = (total - rows - columns - groups).max(total * 1e-9);
    [columns / left, groups / left]
}

/// Permutation p-value of `statistic`, whose observed value is `seen`; the observed arrangement is included.
fn shuffled(
    data: &[Vec<f64>],
    (seen, tries): (f64, u32),
    shuffle: impl Fn(&mut Vec<Vec<f64>>, &mut dyn RngCore),
    mut statistic: impl FnMut(&[Vec<f64>]) -> f64,
) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut data = data.to_vec();
    let mut extreme = 1;
    for _ in 0..tries {
        shuffle(&mut data, &mut random);
        extreme += u32::from(statistic(&data) >= seen * (1.0 - 1e-9));
    }
    f64::from(extreme) / f64::from(tries + 1)
}

/// The p-value of differences between groups as large as `seen`, if a column's values could have come in any group.
/// The design was drawn so that each group is equally likely at any moment.
fn within(design: &[Arrangement], data: &[Vec<f64>], seen: f64, tries: u32) -> f64 {
    let n = design[0].len();
    let mut sums = vec![0.0; n];
    let shuffle = |data: &mut Vec<Vec<f64>>, random: &mut dyn RngCore| {
        for column in 0..n {
            for i in (1..data.len()).rev() {
                let j = random.random_range(0..=i);
                let (a, b) = (data[i][column], data[j][column]);
                (data[i][column], data[j][column]) = (b, a);
            }
        }
    };
    shuffled(data, (seen, tries), shuffle, |data| ratios(design, data, &mut sums)[1])
}

/// The p-value of the hypothesis that neither things nor places differ.
fn together(data: &[Vec<f64>], design: &[Arrangement], spread: &Variance, tries: u32) -> f64 {
    let n = design[0].len();
    let mut sums = vec![0.0; n];
    let shuffle = |data: &mut Vec<Vec<f64>>, random: &mut dyn RngCore| {
        let mut all = data.concat();
        all.shuffle(random);
        data.iter_mut().zip(all.chunks_exact(n)).for_each(|(row, values)| row.copy_from_slice(values));
    };
    let largest = |data: &[Vec<f64>]| ratios(design, data, &mut sums).into_iter().fold(0.0, f64::max);
    shuffled(data, (spread.f(0).max(spread.f(1)), tries), shuffle, largest)
}

/// The smallest p-value that the permutation can give. Renaming places gives the same arrangement.
fn least(n: usize, rounds: usize) -> f64 {
    let ways = ln_gamma((n * rounds) as f64 + 1.0) - n as f64 * ln_gamma(rounds as f64 + 1.0);
    (ln_gamma(n as f64 + 1.0) - n as f64 * ways).exp().max(1.0 / f64::from(TRIES + 1))
}

/// Where the variance lies.
struct Variance {
    n: usize,
    t: usize,
    /// Sums of squares between things, between places.
    sums: [f64; 2],
    free: usize,
    /// The variance of what is left.
    error: f64,
    /// The variance between moments beyond the residual.
    moments: f64,
}

impl Variance {
    fn new(n: usize, t: usize, total: f64, sums: [f64; 2], moments: &[f64]) -> Self {
        let free = (t - 2) * (n - 1);
        // The residual may be almost zero; exactly zero would make every interval a point.
        let error = (total - sums[0] - sums[1]).max(total * 1e-9) / free as f64;
        let of_moments = n as f64 * moments.iter().map(|m| m * m).sum::<f64>();
        let moments = ((of_moments - (t - 1) as f64 * error) / (n * t) as f64).max(0.0);
        Self { n, t, sums, free, error, moments }
    }

    /// The sum of squares between things or places, as a multiple of the residual.
    fn f(&self, which: usize) -> f64 {
        self.sums[which] / (self.error * self.free as f64)
    }

    /// The variance component of things or places, without the residual.
    fn brings(&self, which: usize) -> f64 {
        ((self.sums[which] - (self.n - 1) as f64 * self.error) / (self.n * self.t) as f64).max(0.0)
    }

    fn rest(&self) -> f64 {
        self.error + self.moments
    }

    /// The share of the variance, with its interval from the noncentral F distribution.
    fn share(&self, which: usize) -> Estimate {
        let others = self.brings(1 - which) + self.rest();
        let of = |variance: f64| variance / (variance + others);
        let degrees = (self.n - 1) as f64;
        let f = self.sums[which] / degrees / self.error;
        let [low, high] = [0.975, 0.025].map(|p| {
            of(noncentrality(f, degrees, self.free as f64, p) * self.error / (self.n * self.t) as f64)
        });
        let value = of(self.brings(which));
        let how = format!("noncentral F, {} and {} degrees of freedom", self.n - 1, self.free);
        Estimate::new(value, [low.min(value), high.max(value)], how, true)
    }

    /// Each as a multiple of the median: the one that differs shifts the mean of all others, but not their median. The
    /// interval is that of the difference of two, which is wide enough.
    fn levels(&self, sums: &[f64]) -> Vec<Estimate> {
        let mut sorted = sums.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = (sorted[(self.n - 1) / 2] + sorted[self.n / 2]) / 2.0;
        // With two levels, one is as far above as the other is below, so there is one interval.
        let (several, times) = if self.n == 2 { (1, 2.0) } else { (self.n, 1.0) };
        let half = student_of(several, self.free) * (2.0 * self.error / self.t as f64).sqrt();
        let level = |sum: &f64| {
            let off = times * (sum - median) / self.t as f64;
            let how = format!("t, {} degrees of freedom, {several} at once", self.free);
            Estimate::new(off.exp(), [(off - half).exp(), (off + half).exp()], how, true)
        };
        sums.iter().map(level).collect()
    }
}

/// The noncentrality at which F with these degrees of freedom stays below `f` with probability `p`.
fn noncentrality(f: f64, between: f64, within: f64, p: f64) -> f64 {
    let x = between * f / (between * f + within);
    let below = |lambda: f64| {
        // A Poisson mixture of beta distributions, summed around its middle; each term follows from the one before.
        let (middle, b) = (lambda / 2.0, within / 2.0);
        let width = 8.0 * middle.sqrt() + 20.0;
        let first = (middle - width).max(0.0).floor();
        let mut weight =
            if middle > 0.0 { (first * middle.ln() - middle - ln_gamma(first + 1.0)).exp() } else { 1.0 };
        let mut a = between / 2.0 + first;
        let mut beta = beta_reg(a, b, x);
        let mut step =
            (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a + 1.0) - ln_gamma(b)).exp();
        let mut sum = 0.0;
        let mut j = first;
        while j <= middle + width {
            sum += weight * beta;
            beta = (beta - step).max(0.0);
            step *= x * (a + b) / (a + 1.0);
            a += 1.0;
            j += 1.0;
            weight *= middle / j;
        }
        sum
    };
    if !(x > 0.0 && x < 1.0) || below(0.0) < p {
        return 0.0;
    }
    let mut ends = (0.0, between * f + 10.0);
    while below(ends.1) > p && ends.1 < 1e7 {
        ends.1 *= 2.0;
    }
    for _ in 0..40 {
        let middle = (ends.0 + ends.1) / 2.0;
        if below(middle) > p { ends.0 = middle } else { ends.1 = middle }
    }
    (ends.0 + ends.1) / 2.0
}

#[cfg(test)]
mod tests;
