//! Rotating disks are slower at the inner tracks, so they are measured at equally spaced positions.

use std::collections::BTreeMap;

use super::{
    Estimate,
    assessment::WIDEN,
    estimate::FLOOR,
    interval::{base_half_width, deviation, student},
};
use crate::units::{MIB, Window, ZonePoint};

/// Numbers of positions, each level holding the one before it.
const LEVELS: [u32; 3] = [17, 33, 65];
const STEPS: u32 = 64;

/// Measures a disk at 17 equally spaced positions with both ends; at 33 and 65 where that isn't precise enough.
#[derive(Debug, Clone)]
pub struct Zones {
    precision: f64,
    seen: BTreeMap<u32, PointSamples>,
}

#[derive(Debug, Clone, Default)]
struct PointSamples {
    /// Seconds per byte of each window but the first.
    each: Vec<f64>,
    windows: u32,
    offset: u64,
    /// Without the first window, which includes the seek.
    bytes: u64,
    seconds: f64,
    total: (u64, f64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    pub offset: u64,
    /// Bytes per second.
    pub speed: Estimate,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Zoned {
    /// Throughput over the whole disk: all its bytes divided by the time they would take, bytes per second.
    pub estimate: Estimate,
    pub positions: Vec<Position>,
    pub bytes: u64,
    pub seconds: f64,
}

impl Zones {
    /// Bytes to measure at each place, at least two windows.
    pub const SEGMENT: u64 = 32 * MIB;

    pub fn new(precision: f64) -> Self {
        Self { precision, seen: BTreeMap::new() }
    }

    /// The next positions within `length` bytes, each a multiple of `block`; none if the precision is reached.
    pub fn next(&self, length: u64, block: u64) -> Vec<ZonePoint> {
        let room = length.saturating_sub(Self::SEGMENT);
        let block = block.max(1);
        for level in LEVELS {
            let missing: Vec<ZonePoint> = (0..level)
                .map(|i| i * (STEPS / (level - 1)))
                .filter(|step| !self.seen.contains_key(step))
                .map(|step| ZonePoint {
                    step,
                    offset: (u128::from(room) * u128::from(step) / u128::from(STEPS)) as u64 / block * block,
                })
                .collect();
            if !missing.is_empty() {
                return missing;
            }
            if self.finish().is_some_and(|z| z.estimate.converged) {
                break;
            }
        }
        Vec::new()
    }

    pub fn push(&mut self, place: ZonePoint, window: &Window) {
        let seen = self.seen.entry(place.step).or_default();
        seen.offset = place.offset;
        if seen.windows > 0 {
            seen.bytes = seen.bytes.saturating_add(window.bytes);
            seen.seconds += window.seconds();
            if window.bytes > 0 {
                seen.each.push(window.seconds() / window.bytes as f64);
            }
        }
        seen.windows += 1;
        seen.total = (seen.total.0.saturating_add(window.bytes), seen.total.1 + window.seconds());
    }

    /// The estimate from the finest complete level. If none is complete, it is the mean of all positions, without an interval.
    pub fn finish(&self) -> Option<Zoned> {
        let good = |s: &&PointSamples| s.bytes > 0 && s.seconds > 0.0;
        let positions =
            self.seen.values().filter(good).map(|s| Position { offset: s.offset, speed: s.speed() });
        let time = |step: u32| self.seen.get(&step).filter(good).map(|s| s.seconds / s.bytes as f64);
        let level = LEVELS.iter().rev().find_map(|&level| {
            (0..level).map(|i| time(i * (STEPS / (level - 1)))).collect::<Option<Vec<f64>>>()
        });
        let zoned = |estimate| Zoned {
            estimate,
            positions: positions.clone().collect(),
            bytes: self.seen.values().fold(0, |sum, s| sum.saturating_add(s.total.0)),
            seconds: self.seen.values().map(|s| s.total.1).sum(),
        };
        if let Some(times) = level {
            return Some(zoned(self.estimate(&times)));
        }
        let times: Vec<f64> = positions.clone().map(|p| 1.0 / p.speed.value).collect();
        let value = times.len() as f64 / times.iter().sum::<f64>();
        (!times.is_empty()).then(|| zoned(Estimate::unbounded(value, "too few positions for an interval")))
    }

    /// The trapezoid mean. Its error comes from second differences, so that the slope from outside to inside is not noise.
    fn estimate(&self, times: &[f64]) -> Estimate {
        let n = times.len() as f64;
        let ends = (times[0] + times[times.len() - 1]) / 2.0;
        let mean = (times.iter().sum::<f64>() - ends) / (n - 1.0);
        let bends: f64 = times.windows(3).map(|t| (t[0] - 2.0 * t[1] + t[2]).powi(2)).sum();
        let sigma = (bends / (6.0 * (n - 2.0))).sqrt();
        let weights = (n - 1.5).sqrt() / (n - 1.0);
        let seen = WIDEN * student(times.len() - 2) * sigma * weights;
        let half = seen.hypot(WIDEN * FLOOR * mean);
        let high = if half < mean { 1.0 / (mean - half) } else { f64::INFINITY };
        let (ends, how) = ([1.0 / (mean + half), high], format!("{} positions", times.len()));
        Estimate::new(1.0 / mean, ends, how, seen <= self.precision * mean)
    }
}

impl PointSamples {
    /// Throughput at this position, from windows that may be equal.
    fn speed(&self) -> Estimate {
        let (value, n) = (self.bytes as f64 / self.seconds, self.each.len());
        let half = match n {
            0 | 1 => return Estimate::unbounded(value, "too short for an interval"),
            2..8 => student(n - 1) * deviation(&self.each) / (n as f64).sqrt(),
            _ => base_half_width(&self.each),
        };
        let half = WIDEN * (half * value).hypot(FLOOR);
        let high = if half < 1.0 { value / (1.0 - half) } else { f64::INFINITY };
        Estimate::new(value, [value / (1.0 + half), high], "batch means", true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 500 << 30;

    /// Measures all places of one round; `rate` in bytes per second by share of the disk.
    fn round(zones: &mut Zones, rate: impl Fn(f64) -> f64) -> usize {
        let places = zones.next(LENGTH, 4096);
        for &place in &places {
            for i in 0..32 {
                let ns = MIB as f64 / rate(place.offset as f64 / LENGTH as f64) * 1e9;
                let seek = if i == 0 { 20e6 } else { 0.0 };
                zones.push(
                    place,
                    &Window { to_ns: (ns + seek) as u64, bytes: MIB, ops: 1, ..Window::default() },
                );
            }
        }
        places.len()
    }

    #[test]
    fn a_smooth_disk_needs_17_positions() {
        let mut zones = Zones::new(0.05);
        assert_eq!(round(&mut zones, |x| 200e6 / (1.0 + x)), 17);
        assert_eq!(round(&mut zones, |_| 1.0), 0);
        let z = zones.finish().expect("measured");
        // The mean of (1 + x) over the disk is 1.5; the arm's moves are not in it.
        assert!((z.estimate.value / (200e6 / 1.5) - 1.0).abs() < 1e-3, "{:?}", z.estimate);
        assert!(
            z.estimate.converged && z.estimate.low < z.estimate.value && z.estimate.value < z.estimate.high
        );
        let all = || z.positions.iter().map(|p| &p.speed).chain([&z.estimate]);
        assert!(all().all(|speed| speed.half_width() >= WIDEN * FLOOR), "{z:?}");
        assert_eq!((z.positions.len(), z.bytes), (17, 17 * 32 * MIB));
        assert_eq!(z.positions[0].offset, 0);
        assert!(z.positions[16].offset + Zones::SEGMENT <= LENGTH);
    }

    #[test]
    fn a_rough_disk_needs_all_positions() {
        let mut zones = Zones::new(0.05);
        let rough = |x: f64| if (x * 1e4) as u64 % 2 == 0 { 100e6 } else { 400e6 };
        let rounds: Vec<usize> = (0..4).map(|_| round(&mut zones, rough)).collect();
        assert_eq!(rounds, [17, 16, 32, 0]);
        assert!(!zones.finish().expect("measured").estimate.converged);
    }

    #[test]
    fn an_interrupted_load_is_marked_so() {
        let mut zones = Zones::new(0.05);
        assert_eq!(zones.finish(), None);
        let place = zones.next(1000, 0)[0];
        assert_eq!(place.offset, 0);
        for ns in [0, 0, 10] {
            zones.push(place, &Window { to_ns: ns, bytes: 5, ..Window::default() });
        }
        let z = zones.finish().expect("one place");
        assert!((z.estimate.value - 1e9).abs() < 1.0 && z.estimate.high.is_infinite(), "{z:?}");
    }
}
