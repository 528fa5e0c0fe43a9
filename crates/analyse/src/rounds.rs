//! The speed of a load that was measured in rounds: in pieces of a fixed time, between which the drive does other things for
//! irregular times. `docs/method.md` has the evidence.

use super::{Estimate, estimate::FLOOR, interval::student};

/// Student's intervals of so few pieces are too narrow where speeds are not normal: the factor was chosen by simulation.
const FEW: f64 = 1.2;

/// One piece of a load: what was moved, and how long that took with the operation that was under way at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    pub bytes: u64,
    pub seconds: f64,
}

/// The mean speed over time of the pieces, bytes per second; `None` if nothing was moved. Its interval is the wider of Student's
/// over pieces and over pairs of neighbours, which are wider where speeds drift, and holds what runs differ by.
pub fn speed(pieces: &[Piece], precision: f64) -> Option<Estimate> {
    let bytes: u64 = pieces.iter().map(|piece| piece.bytes).sum();
    let seconds: f64 = pieces.iter().map(|piece| piece.seconds).sum();
    let value = bytes as f64 / seconds;
    if bytes == 0 || !value.is_finite() {
        return None;
    }
    // A ratio of two sums: the scatter of what each piece moved more than the mean speed does in its time (Cochran 1977, 6.3).
    let more: Vec<f64> = pieces.iter().map(|piece| piece.bytes as f64 - value * piece.seconds).collect();
    let half = |size: usize| {
        let sums = more.chunks(size).map(|group| group.iter().sum::<f64>());
        let (n, squares) = sums.fold((0, 0.0), |(n, squares), sum| (n + 1, squares + sum * sum));
        let deviation = (squares * n as f64 / (n as f64 - 1.0)).sqrt();
        student(n - 1) * deviation / seconds
    };
    let how = format!("t, {} rounds", pieces.len());
    if pieces.len() < LEAST {
        return Some(Estimate::unbounded(value, "too few rounds for an interval"));
    }
    let within = FEW * half(1).max(half(2));
    let ends = |half: f64| [(value - half).max(0.0), value + half];
    let half = within.hypot(FLOOR * value);
    let estimate = Estimate::new(value, ends(half), how, half <= precision * value);
    Some(Estimate { within: Some(ends(within)), ..estimate })
}

/// The fewest rounds that have an interval: two pairs.
pub const LEAST: usize = 4;
