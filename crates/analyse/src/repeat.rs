//! Repeated runs.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::{
    Estimate,
    interval::{average, deviation, student, student_of},
    stalls,
};

/// The runs that count. Values are positive; others are left out.
fn positive(runs: &[f64]) -> Vec<f64> {
    runs.iter().copied().filter(|r| r.is_finite() && *r > 0.0).collect()
}

/// The mean of whole runs with Student's interval over runs; `None` without values.
pub fn mean(runs: &[f64]) -> Option<Estimate> {
    let runs = positive(runs);
    let ends = |value: f64, half: f64| [(value - half).max(0.0), value + half];
    over_runs(1, &runs, average(&runs), "t", ends)
}

/// The geometric mean of whole runs with Student's interval over their logarithms, for results that differ by factors:
/// the interval never reaches zero. `None` without values.
pub fn typical(runs: &[f64]) -> Option<Estimate> {
    typical_of(1, runs)
}

/// The same for one of `several` results whose intervals hold simultaneously (Bonferroni).
pub fn typical_of(several: usize, runs: &[f64]) -> Option<Estimate> {
    let logs: Vec<f64> = positive(runs).iter().map(|r| r.ln()).collect();
    let ends = |value: f64, half: f64| [value / half.exp(), value * half.exp()];
    over_runs(several, &logs, average(&logs).exp(), "t over logarithms", ends)
}

/// `value` with the `ends` that follow from half of Student's interval over `x`. The sample size is fixed, so the result is
/// never reported as converged.
fn over_runs(
    several: usize,
    x: &[f64],
    value: f64,
    how: &str,
    ends: impl Fn(f64, f64) -> [f64; 2],
) -> Option<Estimate> {
    match x.len() {
        0 => None,
        1 => Some(Estimate::unbounded(value, "one run, no interval")),
        n => {
            let half = student_of(several, n - 1) * deviation(x) / (n as f64).sqrt();
            Some(Estimate::new(value, ends(value, half), format!("{how}, {n} runs"), false))
        }
    }
}

/// The median of whole runs with the exact interval between two of them, which no stall can widen by itself; six runs
/// are the fewest that have one. `None` without values.
pub fn median(runs: &[f64]) -> Option<Estimate> {
    let mut runs = positive(runs);
    runs.sort_by(f64::total_cmp);
    let n = runs.len();
    let value = (runs.get(n.checked_sub(1)? / 2)? + runs[n / 2]) / 2.0;
    // How many of the lowest and of the highest values may be left out.
    let halves = Binomial::new(0.5, n as u64).ok()?;
    let Some(out) = (0..n as u64 / 2).take_while(|&out| halves.cdf(out) <= 0.025).last() else {
        return Some(Estimate::unbounded(value, "fewer than 6 runs, no interval"));
    };
    let ends = [runs[out as usize], runs[n - 1 - out as usize]];
    Some(Estimate::new(value, ends, format!("order statistics, {n} runs"), false))
}

/// The median of a few runs; its interval is Student's over them, which a run far out makes wider, and holds the
/// median in any case. `None` without values.
pub fn middle(runs: &[f64]) -> Option<Estimate> {
    let mean = mean(runs)?;
    let value = stalls::median(runs);
    let how = format!("median, {}", mean.how);
    Some(Estimate { value, low: mean.low.min(value), high: mean.high.max(value), how, ..mean })
}

/// By how much the mean of `a` exceeds that of `b`, with Welch's interval; `None` with fewer than two runs of either.
pub fn difference(a: &[f64], b: &[f64]) -> Option<Estimate> {
    let part = |runs: &[f64]| {
        let n = runs.len() as f64;
        (runs.len() > 1).then(|| (average(runs), deviation(runs).powi(2) / n, n - 1.0))
    };
    let ((a, of_a, m), (b, of_b, n)) = (part(a)?, part(b)?);
    let variance = of_a + of_b;
    let degrees = variance.powi(2) / (of_a.powi(2) / m + of_b.powi(2) / n);
    let degrees = if degrees.is_finite() { degrees.floor() } else { m + n };
    let (value, half) = (a - b, student(degrees as usize) * variance.sqrt());
    let how = format!("Welch, {} against {} runs", m + 1.0, n + 1.0);
    Some(Estimate::new(value, [value - half, value + half], how, false))
}

/// By how much the median of `a` exceeds that of `b`. Its interval is Welch's for the means, and holds the value in any case; without
/// one where a side has one run only. `None` without values.
pub fn difference_of_medians(a: &[f64], b: &[f64]) -> Option<Estimate> {
    let (a, b) = (positive(a), positive(b));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let value = stalls::median(&a) - stalls::median(&b);
    Some(match difference(&a, &b) {
        Some(means) => Estimate { value, low: means.low.min(value), high: means.high.max(value), ..means },
        None => Estimate::new(value, [value.min(0.0), f64::INFINITY], "one run, no interval", false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_runs() {
        // scipy.stats.t.interval(.95, 2, loc=20, scale=scipy.stats.sem([19, 20, 21]))
        let e = mean(&[19.0, 20.0, 21.0]).expect("three runs");
        assert_eq!((e.value, e.how.as_str()), (20.0, "t, 3 runs"));
        assert!((e.low - 17.515_862).abs() < 1e-5 && (e.high - 22.484_138).abs() < 1e-5, "{e:?}");
    }

    #[test]
    fn a_median_of_runs_and_a_difference_of_two_kinds() {
        let e = middle(&[3.0, 3.5, 9.0]).expect("three runs");
        assert_eq!((e.value, e.how.as_str()), (3.5, "median, t, 3 runs"));
        assert!(e.low < 3.0 && e.high > 9.0, "one far out makes it wide: {e:?}");
        assert_eq!(middle(&[]), None);
        // scipy.stats.ttest_ind([12, 13, 14], [9, 9.5, 10], equal_var=False).confidence_interval(): df 2.94, here 2.
        let e = difference(&[12.0, 13.0, 14.0], &[9.0, 9.5, 10.0]).expect("enough");
        assert!(
            (e.value - 3.5).abs() < 1e-12 && (e.high - e.value - 4.302_65 * 0.645_497).abs() < 1e-4,
            "{e:?}"
        );
        assert_eq!(difference(&[1.0], &[1.0, 2.0]), None);
        // The interval is around the difference of the means, 3.75.
        let e = difference_of_medians(&[12.0, 13.0, 14.75], &[9.0, 9.5, 10.0]).expect("enough");
        assert!(e.value == 3.5 && e.low < 3.5 && (e.high + e.low - 7.5).abs() < 1e-9, "{e:?}");
        let one = difference_of_medians(&[12.0], &[9.0, 9.5]).expect("a value");
        assert_eq!((one.value, one.high), (2.75, f64::INFINITY));
        assert_eq!(difference_of_medians(&[], &[1.0]), None);
    }

    #[test]
    fn one_run_has_no_interval_and_none_no_estimate() {
        let e = mean(&[5.0, f64::NAN, 0.0]).expect("one good run");
        assert_eq!((e.value, e.low, e.high), (5.0, 0.0, f64::INFINITY));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn runs_that_differ_by_factors() {
        // exp(scipy.stats.t.interval(.95, 2, loc=log(20), scale=scipy.stats.sem(log([10, 20, 40])))): a factor of 5.59
        let e = typical(&[10.0, 20.0, 40.0]).expect("three runs");
        assert!((e.value - 20.0).abs() < 1e-9 && (e.high / 20.0 - 20.0 / e.low).abs() < 1e-9, "{e:?}");
        assert!((e.high / 20.0 - 5.5953).abs() < 1e-3, "{e:?}");
        assert_eq!(typical(&[7.0]).map(|e| e.high), Some(f64::INFINITY));
        assert_eq!(typical(&[0.0]), None);
    }

    #[test]
    fn a_median_needs_six_runs_for_its_interval() {
        let few = median(&[3.0, 1.0, 2.0]).expect("three runs");
        assert_eq!((few.value, few.low, few.high), (2.0, 0.0, f64::INFINITY));
        let six = median(&[3.0, 1.0, 2.0, 4.0, 6.0, 500.0]).expect("six runs");
        assert_eq!((six.value, six.low, six.high), (3.5, 1.0, 500.0));
        // The book's table: of 9 runs one at either end may be left out, of 12 two.
        let many = |n: u32| median(&(1..=n).map(f64::from).collect::<Vec<_>>()).expect("runs");
        assert_eq!((many(9).low, many(9).high, many(12).low, many(12).high), (2.0, 8.0, 3.0, 10.0));
        assert_eq!(median(&[f64::NAN]), None);
    }
}
