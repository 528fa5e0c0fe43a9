//! Steadiness: how much of the beginning to discard so that the rest is steady.

use super::stalls::median;

/// The maximum share of a series that is discarded.
const MOST: f64 = 0.25;
/// Parts agree when they differ by no more than this share...
const TOLERANCE: f64 = 0.025;
/// ...or by this many standard errors.
const ERRORS: f64 = 2.5;
/// Step between the cuts that are tried, chunks.
const STRIDE: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Steady {
    pub cut: usize,
    /// Whether the halves agree, and the first quarter with the last half.
    pub agreed: bool,
    /// Difference of the halves as a share.
    pub drift: f64,
}

/// The smallest cut after which `base` (32 chunks or more) is steady, otherwise the best cut.
pub(crate) fn find(base: &[f64]) -> Steady {
    let n = base.len();
    let mut sums = vec![0.0; n + 1];
    (0..n).for_each(|i| sums[i + 1] = sums[i] + base[i]);
    let mean = |from: usize, to: usize| (sums[to] - sums[from]) / (to - from).max(1) as f64;
    let noise = local_noise(base);
    let mut best = Steady { cut: 0, agreed: false, drift: 0.0 };
    let mut closest = f64::INFINITY;
    for cut in (0..=(n as f64 * MOST) as usize).step_by(STRIDE) {
        let half = (cut + n) / 2;
        let (a, b) = (mean(cut, half), mean(half, n));
        let quarter = mean(cut, cut + (n - cut) / 4);
        let middle = (a + b) / 2.0;
        let drift = (a - b).abs() / middle;
        let apart = drift.max((quarter - b).abs() / middle);
        let pairs = ((n - cut) as f64 / 16.0).max(1.0);
        let agreed = apart <= TOLERANCE.max(ERRORS * noise * (2.0 * 1.5 / pairs).sqrt());
        if agreed || apart < closest {
            (best, closest) = (Steady { cut, agreed, drift }, apart);
        }
        if agreed {
            break;
        }
    }
    best
}

/// Standard deviation of 8-chunk means as a share, from their differences, so that jumps and drifts don't count.
fn local_noise(base: &[f64]) -> f64 {
    let means: Vec<f64> = base.chunks_exact(8).map(|c| c.iter().sum::<f64>() / 8.0).collect();
    let steps: Vec<f64> = means.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
    if mean > 0.0 { 1.4826 * median(&steps) / 2f64.sqrt() / mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_series_stays_whole() {
        let s = find(&vec![0.05; 512]);
        assert!(s.cut == 0 && s.agreed && s.drift < 1e-9, "{s:?}");
    }

    #[test]
    fn a_slow_start_is_cut() {
        let x: Vec<f64> = (0..1024).map(|i| if i < 100 { 0.1 } else { 0.05 }).collect();
        let s = find(&x);
        assert!(s.agreed && (80..=100).contains(&s.cut), "{s:?}");
    }

    #[test]
    fn a_lasting_drift_is_never_steady() {
        let x: Vec<f64> = (0..1024).map(|i| 0.05 + 0.00003 * f64::from(i)).collect();
        let s = find(&x);
        assert!(!s.agreed && s.drift > 0.1, "{s:?}");
    }
}
