//! Curves of the pieces that a load was measured in.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    analyse::{
        Estimate,
        rounds::{self, Piece},
    },
    findings::{Curve, Point, Style},
};

/// How to read figures with these curves.
pub(in super::super) const READING: &str = "A dot is a piece of a load. The line is the mean speed over time with its 95 % \
     interval; it is level where a permutation test finds no change. The histogram at the right shows the same pieces.";

/// The most means of a curve.
const MEANS: usize = 12;
/// The pieces of a mean, where the columns are not given.
const PER_MEAN: usize = 5;
/// Permutations of the pieces, and the seed of their order.
const SHUFFLES: usize = 199;
const SEED: u64 = 44;
/// The means vary if so few of the permutations vary as much.
const CHANCE: f64 = 0.05;

/// A piece with the ends of its place on the axis.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Placed {
    pub from: f64,
    pub to: f64,
    pub piece: Piece,
}

/// Every piece as a dot, and a step line of means over time. `ends` are the ends of the rounds, of which several share a column
/// if there are many; without rounds the columns are equally wide. One level line shows `whole` where the means vary by chance.
pub(in super::super) fn curves(name: &str, pieces: &[Placed], ends: &[f64], whole: &Estimate) -> [Curve; 2] {
    let dots = pieces.iter().map(|p| Point::new((p.from + p.to) / 2.0, p.piece.speed()));
    let columns = columns(pieces, ends);
    let means: Vec<Point> = match (pieces.first(), pieces.last()) {
        (Some(first), Some(last)) if vary_by_chance(pieces, &columns) => {
            [first.from, last.to].map(|x| Point::of(x, whole)).to_vec()
        }
        _ => columns.iter().flat_map(|column| step(column)).collect(),
    };
    [Curve::new(name, Style::Pieces, dots), Curve::new(name, Style::Line, means)]
}

fn columns<'a>(pieces: &'a [Placed], ends: &[f64]) -> Vec<&'a [Placed]> {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Vec::new() };
    let ends: Vec<f64> = if ends.is_empty() {
        let n = (pieces.len() / PER_MEAN).clamp(1, MEANS);
        (1..=n).map(|i| first.from + (last.to - first.from) * i as f64 / n as f64).collect()
    } else {
        ends.chunks(ends.len().div_ceil(MEANS)).filter_map(|ends| ends.last().copied()).collect()
    };
    let column = |p: &Placed| ends.partition_point(|end| *end < (p.from + p.to) / 2.0).min(ends.len() - 1);
    pieces.chunk_by(|a, b| column(a) == column(b)).collect()
}

/// The mean of a column from its beginning to its end, with Student's interval.
fn step(column: &[Placed]) -> Vec<Point> {
    let all: Vec<Piece> = column.iter().map(|p| p.piece).collect();
    let estimate = rounds::speed(&all, f64::INFINITY);
    let point = |x, e: &Estimate| Point {
        interval: e.within.map(|[low, high]| (low, high)),
        ..Point::new(x, e.value)
    };
    let ends = column.first().zip(column.last()).zip(estimate);
    ends.map(|((first, last), e)| vec![point(first.from, &e), point(last.to, &e)]).unwrap_or_default()
}

/// A permutation test (Good 2005, 3.1) of the variance between columns; the observed order is included.
fn vary_by_chance(pieces: &[Placed], columns: &[&[Placed]]) -> bool {
    let mut shuffled: Vec<Piece> = pieces.iter().map(|p| p.piece).collect();
    let mean = sum(&shuffled).speed();
    let between = |mut rest: &[Piece]| {
        let each = columns.iter().map(|column| {
            let (own, later) = rest.split_at(column.len());
            rest = later;
            let own = sum(own);
            own.seconds * (own.speed() - mean).powi(2)
        });
        each.sum::<f64>()
    };
    let observed = between(&shuffled);
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(SEED);
    let as_much = (0..SHUFFLES).filter(|_| {
        shuffled.shuffle(random);
        between(&shuffled) >= observed
    });
    (1 + as_much.count()) as f64 / (1 + SHUFFLES) as f64 > CHANCE
}

fn sum(pieces: &[Piece]) -> Piece {
    let bytes = pieces.iter().map(|piece| piece.bytes).sum();
    Piece { bytes, seconds: pieces.iter().map(|piece| piece.seconds).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of 0.1 s with these speeds.
    fn pieces(speeds: impl IntoIterator<Item = u64>) -> Vec<Placed> {
        let place = |(i, speed): (u32, u64)| {
            let (from, to) = (f64::from(i) / 10.0, f64::from(i + 1) / 10.0);
            Placed { from, to, piece: Piece { bytes: speed, seconds: 0.1 } }
        };
        (0..).zip(speeds).map(place).collect()
    }

    fn line(pieces: &[Placed], ends: &[f64]) -> Vec<Point> {
        let whole: Vec<Piece> = pieces.iter().map(|p| p.piece).collect();
        let whole = rounds::speed(&whole, 0.1).unwrap_or_else(|| Estimate::unbounded(0.0, ""));
        let [dots, line] = curves("", pieces, ends, &whole);
        assert_eq!((dots.points.len(), dots.style, line.style), (pieces.len(), Style::Pieces, Style::Line));
        assert!(line.points.is_sorted_by(|a, b| a.x <= b.x), "{line:?}");
        line.points
    }

    #[test]
    fn two_speeds_in_random_order_are_one_level_line() {
        let mut speeds = [[100; 90], [300; 90]].concat();
        speeds.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(1));
        let level = line(&pieces(speeds), &[]);
        let [a, b] = level[..] else { panic!("{level:?}") };
        assert!(a.x == 0.0 && (a.y - 2000.0).abs() < 1e-9 && a.y == b.y, "{level:?}");
        assert!(a.interval.is_some_and(|(low, high)| low < a.y && a.y < high), "{a:?}");
    }

    #[test]
    fn one_speed_after_another_is_a_step() {
        let steps = line(&pieces([[300; 60], [100; 60]].concat()), &[]);
        assert_eq!(steps.len(), 2 * MEANS);
        assert!(steps[..MEANS].iter().all(|p| (p.y - 3000.0).abs() < 1e-9), "{steps:?}");
        assert!(steps[MEANS..].iter().all(|p| (p.y - 1000.0).abs() < 1e-9), "{steps:?}");
    }

    #[test]
    fn columns_end_with_rounds_and_are_few() {
        let all = pieces((0..260).map(|i| 100 + i));
        for rounds in [1, 7, 12, 13, 28] {
            let ends: Vec<f64> = (1..=rounds).map(|n| 26.0 * f64::from(n) / f64::from(rounds)).collect();
            let columns = columns(&all, &ends);
            assert!((1..=MEANS).contains(&columns.len()), "{rounds}: {}", columns.len());
            let last = |column: &&[Placed]| column.last().map_or(0.0, |p| p.to);
            assert!(columns.iter().all(|c| ends.iter().any(|end| (end - last(c)).abs() < 0.11)), "{rounds}");
        }
    }

    #[test]
    fn a_mean_is_one_over_time() {
        // A stall of 9 s between pieces of 0.1 s.
        let mut all = pieces([100; 11]);
        all[5].piece.seconds = 9.0;
        let level = line(&all, &[]);
        assert!(level.iter().all(|p| (p.y - 1100.0 / 10.0).abs() < 1e-9), "{level:?}");
    }

    #[test]
    fn few_pieces_have_a_level_line_and_none_has_none() {
        assert_eq!(line(&pieces([100; 3]), &[]).len(), 2);
        assert!(line(&[], &[]).is_empty() && line(&[], &[1.0]).is_empty());
    }
}
