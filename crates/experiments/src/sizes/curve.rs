//! Speed over size, and its model: a fixed cost per transfer and a cost per byte.

use super::super::common::Group;
use crate::{
    analyse::{CostFit, CostSample, Estimate, repeat},
    findings::LoadKey,
    units::{Caching, Direction},
};

/// A size that reaches this share of the best speed is good enough.
pub(super) const AS_GOOD: f64 = 0.9;
/// The sum of cost and bytes does not explain a curve that has a size off by more than this share.
const OFF: f64 = 0.25;
/// The least error of a speed, as a share.
const CHANCE: f64 = 0.01;
/// The assumed error of a speed without an interval, as a share.
const UNKNOWN: f64 = 0.03;

/// One direction and caching, at all sizes.
pub(super) struct Curve {
    /// Position of the target in the plan.
    pub at: usize,
    pub load: LoadKey,
    pub direction: Direction,
    pub caching: Caching,
    pub points: Vec<Point>,
    /// Seconds of a transfer: parts are the transfer itself and its bytes.
    pub fit: Option<CostFit>,
}

pub(super) struct Point {
    pub block: u64,
    /// Median of the repetitions, bytes per second.
    pub speed: Estimate,
    pub runs: usize,
}

impl Point {
    pub fn seconds(&self) -> f64 {
        self.block as f64 / self.speed.value
    }

    /// Its error, as a share.
    fn error(&self) -> f64 {
        let (down, up) = (1.0 - self.speed.low / self.speed.value, self.speed.high / self.speed.value - 1.0);
        // One stall widens one side without moving the median, so the narrower side is the better estimate.
        if up.is_finite() { (down.min(up) / 2.0).max(CHANCE) } else { UNKNOWN }
    }
}

/// The curves of a record, in the order of targets. Loads that fell back to the page cache are left out.
pub(super) fn curves(groups: &[Group<'_>]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for group in groups {
        let load = &group.measure.load;
        if !group.as_planned {
            continue;
        }
        let speeds = group.speeds();
        let Some(speed) = repeat::median(&speeds) else { continue };
        let point = Point { block: load.block, speed, runs: speeds.len() };
        match curves.iter_mut().find(|c| c.at == group.at && c.load.name == group.load.name) {
            Some(curve) => {
                curve.load.missed = curve.load.missed.max(group.load.missed);
                curve.points.push(point);
            }
            None => curves.push(Curve {
                at: group.at,
                load: LoadKey { block: None, ..group.load.clone() },
                direction: load.direction,
                caching: load.caching,
                points: vec![point],
                fit: None,
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by_key(|p| p.block);
        let row = |p: &Point| {
            let cost = p.seconds();
            CostSample { parts: vec![1.0, p.block as f64], cost, error: cost * p.error() }
        };
        // A line needs more than three sizes.
        let rows: Vec<CostSample> = curve.points.iter().map(row).collect();
        curve.fit = CostFit::new(&rows).filter(|_| rows.len() > 3 && curve.load.missed.is_none());
    }
    // The order of measurement is random; this is the order of the report.
    curves.sort_by_key(|c| (c.at, c.direction == Direction::Read, c.caching == Caching::Direct));
    curves
}

impl Curve {
    pub fn best(&self) -> Option<&Point> {
        self.points.iter().max_by(|a, b| a.speed.value.total_cmp(&b.speed.value))
    }

    /// The smallest size from which on all are about as good as the fastest, whole intervals included; `None` where the
    /// largest is not.
    pub fn enough(&self) -> Option<&Point> {
        self.from(|p| p.speed.low)
    }

    /// The same by the values alone.
    pub fn seems_enough(&self) -> Option<&Point> {
        self.from(|p| p.speed.value)
    }

    fn from(&self, speed: impl Fn(&Point) -> f64) -> Option<&Point> {
        let least = AS_GOOD * self.best()?.speed.value;
        self.points.iter().rev().take_while(|p| speed(p) >= least).last()
    }

    /// Its speed as a share of the fastest.
    pub fn share(&self, point: &Point) -> f64 {
        self.best().map_or(f64::NAN, |best| point.speed.value / best.speed.value)
    }

    /// The fixed cost of a transfer, s.
    pub fn cost(&self) -> Option<Estimate> {
        Some(self.fit.as_ref()?.cost(0))
    }

    /// The speed of the bytes without the fixed cost, bytes per second.
    pub fn rate(&self) -> Option<Estimate> {
        Some(self.fit.as_ref()?.rate(1)).filter(|rate| rate.value.is_finite())
    }

    /// The size whose bytes take as long as the fixed cost; `None` where that is not resolved.
    pub fn knee(&self) -> Option<Estimate> {
        let knee = self.fit.as_ref()?.ratio(0, 1);
        let (first, last) = (self.points.first()?, self.points.last()?);
        // There is none outside the measured sizes, where the fixed cost may be zero, or where the model is wrong.
        let within = (first.block as f64 / 4.0..=last.block as f64).contains(&knee.value);
        (within && self.cost()?.low > 0.0 && self.misfit().is_none()).then_some(knee)
    }

    /// The size where the model is furthest off, and by what share, if that is too far.
    pub fn misfit(&self) -> Option<(&Point, f64)> {
        let fit = self.fit.as_ref()?;
        let off = |p: &Point| (fit.at(&[1.0, p.block as f64]) / p.seconds() - 1.0).abs();
        let furthest = self.points.iter().map(|p| (p, off(p))).max_by(|a, b| a.1.total_cmp(&b.1));
        furthest.filter(|(_, off)| *off > OFF)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A curve of sizes from 4 KiB in doublings; each speed with the ends of its interval.
    pub fn curve(direction: Direction, caching: Caching, speeds: &[[f64; 3]]) -> Curve {
        let point = |(i, &[value, low, high]): (usize, &[f64; 3])| Point {
            block: 4096 << i,
            speed: Estimate { low, high, ..Estimate::unbounded(value, "") },
            runs: 6,
        };
        let points = speeds.iter().enumerate().map(point).collect();
        Curve { at: 0, load: LoadKey::default(), direction, caching, points, fit: None }
    }

    #[test]
    fn a_size_is_enough_only_if_the_whole_intervals_of_all_larger_ones_are() {
        let enough = |speeds: &[[f64; 3]]| {
            let curve = curve(Direction::Read, Caching::Direct, speeds);
            let times = |p: &Point| p.block / 4096;
            (curve.enough().map(times), curve.seems_enough().map(times))
        };
        let exact = |speeds: &[f64]| enough(&speeds.iter().map(|&s| [s, s, s]).collect::<Vec<_>>());
        assert_eq!(exact(&[10.0, 50.0, 95.0, 100.0]), (Some(4), Some(4)));
        assert_eq!(exact(&[95.0, 50.0, 100.0, 91.0]), (Some(4), Some(4)), "the first is fast by chance");
        assert_eq!(exact(&[95.0, 100.0, 50.0]), (None, None));
        let noisy = [[50.0, 49.0, 51.0], [95.0, 80.0, 99.0], [99.0, 95.0, 101.0], [100.0, 97.0, 102.0]];
        assert_eq!(enough(&noisy), (Some(4), Some(2)), "2 may be a fifth slower");
        assert_eq!(enough(&[[100.0, 97.0, 102.0], [99.0, 70.0, 101.0]]), (None, Some(1)));
    }
}
