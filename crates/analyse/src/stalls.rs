//! Stalls: chunks that took much longer than their neighbours, and operations that took much longer than most.

use crate::units::Histogram;

/// Chunks whose median is a chunk's neighbourhood.
const NEIGHBOURS: usize = 32;
/// Stalls at most this many chunks apart are one event.
const JOIN: usize = 8;
/// A stall lasts at least this much longer than its neighbourhood, s.
const LEAST_SECONDS: f64 = 0.1;

/// The longest stall that may go unseen, s: Linux waits no longer for a memory card.
pub(crate) const LONG: f64 = 10.0;

/// Operations of a load, one at a time, that took much longer than most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stalled {
    pub operations: u64,
    /// Total time beyond the usual duration, s.
    pub seconds: f64,
}

impl Stalled {
    pub fn of(latency: &Histogram) -> Self {
        let median = latency.quantile(0.5).unwrap_or(0) as f64 / 1e9;
        let least = LEAST_SECONDS.max(0.5 * median);
        let excess = latency.iter().map(|(ns, n)| (ns as f64 / 1e9 - median, n));
        excess.filter(|(excess, _)| *excess > least).fold(Self::default(), |sum, (excess, n)| Self {
            operations: sum.operations + n,
            seconds: sum.seconds + excess * n as f64,
        })
    }
}

/// One or more stalled chunks close together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StallSpan {
    pub first: usize,
    pub last: usize,
    /// Time beyond the neighbourhood's median, in the series' unit (s per MiB, summed over chunks).
    pub excess: f64,
}

pub(crate) struct Split {
    /// `x` with stalled chunks replaced by their neighbourhood's median.
    pub base: Vec<f64>,
    pub events: Vec<StallSpan>,
}

/// Removes stalls from `x` (s per MiB), whose chunks have `chunk_mib` MiB.
pub(crate) fn split(x: &[f64], chunk_mib: f64) -> Split {
    let n = x.len();
    let mut local = Vec::with_capacity(n);
    let blocks = (n / NEIGHBOURS).max(1);
    let (size, larger) = (n / blocks, n % blocks);
    let start = |block: usize| block * size + block.min(larger);
    for block in 0..blocks {
        let near = &x[start(block)..start(block + 1)];
        local.extend(std::iter::repeat_n(median(near), near.len()));
    }
    let away: Vec<f64> = x.iter().zip(&local).map(|(x, m)| (x - m).abs()).collect();
    let least = (LEAST_SECONDS / chunk_mib).max(8.0 * 1.4826 * median(&away));

    let mut base = x.to_vec();
    let mut events: Vec<StallSpan> = Vec::new();
    for (i, (b, &m)) in base.iter_mut().zip(&local).enumerate() {
        let excess = *b - m;
        if excess > least.max(0.5 * m) {
            *b = m;
            match events.last_mut() {
                Some(e) if i - e.last <= JOIN => {
                    e.last = i;
                    e.excess += excess;
                }
                _ => events.push(StallSpan { first: i, last: i, excess }),
            }
        }
    }
    Split { base, events }
}

/// The median; 0 of an empty slice.
pub(crate) fn median(x: &[f64]) -> f64 {
    if x.is_empty() {
        return 0.0;
    }
    let mut sorted = x.to_vec();
    let (below, &mut middle, _) = sorted.select_nth_unstable_by(x.len() / 2, f64::total_cmp);
    if x.len() % 2 == 1 { middle } else { (below.iter().copied().fold(f64::MIN, f64::max) + middle) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn stalled_operations_count_with_what_they_took_beyond_most() {
        let mut latency = Histogram::default();
        [(2_000_000, 1000), (50_000_000, 10), (400_000_000, 3), (2_600_000_000, 1)]
            .iter()
            .for_each(|(ns, n)| latency.add(*ns, *n));
        let found = Stalled::of(&latency);
        assert_eq!(found.operations, 4);
        let expected = 3.0 * 0.398 + 2.598;
        assert!((found.seconds / expected - 1.0).abs() < 1e-3, "{} is not {expected}", found.seconds);
        assert_eq!(Stalled::of(&Histogram::default()), Stalled::default());
        // Large operations take long without a stall.
        let mut slow = Histogram::default();
        [(1_000_000_000, 10), (1_400_000_000, 2)].iter().for_each(|(ns, n)| slow.add(*ns, *n));
        assert_eq!(Stalled::of(&slow).operations, 0);
    }

    #[test]
    fn close_stalls_are_one_event() {
        let mut x = vec![0.04; 200];
        (x[50], x[57], x[150]) = (0.5, 0.3, 2.64);
        let s = split(&x, 1.0);
        assert_eq!(s.events.len(), 2);
        assert_eq!((s.events[0].first, s.events[0].last, s.events[1].first), (50, 57, 150));
        assert!((s.events[0].excess - 0.72).abs() < 1e-12 && (s.events[1].excess - 2.6).abs() < 1e-12);
        assert_eq!(s.base, vec![0.04; 200]);
    }

    #[test]
    fn small_delays_and_gradual_changes_are_no_stalls() {
        let mut x: Vec<f64> = (0..400).map(|i| 0.04 + 0.0001 * f64::from(i)).collect();
        x[77] += 0.09;
        assert_eq!(split(&x, 1.0).events, []);
        assert_eq!(split(&x, 4.0).events.len(), 1, "0.09 s per MiB over 4 MiB are 0.36 s");
    }
}
