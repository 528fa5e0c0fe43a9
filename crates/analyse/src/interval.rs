//! Intervals of means: batch means, stall cycles, rare events.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

use super::stalls::{LONG, StallSpan};

/// The two-sided 95 % quantile of Student's t; infinite without a degree of freedom.
pub(crate) fn student(degrees: usize) -> f64 {
    student_of(1, degrees)
}

/// The quantile for `several` simultaneous intervals (Bonferroni).
pub(crate) fn student_of(several: usize, degrees: usize) -> f64 {
    let p = 1.0 - 0.025 / several as f64;
    StudentsT::new(0.0, 1.0, degrees as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(p))
}

/// Garwood's 95 % limits of a Poisson mean of which `k` events were seen; `k` need not be whole.
pub(crate) fn garwood(k: f64) -> (f64, f64) {
    let chi2 = |p, degrees| ChiSquared::new(degrees).map_or(0.0, |c: ChiSquared| c.inverse_cdf(p));
    (if k > 0.0 { chi2(0.025, 2.0 * k) / 2.0 } else { 0.0 }, chi2(0.975, 2.0 * k + 2.0) / 2.0)
}

/// The means of this number of consecutive batches of two values or more.
fn batch_means(x: &[f64], batches: usize) -> Option<Vec<f64>> {
    let length = x.len() / batches;
    (length >= 2).then(|| x[x.len() - batches * length..].chunks_exact(length).map(average).collect())
}

/// The half-width of the mean of `x` from `batches` means of consecutive batches.
fn batch_half_width(x: &[f64], batches: usize) -> Option<f64> {
    let means = batch_means(x, batches)?;
    Some(student(batches - 1) * deviation(&means) / (batches as f64).sqrt())
}

/// The largest half-width of 4, 8, 16 or 32 batches: few batches include slow changes, many include fast ones.
pub(crate) fn base_half_width(x: &[f64]) -> f64 {
    [4, 8, 16, 32].into_iter().filter_map(|b| batch_half_width(x, b)).fold(0.0, f64::max)
}

/// The half-width of the mean where neighbouring batches are alike, as on media whose speed wanders for seconds: fewer
/// batches count. Where they are not alike, nothing is added.
pub(crate) fn correlated_half_width(x: &[f64]) -> f64 {
    let half = |batches: usize| {
        let means = batch_means(x, batches)?;
        let (correlation, n) = (correlation(&means), batches as f64);
        let effective = (n * (1.0 - correlation) / (1.0 + correlation)).max(2.0);
        let student = student((effective as usize - 1).max(1)).min(student(2));
        (correlation > 0.2).then(|| student * deviation(&means) / effective.sqrt())
    };
    [8, 16, 32].into_iter().filter_map(half).fold(0.0, f64::max)
}

/// The contribution of stalls to the mean, and its error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct StallShare {
    pub mean: f64,
    /// The true mean may be this much lower, or higher.
    pub below: f64,
    pub above: f64,
}

impl StallShare {
    /// The share with the error that the stalls have in batches, if that is larger: stalls come in clusters, and there
    /// are fewer clusters than stalls. `stopped` is the stalled time of each piece.
    pub fn in_clusters(self, stopped: &[f64]) -> Self {
        let half = [4, 8].into_iter().filter_map(|b| batch_half_width(stopped, b)).fold(0.0, f64::max);
        Self { below: self.below.max(half.min(self.mean)), above: self.above.max(half), ..self }
    }

    /// The share with an error for one more long stall, if stalls are few and their lengths differ much: a few stalls don't show
    /// the spread of such lengths.
    pub fn with_one_more(self, events: &[StallSpan], n: usize, chunk_mib: f64) -> Self {
        const FEW: usize = 40;
        const DIFFERENT: f64 = 0.25;
        let lengths: Vec<f64> = events.iter().map(|e| e.excess).collect();
        let different = deviation(&lengths) > DIFFERENT * average(&lengths);
        let one = LONG / chunk_mib / n as f64;
        if events.len() < FEW && different { Self { above: self.above.hypot(one), ..self } } else { self }
    }
}

/// Fewer events than this are rare.
const CYCLES: usize = 6;

/// The share of `events` in the mean of `n` chunks.
pub(crate) fn stall_share(events: &[StallSpan], n: usize) -> StallShare {
    let n = n as f64;
    let total: f64 = events.iter().map(|e| e.excess).sum();
    let mean = total / n;
    match events.len() {
        0 => StallShare::default(),
        k if k < CYCLES => {
            // Unequal stalls count as fewer: the effective count of a compound Poisson sum. Few may look equal by chance, so
            // the variance of one of random length is added.
            let squares: f64 = events.iter().map(|e| e.excess * e.excess).sum();
            let effective = total * total / (squares + (total / k as f64).powi(2));
            let (low, high) = garwood(effective);
            let each = total / effective / n;
            StallShare { mean, below: mean - low * each, above: high * each - mean }
        }
        k => {
            // A cycle lasts from stall to stall. The ratio of stall time to cycle length is uncertain, and so are the incomplete
            // cycles at both ends.
            let length = |pair: &[StallSpan]| (pair[1].first - pair[0].first) as f64;
            let lengths: Vec<f64> = events.windows(2).map(length).collect();
            let cycles = lengths.len() as f64;
            let sum: f64 = lengths.iter().sum();
            let ratio = events[1..].iter().map(|e| e.excess).sum::<f64>() / sum;
            let error = |(e, length): (&StallSpan, &f64)| e.excess - ratio * length;
            let errors: Vec<f64> = events[1..].iter().zip(&lengths).map(error).collect();
            // Few cycles may look regular by chance, so one more random cycle is added.
            let random = events.iter().map(|e| e.excess * e.excess).sum::<f64>() / k as f64;
            let spread = ((cycles - 1.0) * deviation(&errors).powi(2) + random) / cycles;
            let each = total / k as f64;
            let edge = (each / n).powi(2) / 6.0;
            let t = student(k - 2);
            let half = t * (spread * cycles / (sum * sum) + edge).sqrt();
            // Where stalls are more frequent than seen, their number also varies more: the score interval, whose
            // middle lies above the mean.
            let shift = t * t * spread / (2.0 * each * n);
            let half = half.hypot(shift);
            StallShare { mean, below: half - shift, above: half + shift }
        }
    }
}

/// The correlation of each value with the next, corrected for its bias in short series; at least 0 and at most 0.9.
pub(crate) fn correlation(x: &[f64]) -> f64 {
    let mean = average(x);
    let squares: f64 = x.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = x.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let seen = if squares > 0.0 { products / squares } else { 0.0 };
    (seen + (1.0 + 3.0 * seen) / x.len() as f64).clamp(0.0, 0.9)
}

/// The mean; NaN of an empty slice.
pub(crate) fn average(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// The standard deviation of a sample; 0 of fewer than two values.
pub(crate) fn deviation(x: &[f64]) -> f64 {
    let mean = average(x);
    let squares: f64 = x.iter().map(|v| (v - mean).powi(2)).sum();
    if x.len() < 2 { 0.0 } else { (squares / (x.len() as f64 - 1.0)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-6 * b.abs().max(1e-3), "{a} is not {b}");
    }

    #[test]
    fn quantiles_match_scipy() {
        // scipy.stats.t.ppf(.975, df)
        for (degrees, t) in [
            (1, 12.706204736432095),
            (2, 4.302652729911275),
            (3, 3.182446305284263),
            (7, 2.364624251592785),
            (15, 2.131449545559323),
            (31, 2.0395134463964077),
            (200, 1.971896224153202),
        ] {
            close(student(degrees), t);
        }
        assert_eq!(student(0), f64::INFINITY);
        // scipy.stats.chi2.ppf(.025, 2k)/2, chi2.ppf(.975, 2k+2)/2
        for (k, low, high) in [
            (0.0, 0.0, 3.6888794541139363),
            (1.0, 0.02531780798428899, 5.571643390938898),
            (2.37, 0.3673486077691494, 7.805340768308826),
            (5.0, 1.6234863901184193, 11.668332079322667),
        ] {
            let (l, h) = garwood(k);
            close(l, low);
            close(h, high);
        }
    }
}
