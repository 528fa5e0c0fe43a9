//! Cliffs: the speed drops once and stays low, for example when a fast write cache is full.

use super::{
    Cliff,
    interval::average,
    stalls::{self, median},
};
use crate::units::MIB;

/// Chunks per point, which is their median.
const POINT: usize = 8;
/// The maximum number of consecutive cliffs.
const MOST: usize = 3;
/// Points on either side that a cliff needs.
const SIDE: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    /// The chunk at which the speed dropped.
    pub at: usize,
    /// The first chunk that is used again.
    pub resume: usize,
    /// Typical s per MiB before and after.
    pub before: f64,
    pub after: f64,
}

/// The first of these windows, each with its seconds and bytes, after the last cliff; 0 without one.
pub fn past_cliffs(windows: impl Iterator<Item = (f64, u64)>) -> usize {
    let mib = |bytes: u64| (bytes as f64 / MIB as f64).max(f64::MIN_POSITIVE);
    let (x, sizes): (Vec<f64>, Vec<f64>) = windows.map(|(s, bytes)| (s / mib(bytes), mib(bytes))).unzip();
    let base = stalls::split(&x, average(&sizes)).base;
    find(&base).last().map_or(0, |cut| cut.resume)
}

/// Finds clean steps down in a series without stalls: the best single split of the logarithm, again on what follows.
/// A step is clean if 90 % of the points before it are fast and 95 % of those after it are slow.
pub(crate) fn find(base: &[f64]) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    let mut start = 0;
    while cuts.len() < MOST {
        let y: Vec<f64> =
            base[start..].chunks_exact(POINT).map(|c| median(c).max(f64::MIN_POSITIVE).ln()).collect();
        let Some((j, before, after)) = step(&y) else { break };
        let at = start + j * POINT;
        start = at + POINT;
        cuts.push(Cut { at, resume: start, before: before.exp(), after: after.exp() });
    }
    cuts
}

/// The best split of `y`, with the means on both sides, if it is a clean step up.
fn step(y: &[f64]) -> Option<(usize, f64, f64)> {
    let m = y.len();
    if m < 16 {
        return None;
    }
    let sum: f64 = y.iter().sum();
    let mut left: f64 = y[..SIDE - 1].iter().sum();
    let (mut best, mut j) = (f64::MIN, SIDE);
    for k in SIDE..m - SIDE {
        left += y[k - 1];
        let gain = left * left / k as f64 + (sum - left) * (sum - left) / (m - k) as f64;
        if gain > best {
            (best, j) = (gain, k);
        }
    }
    let (head, tail) = y.split_at(j);
    let (l, r) = (average(head), average(tail));
    let middle = (l + r) / 2.0;
    let fast = head.iter().filter(|&&v| v < middle).count() as f64 / head.len() as f64;
    let slow = tail[1..].iter().filter(|&&v| v > middle).count() as f64 / (tail.len() - 1) as f64;
    (r - l >= (1.0 + Cliff::STEP).ln() && fast >= 0.9 && slow >= 0.95).then_some((j, l, r))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(speeds: &[(usize, f64)]) -> Vec<f64> {
        let steps = speeds.iter().flat_map(|&(n, v)| std::iter::repeat_n(v, n));
        steps.enumerate().map(|(i, v)| v * (1.0 + 0.03 * ((i * 7919 % 101) as f64 / 101.0 - 0.5))).collect()
    }

    #[test]
    fn finds_a_full_cache_and_what_follows() {
        let cuts = find(&noisy(&[(200, 0.05), (400, 0.25), (600, 0.5)]));
        let [a, b] = cuts[..] else { panic!("{cuts:?}") };
        assert_eq!((a.at, a.resume, b.at), (200, 208, 600));
        assert!((a.before - 0.05).abs() < 0.002 && (b.after - 0.5).abs() < 0.02, "{cuts:?}");
    }

    #[test]
    fn no_cliff_in_steady_rising_or_switching_series() {
        assert_eq!(find(&noisy(&[(600, 0.05)])), []);
        assert_eq!(find(&noisy(&[(200, 0.25), (400, 0.05)])), [], "faster is no cliff");
        assert_eq!(
            find(&noisy(&[(96, 0.05), (96, 0.08), (96, 0.05), (96, 0.08), (96, 0.05), (96, 0.08)])),
            []
        );
        assert_eq!(find(&noisy(&[(60, 0.05), (60, 0.25)])), [], "too short to tell");
        assert_eq!(find(&[]), []);
    }
}
