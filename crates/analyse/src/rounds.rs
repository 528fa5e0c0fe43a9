//! The speed of a load that was measured in rounds: in pieces of a fixed time, between which the drive does other things for
//! irregular times. `bench/rounds` measures how often its intervals hold the long-run mean.

use super::{Estimate, estimate::FLOOR, interval::student};

/// The fewest rounds that have an interval: two pairs.
pub const LEAST: usize = 4;
/// Student's interval of a few pieces is widened by this factor, because speeds of pieces with stalls are not normal.
const WIDEN: f64 = 1.2;

/// One piece of a load: what was moved, and how long that took with the operation that was under way at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    pub bytes: u64,
    pub seconds: f64,
}

impl Piece {
    /// Bytes per second.
    pub fn speed(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// Whether the half-width of their speed is more than `precision`, or not known.
pub fn is_wide(pieces: &[Piece], precision: f64) -> bool {
    speed(pieces, precision).is_none_or(|estimate| !estimate.converged)
}

/// How many rounds would show the speed to `precision`, if they scatter as these do; `None` where that can't be said.
pub fn needed(pieces: &[Piece], precision: f64) -> Option<f64> {
    let speed = speed(pieces, precision)?;
    let [low, high] = speed.within?;
    let aim = (precision * precision - FLOOR * FLOOR).sqrt();
    let times = (high - low) / 2.0 / speed.value / aim;
    times.is_finite().then_some(pieces.len() as f64 * times * times)
}

/// The mean speed over time of the pieces, bytes per second; `None` if nothing was moved. Its interval is the wider of Student's
/// over pieces and over pairs of neighbours, which is wider where speeds drift, and includes the spread between runs.
pub fn speed(pieces: &[Piece], precision: f64) -> Option<Estimate> {
    let bytes: u64 = pieces.iter().map(|piece| piece.bytes).sum();
    let seconds: f64 = pieces.iter().map(|piece| piece.seconds).sum();
    let value = bytes as f64 / seconds;
    if bytes == 0 || !value.is_finite() {
        return None;
    }
    // A ratio of two sums: the residuals are the bytes of each piece beyond the mean speed (Cochran 1977, 6.3).
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
    let within = WIDEN * half(1).max(half(2));
    let ends = |half: f64| [(value - half).max(0.0), value + half];
    let half = within.hypot(FLOOR * value);
    let estimate = Estimate::new(value, ends(half), how, half <= precision * value);
    Some(Estimate { within: Some(ends(within)), ..estimate })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(speeds: &[(u64, f64)]) -> Vec<Piece> {
        speeds.iter().map(|&(bytes, seconds)| Piece { bytes, seconds }).collect()
    }

    #[test]
    fn the_speed_is_that_over_all_of_the_time() {
        // A stall of 8 s in one of seven pieces.
        let mut all = vec![(100, 1.0); 7];
        all[3].1 = 9.0;
        let found = speed(&pieces(&all), 0.1).expect("a speed");
        assert!((found.value - 700.0 / 15.0).abs() < 1e-9 && !found.converged, "{found:?}");
        assert!(found.low < 20.0 && found.high > 70.0, "{found:?}");
    }

    #[test]
    fn equal_pieces_have_the_interval_that_runs_differ_by() {
        let found = speed(&pieces(&[(100, 1.0); 7]), 0.1).expect("a speed");
        assert!((found.half_width() - FLOOR).abs() < 1e-9 && found.converged, "{found:?}");
        assert_eq!(found.within, Some([100.0, 100.0]));
    }

    #[test]
    fn a_drift_widens_the_interval_more_than_scatter_does() {
        let half = |all: &[(u64, f64)]| speed(&pieces(all), 0.1).expect("a speed").half_width();
        let drift: Vec<(u64, f64)> = (0..8).map(|i| (100 + 5 * i, 1.0)).collect();
        let mixed = [0, 4, 2, 6, 1, 5, 3, 7].map(|i| drift[i]);
        assert!(half(&drift) > 1.3 * half(&mixed), "{} and {}", half(&drift), half(&mixed));
    }

    #[test]
    fn few_pieces_have_no_interval_and_none_no_speed() {
        let found = speed(&pieces(&[(100, 1.0); LEAST - 1]), 0.1).expect("a speed");
        assert!(!found.is_bounded());
        assert_eq!(speed(&pieces(&[(0, 1.0); 7]), 0.1), None);
        assert_eq!(speed(&[], 0.1), None);
    }
}
