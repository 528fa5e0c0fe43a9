//! Percentiles of latency with their order-statistic intervals.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::Estimate;
use crate::units::{Histogram, Window};

/// Slow operations at most this many operations apart are one cluster.
const GAP: u64 = 64;
/// Shares of slowest operations in which clusters are searched. The worst one counts.
const TOPS: [f64; 4] = [1e-3, 5e-4, 2e-4, 1e-4];
/// The minimum number of slow operations for detecting clusters.
const FEW: u64 = 8;

#[derive(Debug, Clone, Default)]
pub struct Tail {
    all: Histogram,
    count: u64,
    /// Slow operations as (number, ns, how many).
    slow: Vec<(u64, u64, u64)>,
    /// The engine records which operations were slow; otherwise only their window is known.
    exact: bool,
}

impl Tail {
    pub fn push(&mut self, window: &Window) {
        if !window.slow.is_empty() {
            if !self.exact {
                self.slow.clear();
                self.exact = true;
            }
            self.slow.extend(window.slow.iter().map(|op| (op.0, op.1, 1)));
        } else if !self.exact {
            let limit = self.all.quantile(0.995).unwrap_or(0);
            let first = self.count;
            self.slow
                .extend(window.latency.iter().filter(|&(ns, _)| ns > limit).map(|(ns, n)| (first, ns, n)));
        }
        self.count = self.count.saturating_add(window.latency.count());
        self.all.merge(&window.latency);
    }

    pub fn histogram(&self) -> &Histogram {
        &self.all
    }

    /// The mean size of clusters of slow operations, 1 where they come alone.
    pub fn cluster(&self) -> f64 {
        TOPS.iter().filter_map(|top| self.cluster_above(*top)).fold(1.0, f64::max)
    }

    fn cluster_above(&self, top: f64) -> Option<f64> {
        let limit = self.all.at_rank((self.count as f64 * (1.0 - top)) as u64)?;
        let (mut operations, mut clusters, mut last) = (0u64, 0u64, None);
        for &(number, _, n) in self.slow.iter().filter(|&&(_, ns, _)| ns > limit) {
            operations = operations.saturating_add(n);
            clusters += u64::from(last.is_none_or(|last| number.saturating_sub(last) > GAP));
            last = Some(number);
        }
        (operations >= FEW).then(|| operations as f64 / clusters as f64)
    }

    /// The latency, s, that a `share` (above 0, below 1) of operations does not exceed; `None` without operations. Without an upper
    /// end it is only known to be at least `low`.
    pub fn percentile(&self, share: f64) -> Option<Estimate> {
        if !(share > 0.0 && share < 1.0) || self.count == 0 {
            return None;
        }
        // Slow operations of a cluster count as one.
        let effective = ((self.count as f64 / self.cluster()) as u64).max(1);
        let ranks = Binomial::new(share, effective).ok()?;
        let stretch = self.count as f64 / effective as f64;
        let lower = (quantile(&ranks, effective, 0.025) as f64 * stretch) as u64;
        let most = quantile(&ranks, effective, 0.975) + 1;
        // Rounded up, the last rank can exceed the count.
        let upper = match most > effective {
            true => u64::MAX,
            false => ((most as f64 * stretch).ceil() as u64).min(self.count),
        };
        let seconds = |ns: u64| ns as f64 / 1e9;
        let value = self.all.quantile(share).map(seconds)?;
        let low = self.all.at_rank(lower).map_or(0.0, seconds).min(value);
        let high = self.all.at_rank(upper).map_or(f64::INFINITY, seconds).max(value);
        let how = if high.is_finite() { "order statistics" } else { "too few operations for an upper end" };
        Some(Estimate::new(value, [low, high], how, high.is_finite()))
    }
}

/// The smallest of 0 to `n` that a share `p` of `binomial` does not exceed. (The library's own search panics for some.)
fn quantile(binomial: &Binomial, n: u64, p: f64) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if binomial.cdf(middle) >= p { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SlowOp;

    /// Windows of 256 operations: a cheap mixture of body and, at every `every`, `size` slow operations in a row.
    fn tail(n: u64, every: u64, size: u64, exact: bool) -> Tail {
        let mut tail = Tail::default();
        for first in (0..n).step_by(256) {
            let ns = |i: u64| {
                if i % every < size { 20_000_000 + i * 17 % 5_000_000 } else { 190_000 + i * 7919 % 10_007 }
            };
            let mut all: Vec<u64> = (first..(first + 256).min(n)).map(ns).collect();
            let slow = (first..(first + 256).min(n))
                .filter(|&i| exact && ns(i) > 10_000_000)
                .map(|i| SlowOp(i, ns(i)));
            let slow = slow.collect();
            tail.push(&Window { ops: 256, latency: Histogram::of(&mut all), slow, ..Window::default() });
        }
        tail
    }

    #[test]
    fn ranks_match_scipy() {
        // scipy.stats.binom.ppf([.025, .975], n, p)
        for (n, p, low, high) in [
            (36_889, 0.9999, 36_881, 36_888),
            (1000, 0.99, 983, 996),
            (1000, 0.5, 469, 531),
            (1, 0.9999, 1, 1),
            (3, 0.5, 0, 3),
            (262_144, 0.9999, 262_107, 262_127),
            (10_000_000, 0.999, 9_989_804, 9_990_195),
        ] {
            let b = Binomial::new(p, n).expect("valid");
            assert_eq!((quantile(&b, n, 0.025), quantile(&b, n, 0.975)), (low, high), "{n} {p}");
        }
    }

    #[test]
    fn the_smallest_number_of_operations_with_an_upper_end() {
        // The slowest are one to a window.
        let latency = |n: u64| {
            let mut t = Tail::default();
            for first in (0..n).step_by(256) {
                let mut ns: Vec<u64> =
                    (first..(first + 256).min(n)).map(|i| i % 256 * 256 + i / 256).collect();
                t.push(&Window { latency: Histogram::of(&mut ns), ..Window::default() });
            }
            t.percentile(0.9999).expect("operations")
        };
        let (few, enough) = (latency(36_880), latency(36_889));
        assert_eq!(few.high, f64::INFINITY);
        assert!(few.low > 0.0 && !few.converged);
        assert!(enough.high.is_finite());
    }

    #[test]
    fn clusters_reduce_the_effective_number_of_operations() {
        let alone = tail(200_000, 2000, 1, true);
        let rows = tail(200_000, 16_000, 8, true);
        assert_eq!((alone.cluster(), rows.cluster()), (1.0, 8.0));
        assert!(rows.percentile(0.9999).expect("operations").high.is_infinite());
        assert!(alone.percentile(0.9999).expect("operations").high.is_finite());
        assert!(rows.percentile(0.5).expect("operations").high.is_finite());
    }

    #[test]
    fn without_slow_operations_clusters_come_from_windows() {
        assert_eq!(tail(200_000, 16_000, 8, false).cluster(), 8.0);
        assert_eq!(tail(200_000, 2000, 1, false).cluster(), 1.0);
    }

    #[test]
    fn no_operations_give_no_result() {
        assert_eq!(Tail::default().percentile(0.5), None);
        assert_eq!(tail(300, 10, 1, true).percentile(1.0), None);
        assert_eq!(tail(300, 10, 1, true).percentile(f64::NAN), None);
    }
}
