//! Cliffs with intervals: the bytes written before the drop, and the speed before and after.

use super::{
    Estimate,
    assessment::{WIDEN, assess},
    chunks::Chunks,
    cliff::Cut,
    interval::average,
};
use crate::units::MIB;

/// The 95th percentile of the likelihood ratio at a change-point's true position (Hansen 2000, table I).
const RATIO: f64 = 7.35;

/// The speed dropped once and stayed low.
#[derive(Debug, Clone, PartialEq)]
pub struct CliffEstimate {
    /// Bytes moved before it, since the load's start.
    pub at: Estimate,
    /// Sustained throughput before and after, stalls included, bytes per second.
    pub before: Estimate,
    pub after: Estimate,
    /// A linear decline fits better than a step, so there is no definite position.
    pub gradual: bool,
}

pub(crate) fn cliff_estimates(series: &Chunks, cuts: &[Cut]) -> Vec<CliffEstimate> {
    let (x, chunk_mib) = (&series.x[..], series.chunk_mib());
    let ends = cuts.iter().skip(1).map(|next| next.at).chain([x.len()]);
    let mut start = 0;
    let mut falls = Vec::new();
    for (cut, end) in cuts.iter().zip(ends) {
        let Some(place) = x.get(start..end).and_then(|x| change_point(x, cut)) else { continue };
        let at = |chunk: usize| series.bytes_before(start + chunk) as f64;
        let [low, best, high] = [place.low, place.best, place.high].map(|chunk| chunk + start);
        falls.push(CliffEstimate {
            // A drop within a chunk can be anywhere in it.
            at: Estimate::new(
                at(place.best),
                [at(place.low.saturating_sub(1)), at(place.high + 1)],
                "change-point, likelihood ratio",
                true,
            ),
            before: speed(&x[start..low.max(start + 1)], chunk_mib),
            after: speed(&x[high.min(end - 1)..end], chunk_mib),
            gradual: place.gradual,
        });
        start = best.max(cut.at);
    }
    falls
}

struct ChangePoint {
    low: usize,
    best: usize,
    high: usize,
    gradual: bool,
}

/// The least-squares split, and the range of splits that are not significantly worse. Logarithms are clamped
/// to the two levels, so that a stall weighs no more than any slow chunk.
fn change_point(x: &[f64], cut: &Cut) -> Option<ChangePoint> {
    let (fast, slow) = (cut.before.ln(), cut.after.ln());
    let margin = (slow - fast) / 2.0;
    let y: Vec<f64> = x.iter().map(|x| x.ln().clamp(fast - margin, slow + margin)).collect();
    let n = y.len();
    if n < 4 || !margin.is_finite() {
        return None;
    }
    let mean = average(&y);
    let squares: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    let mut left = 0.0;
    // Sums of centred values give the residual of a split at k.
    let rest: Vec<f64> = y[..n - 1]
        .iter()
        .enumerate()
        .map(|(i, y)| {
            left += y - mean;
            let k = (i + 1) as f64;
            squares - left * left * (1.0 / k + 1.0 / (n as f64 - k))
        })
        .collect();
    let (least, best) = rest.iter().zip(1..).map(|(r, k)| (*r, k)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (l, r) = (average(&y[..best]), average(&y[best..]));
    let errors: Vec<f64> = y.iter().enumerate().map(|(i, y)| y - if i < best { l } else { r }).collect();
    let variance = errors.iter().map(|e| e * e).sum::<f64>() / n as f64;
    // Correlated neighbours carry less information than independent values.
    let alike = errors.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / (n as f64 * variance);
    let alike = if alike.is_finite() { alike.clamp(0.0, 0.9) } else { 0.0 };
    let worst = least + RATIO * variance * (1.0 + alike) / (1.0 - alike);
    let good = |r: &f64| *r <= worst.max(least * (1.0 + 1e-9));
    let low = rest.iter().position(good)? + 1;
    let high = rest.iter().rposition(good)? + 1;
    Some(ChangePoint { low, best, high, gradual: line(&y, mean, squares) < least })
}

/// The residual sum of squares of the best straight line.
fn line(y: &[f64], mean: f64, squares: f64) -> f64 {
    let n = y.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let slope: f64 = y.iter().enumerate().map(|(i, y)| (i as f64 - middle) * (y - mean)).sum();
    squares - slope * slope * 12.0 / (n * (n * n - 1.0))
}

fn speed(x: &[f64], chunk_mib: f64) -> Estimate {
    match assess(x, chunk_mib) {
        Some(judged) => judged.speed(WIDEN, "batch means", true),
        None => Estimate::unbounded(MIB as f64 / average(x), "too short for an interval"),
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::{cliff, stalls};

    fn found(x: &[f64]) -> Vec<CliffEstimate> {
        let mut series = Chunks::default();
        (series.x, series.bytes, series.chunk) = (x.to_vec(), vec![MIB; x.len()], MIB);
        cliff_estimates(&series, &cliff::find(&stalls::split(x, 1.0).base))
    }

    /// Chunks of two levels, s per MiB, with correlated noise.
    fn two(random: &mut Xoshiro256PlusPlus, at: usize, n: usize, levels: (f64, f64), noise: f64) -> Vec<f64> {
        let mut last: f64 = random.sample(StandardNormal);
        (0..n)
            .map(|i| {
                let fresh: f64 = random.sample(StandardNormal);
                last = 0.5 * last + 0.75f64.sqrt() * fresh;
                (if i < at { levels.0 } else { levels.1 }) * (noise * last).exp()
            })
            .collect()
    }

    #[test]
    fn intervals_of_the_change_point_cover_95_percent() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        // From an obvious drop to a barely detectable one in strong noise.
        for (levels, noise, width) in
            [((0.05, 0.2), 0.05, 3.0), ((0.05, 0.0625), 0.1, 60.0), ((0.05, 0.1), 0.2, 30.0)]
        {
            let (mut seen, mut held, mut wide) = (0, 0, 0.0);
            for _ in 0..400 {
                let truth = random.random_range(80..300);
                let x = two(&mut random, truth, 500, levels, noise);
                if let [fall] = &found(&x)[..] {
                    let truth = (truth as u64 * MIB) as f64;
                    seen += 1;
                    held += u32::from(fall.at.low <= truth && truth <= fall.at.high);
                    wide += (fall.at.high - fall.at.low) / MIB as f64;
                }
            }
            assert!(seen >= 100, "{levels:?}: {seen} seen");
            assert!(f64::from(held) >= 0.95 * f64::from(seen), "{levels:?}: {held} of {seen}");
            assert!(wide / f64::from(seen) <= width, "{levels:?}: {} MiB wide", wide / f64::from(seen));
        }
    }

    #[test]
    fn stalls_do_not_shift_the_change_point() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(6);
        let mut x = two(&mut random, 200, 500, (0.05, 0.2), 0.05);
        for at in [20, 90, 170, 195, 240, 400] {
            x[at] += 2.6;
        }
        let falls = found(&x);
        let [fall] = &falls[..] else { panic!("{falls:?}") };
        assert!((fall.at.value / MIB as f64 - 200.0).abs() <= 1.0 && !fall.gradual, "{fall:?}");
        let stalled = MIB as f64 / ((200.0 * 0.05 + 4.0 * 2.6) / 200.0);
        assert!(fall.before.low <= stalled && stalled <= fall.before.high, "{:?}", fall.before);
    }

    #[test]
    fn a_gradual_decline_is_marked_gradual() {
        let slope: Vec<f64> =
            (0..500).map(|i| 0.05 * (1.0 + f64::from(i) / 400.0) * (1.0 + 1e-3 * f64::from(i % 7))).collect();
        assert!(found(&slope).iter().all(|fall| fall.gradual) && !found(&slope).is_empty());
        assert_eq!(found(&[0.05; 500]), []);
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn two_cliffs_are_found_one_after_the_other() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut x = two(&mut random, 200, 600, (0.05, 0.2), 0.03);
        x.extend(two(&mut random, 0, 400, (0.1, 0.5), 0.03));
        let falls = found(&x);
        let [a, b] = &falls[..] else { panic!("{falls:?}") };
        assert_eq!([a, b].map(|f| (f.at.value / MIB as f64).round()), [200.0, 600.0]);
        assert!((a.after.value / (MIB as f64 / 0.2) - 1.0).abs() < 0.02, "{a:?}");
        assert!((b.before.value / a.after.value - 1.0).abs() < 0.02, "{b:?}");
    }
}
