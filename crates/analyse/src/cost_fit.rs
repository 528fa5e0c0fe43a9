//! Fits of additive costs: weighted least squares with Student's intervals.
//!
//! The time of an operation is a fixed cost per transfer or file plus a cost per byte. All
//! parts are costs, so a negative part is set to zero.

use super::{Estimate, interval::student};

#[derive(Debug, Clone, PartialEq)]
pub struct CostSample {
    /// The amount of each part, such as 1 transfer and 4096 bytes.
    pub parts: Vec<f64>,
    pub cost: f64,
    /// The error of the cost, in the same unit, above 0. Only ratios between rows matter.
    pub error: f64,
}

#[derive(Debug, Clone)]
pub struct CostFit {
    costs: Vec<f64>,
    /// The covariance of the costs, scaled by the scatter of the rows.
    covariance: Vec<Vec<f64>>,
    degrees: usize,
    /// The weighted residual sum of squares, with errors as standard deviations.
    pub(super) squares: f64,
}

impl CostFit {
    /// Fits the rows; `None` if there are no more rows than parts, or if they can't separate the parts.
    pub fn new(rows: &[CostSample]) -> Option<Self> {
        let parts = rows.first()?.parts.len();
        let sound = |r: &CostSample| r.parts.len() == parts && r.cost.is_finite() && r.error > 0.0;
        if !rows.iter().all(sound) {
            return None;
        }
        let mut kept: Vec<usize> = (0..parts).collect();
        let full = Self::of(rows, &kept, parts)?;
        let mut fit = full.clone();
        loop {
            let below = kept.iter().copied().filter(|&p| fit.costs[p] < 0.0);
            let Some(worst) = below.min_by(|&a, &b| fit.costs[a].total_cmp(&fit.costs[b])) else { break };
            kept.retain(|&p| p != worst);
            if kept.is_empty() {
                return None;
            }
            fit = Self::of(rows, &kept, parts)?;
        }
        // The covariance comes from the unconstrained fit.
        Some(Self { costs: fit.costs, squares: fit.squares, ..full })
    }

    /// Fits rows that scatter by the same share of their cost; ignores their `error`.
    pub fn of_shares(rows: &[CostSample]) -> Option<Self> {
        let mut rows: Vec<CostSample> =
            rows.iter().map(|r| CostSample { error: r.cost, ..r.clone() }).collect();
        // A row's own cost would be a biased weight, in favour of low costs. The fitted cost is used instead.
        for _ in 0..3 {
            let fit = Self::new(&rows)?;
            rows.iter_mut().for_each(|r| r.error = fit.at(&r.parts));
        }
        Self::new(&rows)
    }

    fn of(rows: &[CostSample], kept: &[usize], parts: usize) -> Option<Self> {
        let degrees = rows.len().checked_sub(kept.len()).filter(|d| *d > 0)?;
        // Parts of different magnitude, such as transfers and bytes, are scaled.
        let size = |&p: &usize| rows.iter().map(|r| (r.parts[p] / r.error).abs()).fold(0.0, f64::max);
        let sizes: Vec<f64> = kept.iter().map(size).collect();
        let scaled = |r: &CostSample| -> Vec<f64> {
            kept.iter().zip(&sizes).map(|(&p, size)| r.parts[p] / r.error / size).collect()
        };
        let n = kept.len();
        let mut normal = vec![vec![0.0; n]; n];
        let mut right = vec![0.0; n];
        for row in rows {
            let x = scaled(row);
            for i in 0..n {
                right[i] += x[i] * row.cost / row.error;
                (0..n).for_each(|j| normal[i][j] += x[i] * x[j]);
            }
        }
        let inverse = inverse(normal)?;
        let solution: Vec<f64> =
            inverse.iter().map(|line| line.iter().zip(&right).map(|(a, b)| a * b).sum()).collect();
        let left = |row: &CostSample| {
            let fitted: f64 = scaled(row).iter().zip(&solution).map(|(a, b)| a * b).sum();
            (row.cost / row.error - fitted).powi(2)
        };
        let squares: f64 = rows.iter().map(left).sum();
        let mut costs = vec![0.0; parts];
        let mut covariance = vec![vec![0.0; parts]; parts];
        for (i, &p) in kept.iter().enumerate() {
            costs[p] = solution[i] / sizes[i];
            for (j, &q) in kept.iter().enumerate() {
                covariance[p][q] = inverse[i][j] / sizes[i] / sizes[j] * squares / degrees as f64;
            }
        }
        Some(Self { costs, covariance, degrees, squares })
    }

    pub fn cost(&self, part: usize) -> Estimate {
        let value = self.costs[part];
        let half = student(self.degrees) * self.covariance[part][part].max(0.0).sqrt();
        self.estimate(value, (value - half).max(0.0), value + half)
    }

    /// Units of this part per cost, such as bytes per second; unbounded if the cost may be zero.
    pub fn rate(&self, part: usize) -> Estimate {
        let cost = self.cost(part);
        let over = |x: f64| if x > 0.0 { 1.0 / x } else { f64::INFINITY };
        self.estimate(over(cost.value), over(cost.high), over(cost.low))
    }

    /// How many units of one part cost as much as one unit of the other.
    pub fn ratio(&self, one: usize, other: usize) -> Estimate {
        let unit = |part: usize| -> Vec<f64> {
            (0..self.costs.len()).map(|p| f64::from(u8::from(p == part))).collect()
        };
        self.times(&unit(one), &unit(other))
    }

    /// How many times as much one amount costs as another.
    pub fn times(&self, one: &[f64], other: &[f64]) -> Estimate {
        let value = self.at(one) / self.at(other);
        if !(value > 0.0 && value.is_finite()) {
            return self.estimate(0.0, 0.0, f64::INFINITY);
        }
        // The variance of the logarithm of a ratio: relative variances minus the covariance.
        let relative = |p: &[f64], q: &[f64]| self.covariance_of(p, q) / self.at(p) / self.at(q);
        let variance = relative(one, one) + relative(other, other) - 2.0 * relative(one, other);
        let factor = (student(self.degrees) * variance.max(0.0).sqrt()).exp();
        self.estimate(value, value / factor, value * factor)
    }

    /// The predicted cost of one operation with these amounts; `error` is its own scatter, as a share of the cost.
    pub fn predict(&self, parts: &[f64], error: f64) -> Estimate {
        let value = self.at(parts);
        if value <= 0.0 {
            return self.estimate(0.0, 0.0, f64::INFINITY);
        }
        let own = (value * error).powi(2) * self.squares / self.degrees as f64;
        let variance = own + self.covariance_of(parts, parts);
        // The interval is symmetric on a logarithmic scale, so it never reaches zero.
        let factor = (student(self.degrees) * variance.max(0.0).sqrt() / value).exp();
        self.estimate(value, value / factor, value * factor)
    }

    /// The covariance of the costs of two amounts.
    fn covariance_of(&self, one: &[f64], other: &[f64]) -> f64 {
        let row = |line: &Vec<f64>| line.iter().zip(other).map(|(c, b)| c * b).sum::<f64>();
        self.covariance.iter().zip(one).map(|(line, a)| a * row(line)).sum()
    }

    pub fn at(&self, parts: &[f64]) -> f64 {
        parts.iter().zip(&self.costs).map(|(a, b)| a * b).sum()
    }

    fn estimate(&self, value: f64, low: f64, high: f64) -> Estimate {
        let how = format!("least squares, {} degrees of freedom", self.degrees);
        Estimate::new(value, [low, high], how, false)
    }
}

/// The inverse of a small symmetric matrix by elimination; `None` if it is nearly singular.
fn inverse(mut m: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = m.len();
    let mut out: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| m[a][column].abs().total_cmp(&m[b][column].abs()))?;
        m.swap(column, pivot);
        out.swap(column, pivot);
        let by = m[column][column];
        if !by.is_finite() || by.abs() < 1e-12 {
            return None;
        }
        m[column].iter_mut().for_each(|x| *x /= by);
        out[column].iter_mut().for_each(|x| *x /= by);
        for row in (0..n).filter(|&row| row != column) {
            let times = m[row][column];
            for k in 0..n {
                m[row][k] -= times * m[column][k];
                out[row][k] -= times * out[column][k];
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn row(parts: &[f64], cost: f64, error: f64) -> CostSample {
        CostSample { parts: parts.to_vec(), cost, error }
    }

    #[test]
    fn a_fitted_line_matches_the_textbook() {
        // R: x <- 1:4; y <- c(2.1, 3.9, 6.2, 7.8); confint(lm(y ~ x)): slope 1.94 ± 0.390, intercept 0.15 (below 0)
        let rows: Vec<CostSample> =
            [2.1, 3.9, 6.2, 7.8].iter().zip(1..).map(|(y, x)| row(&[1.0, f64::from(x)], *y, 1.0)).collect();
        let fit = CostFit::new(&rows).expect("fits");
        let slope = fit.cost(1);
        assert!(
            (slope.value - 1.94).abs() < 1e-9 && (slope.high - slope.value - 0.38961).abs() < 1e-4,
            "{slope:?}"
        );
        assert!((fit.cost(0).value - 0.15).abs() < 1e-9 && fit.cost(0).low == 0.0);
        assert!((fit.at(&[1.0, 10.0]) - 19.55).abs() < 1e-9);
        assert!(CostFit::new(&rows[..2]).is_none(), "no degrees of freedom");
        assert!(CostFit::new(&vec![row(&[1.0, 2.0], 3.0, 1.0); 5]).is_none(), "parts that never differ");
    }

    #[test]
    fn fitted_costs_are_not_negative() {
        let rows: Vec<CostSample> =
            (1..6).map(|x| row(&[1.0, f64::from(x)], f64::from(x) * 2.0 - 0.5, 0.1)).collect();
        let fit = CostFit::new(&rows).expect("fits");
        assert_eq!((fit.cost(0).value, fit.cost(0).low), (0.0, 0.0));
        assert!(fit.cost(1).value > 1.8 && fit.rate(1).value < 0.56);
        assert_eq!((fit.ratio(0, 1).value, fit.ratio(0, 1).high), (0.0, f64::INFINITY));
        let same = fit.times(&[5.0, 3.0], &[1.0, 3.0]);
        assert!(same.value == 1.0 && same.low < 1.0 && 1.0 < same.high, "transfers cost nothing: {same:?}");
    }

    /// 2,000 measurements of a known truth: a file costs 3 ms, bytes pass at 20 MB/s, sync 50 ms, all to within 5 %.
    #[test]
    fn fitted_costs_have_the_stated_coverage() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        let sets = [(512.0, 2.1e6), (256.0, 1.05e6), (128.0, 8.4e6), (16.0, 16.8e6), (1.0, 33.6e6)];
        let truth = |files: f64, bytes: f64| 0.05 + files * 3e-3 + bytes / 20e6;
        let (mut rate, mut each, mut mix, mut near) = (0, 0, 0, 0);
        for _ in 0..2000 {
            let mut noisy = |t: f64| t * (1.0 + 0.05 * random.sample::<f64, _>(StandardNormal));
            let rows: Vec<CostSample> = (0..15)
                .map(|i| sets[i % 5])
                .map(|(files, bytes)| (files, bytes, noisy(truth(files, bytes))))
                .map(|(files, bytes, took)| row(&[1.0, files, bytes], took, took))
                .collect();
            let fit = CostFit::of_shares(&rows).expect("fits");
            let holds = |e: &Estimate, x: f64| e.low <= x && x <= e.high;
            each += usize::from(holds(&fit.cost(1), 3e-3));
            rate += usize::from(holds(&fit.rate(2), 20e6));
            let held_out = fit.predict(&[1.0, 200.0, 200.0 * 300e3], 1.0);
            mix += usize::from(holds(&held_out, noisy(truth(200.0, 200.0 * 300e3))));
            near += usize::from((held_out.value / truth(200.0, 200.0 * 300e3) - 1.0).abs() < 0.1);
        }
        for held in [each, rate, mix] {
            assert!((1860..=1960).contains(&held), "{each} {rate} {mix} of 2000, not about 1900");
        }
        assert!(near >= 1990, "a mix that was not measured is predicted to 10 %: {near} of 2000");
    }
}
