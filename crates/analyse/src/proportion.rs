//! The share of a population from a sample of it.

use statrs::distribution::{Beta, ContinuousCDF};

/// The exact interval of a share, of which `found` of `samples` were found.
///
/// C. J. Clopper, E. S. Pearson: The use of confidence or fiducial limits illustrated in the case of the binomial, 1934.
pub fn proportion(found: u64, samples: u64, level: f64) -> (f64, f64) {
    let tail = (1.0 - level) / 2.0;
    let (k, n) = (found.min(samples) as f64, samples as f64);
    let quantile =
        |a: f64, b: f64, p: f64, otherwise: f64| Beta::new(a, b).map_or(otherwise, |b| b.inverse_cdf(p));
    let low = if k == 0.0 { 0.0 } else { quantile(k, n - k + 1.0, tail, 0.0) };
    let high = if k == n { 1.0 } else { quantile(k + 1.0, n - k, 1.0 - tail, 1.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_published_tables() {
        let close = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!((low - expected.0).abs() < 5e-4 && (high - expected.1).abs() < 5e-4, "{low} {high}");
        };
        close(proportion(0, 10, 0.95), (0.0, 0.3085));
        close(proportion(1, 10, 0.95), (0.0025, 0.4450));
        close(proportion(5, 10, 0.95), (0.1871, 0.8129));
        close(proportion(10, 10, 0.95), (0.6915, 1.0));
    }
}
