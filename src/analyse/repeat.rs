//! Repeated runs.

use super::{
    Estimate,
    interval::{deviation, student},
};

/// The mean of whole runs with Student's interval over runs. Values are positive; others are left out. `None` of none.
pub fn mean(runs: &[f64]) -> Option<Estimate> {
    let runs: Vec<f64> = runs.iter().copied().filter(|r| r.is_finite() && *r > 0.0).collect();
    let n = runs.len();
    let value = runs.iter().sum::<f64>() / n as f64;
    match n {
        0 => None,
        1 => Some(Estimate::unbounded(value, "one run, no interval")),
        _ => {
            let half = student(n - 1) * deviation(&runs) / (n as f64).sqrt();
            Some(Estimate {
                value,
                low: (value - half).max(0.0),
                high: value + half,
                how: format!("t, {n} runs"),
                // Nobody asked for a precision; the runs are as many as they are.
                converged: false,
            })
        }
    }
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
    fn one_run_has_no_interval_and_none_no_estimate() {
        let e = mean(&[5.0, f64::NAN, 0.0]).expect("one good run");
        assert_eq!((e.value, e.low, e.high), (5.0, 0.0, f64::INFINITY));
        assert_eq!(mean(&[]), None);
    }
}
