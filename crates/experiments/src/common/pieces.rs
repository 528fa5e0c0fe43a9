//! Curves of the pieces that a load was measured in.

use crate::{
    analyse::{
        Estimate,
        rounds::{self, Piece},
    },
    findings::{Curve, Point, Style},
};

/// How to read figures with these curves.
pub(in super::super) const READING: &str = "A dot is a piece of a load. The line is the mean speed over time with its 95 % \
     interval. The histogram at the right shows the same pieces.";

/// The most means of a curve.
const MEANS: usize = 12;
/// The pieces of a mean, where the columns are not given.
const PER_MEAN: usize = 5;
/// A piece with the ends of its place on the axis.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Placed {
    pub from: f64,
    pub to: f64,
    pub piece: Piece,
}

/// Every piece as a dot, and a step line of means over time. `ends` are the ends of the rounds, of which several share a column
/// if there are many; without rounds the columns are equally wide.
pub(in super::super) fn curves(name: &str, pieces: &[Placed], ends: &[f64]) -> [Curve; 2] {
    let dots = pieces.iter().map(|p| Point::new((p.from + p.to) / 2.0, p.piece.speed()));
    let means = columns(pieces, ends).into_iter().flat_map(step);
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
        let [dots, line] = curves("", pieces, ends);
        assert_eq!((dots.points.len(), dots.style, line.style), (pieces.len(), Style::Pieces, Style::Line));
        assert!(line.points.is_sorted_by(|a, b| a.x <= b.x), "{line:?}");
        line.points
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
        let level = line(&all, &[1.1]);
        assert!(level.iter().all(|p| (p.y - 1100.0 / 10.0).abs() < 1e-9), "{level:?}");
    }

    #[test]
    fn few_pieces_are_one_column_and_none_has_none() {
        assert_eq!(line(&pieces([100; 3]), &[]).len(), 2);
        assert!(line(&[], &[]).is_empty() && line(&[], &[1.0]).is_empty());
    }
}
