//! A sparse latency histogram with bounded relative error.
//!
//! There are thousands of windows with a few hundred operations each, so only occupied buckets are stored.
//! Buckets are log-linear with 1024 steps per power of two: the middle of a bucket is within 0.05 % of every value in it.

use serde::{Deserialize, Serialize};

const BITS: u32 = 10;
const STEPS: u64 = 1 << BITS;
/// More operations than any load has, so that sums don't overflow.
const MOST: u64 = 1 << 40;

/// Nanosecond latencies, counted per bucket, in ascending order of bucket.
/// In JSON it is one flat array `[bucket, count, bucket step, count, ...]`: the first bucket's number, then the
/// distance to each next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<(u16, u64)>,
}

/// The bucket that counts `ns`. Values above 2^52 ns (52 days) share the last bucket.
fn bucket(ns: u64) -> u16 {
    let ns = ns.min((1 << 52) - 1);
    if ns < 2 * STEPS {
        return ns as u16;
    }
    let shift = 63 - ns.leading_zeros() - BITS;
    (u64::from(shift) * STEPS + (ns >> shift)) as u16
}

/// The value in the middle of a bucket, ns.
fn middle(bucket: u16) -> u64 {
    let b = u64::from(bucket);
    if b < 2 * STEPS {
        return b;
    }
    let shift = b / STEPS - 1;
    ((b - shift * STEPS) << shift) + (1 << shift) / 2
}

impl Histogram {
    /// Counts `latencies` (ns, any order; the slice is sorted in place).
    pub fn of(latencies: &mut [u64]) -> Self {
        latencies.sort_unstable();
        let mut h = Self::default();
        for &ns in latencies.iter() {
            let b = bucket(ns);
            match h.buckets.last_mut() {
                Some((last, n)) if *last == b => *n += 1,
                _ => h.buckets.push((b, 1)),
            }
        }
        h
    }

    /// Adds `n` operations of `ns` each.
    pub fn add(&mut self, ns: u64, n: u64) {
        self.add_to(bucket(ns), n);
    }

    fn add_to(&mut self, bucket: u16, n: u64) {
        match self.buckets.binary_search_by_key(&bucket, |&(b, _)| b) {
            _ if n == 0 => {}
            Ok(i) => self.buckets[i].1 += n,
            Err(i) => self.buckets.insert(i, (bucket, n)),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        // A long list absorbs many short ones.
        if other.buckets.len() * 16 < self.buckets.len() {
            return other.buckets.iter().for_each(|&(b, n)| self.add_to(b, n));
        }
        let mut merged = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let mut own = self.buckets.iter().copied().peekable();
        for &(bucket, n) in &other.buckets {
            while let Some(smaller) = own.next_if(|&(b, _)| b < bucket) {
                merged.push(smaller);
            }
            let same = own.next_if(|&(b, _)| b == bucket);
            merged.push((bucket, n + same.map_or(0, |(_, n)| n)));
        }
        merged.extend(own);
        self.buckets = merged;
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|&(_, n)| n).sum()
    }

    /// The `rank`-th smallest latency in ns, counting from 1; `None` when there are fewer operations.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut seen = 0;
        self.buckets.iter().find_map(|&(b, n)| {
            seen += n;
            (rank >= 1 && seen >= rank).then(|| middle(b))
        })
    }

    /// The latency, ns, that a share `q` (0 to 1) of the operations does not exceed.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let n = self.count();
        self.at_rank(((q * n as f64).ceil() as u64).clamp(1, n.max(1)))
    }

    pub fn max(&self) -> Option<u64> {
        self.buckets.last().map(|&(b, _)| middle(b))
    }

    /// Occupied buckets as (middle in ns, count), ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().map(|&(b, n)| (middle(b), n))
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut last = 0;
        s.collect_seq(self.buckets.iter().flat_map(|&(b, n)| {
            let step = u64::from(b - last);
            last = b;
            [step, n]
        }))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let flat = Vec::<u64>::deserialize(d)?;
        if flat.len() % 2 != 0 {
            return Err(D::Error::custom("a histogram is pairs of bucket step and count"));
        }
        let mut buckets: Vec<(u16, u64)> = Vec::with_capacity(flat.len() / 2);
        let (mut at, mut sum) = (0u64, 0u64);
        for pair in flat.chunks_exact(2) {
            if pair[0] == 0 && !buckets.is_empty() || pair[1] == 0 {
                return Err(D::Error::custom("histogram buckets must ascend and hold operations"));
            }
            at = at.saturating_add(pair[0]);
            let b = u16::try_from(at).map_err(|_| D::Error::custom("histogram bucket out of range"))?;
            sum = sum.saturating_add(pair[1]);
            if sum > MOST {
                return Err(D::Error::custom("histogram with more operations than any load"));
            }
            buckets.push((b, pair[1]));
        }
        Ok(Self { buckets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_error_stays_below_a_tenth_of_a_percent() {
        for base in [1u64, 2047, 2048, 2049, 4095, 4096, 195_000, 442_000_000, 2_600_000_000, (1 << 52) - 1] {
            for ns in [base, base + base / 3, base + base / 2] {
                let ns = ns.min((1 << 52) - 1);
                let m = middle(bucket(ns));
                assert!(m.abs_diff(ns) as f64 <= ns as f64 * 0.0005, "{ns} ns was counted as {m} ns");
            }
        }
    }

    #[test]
    fn buckets_ascend_without_gaps() {
        let mut last = bucket(0);
        for ns in 1..200_000u64 {
            let b = bucket(ns);
            assert!(b == last || b == last + 1, "bucket {b} follows {last} at {ns} ns");
            last = b;
        }
        assert_eq!(bucket(u64::MAX), bucket((1 << 52) - 1));
    }

    #[test]
    fn merging_equals_counting_all() {
        let (mut a, mut b): (Vec<u64>, Vec<u64>) =
            ((0..5000).map(|i| i * i).collect(), (0..3000).map(|i| i * 977).collect());
        let mut both: Vec<u64> = a.iter().chain(&b).copied().collect();
        let mut merged = Histogram::of(&mut a);
        merged.merge(&Histogram::of(&mut b));
        assert_eq!(merged, Histogram::of(&mut both));
        merged.merge(&Histogram::of(&mut [7, 977, 1_000_000_007]));
        both.extend([7, 977, 1_000_000_007]);
        assert_eq!(merged, Histogram::of(&mut both));
        assert_eq!(merged.count(), 8003);
    }

    #[test]
    fn quantiles_follow_ranks() {
        let h = Histogram::of(&mut (1..=1000).collect::<Vec<_>>());
        assert_eq!(h.quantile(0.5), Some(500));
        assert_eq!(h.quantile(0.999), Some(999));
        assert_eq!(h.quantile(1.0), Some(1000));
        assert_eq!(h.quantile(0.0), Some(1));
        assert_eq!((h.at_rank(0), h.at_rank(1001)), (None, None));
        assert_eq!((Histogram::default().quantile(0.5), Histogram::default().max()), (None, None));
    }

    #[test]
    fn json_round_trip_and_refusal() {
        let mut h = Histogram::of(&mut [5, 5, 70_000, 2_600_000_000]);
        h.add(5, 1);
        let text = serde_json::to_string(&h).expect("serialises");
        assert!(text.starts_with("[5,3,"), "{text}");
        assert_eq!(serde_json::from_str::<Histogram>(&text).expect("reads back"), h);
        for bad in [
            "[1]",
            "[1,1,0,1]",
            "[1,0]",
            "[70000,1]",
            "[1,1,18446744073709551615,1]",
            "[1,18446744073709551615,1,2]",
        ] {
            assert!(serde_json::from_str::<Histogram>(bad).is_err(), "{bad} was accepted");
        }
    }
}
