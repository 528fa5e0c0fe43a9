//! The write unit of a drive: smaller transfers cost as much as a whole unit, or more.

use super::cost_fit::{CostFit, CostSample};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WriteUnit {
    /// Its size, bytes; one of the sizes that were measured.
    pub bytes: f64,
    pub confidence: f64,
    /// The extra time of a transfer of half a unit, as a share.
    pub excess: f64,
}

/// The model error between sizes, which repetitions don't show, as a share.
const OTHER: f64 = 0.02;
const SURE: f64 = 0.9;
/// A smaller step, as a share, is not reported.
const VISIBLE: f64 = 0.1;

/// The parts of the cost of so many bytes, with a unit, above or below it.
type Parts = fn(f64, f64, bool) -> Vec<f64>;

/// Below a unit, a transfer costs as much as the unit, and more; or its bytes have a rate of their own.
const KINDS: [Parts; 2] = [
    |bytes, unit, below| vec![1.0, bytes.max(unit), f64::from(u8::from(below))],
    |bytes, _, below| if below { vec![1.0, 0.0, bytes] } else { vec![1.0, bytes, 0.0] },
];

/// Finds the unit in (bytes, seconds, error of seconds) of transfers; `None` where none is visible. Compares curves with
/// a unit of each size to the curve without a unit, by the Bayesian information criterion.
pub fn write_unit(transfers: &[(f64, f64, f64)]) -> Option<WriteUnit> {
    let rows = |parts: &dyn Fn(f64) -> Vec<f64>| -> Vec<CostSample> {
        let row = |bytes, cost: f64, error: f64| CostSample {
            parts: parts(bytes),
            cost,
            error: error.max(cost * OTHER),
        };
        transfers.iter().map(|&(bytes, cost, error)| row(bytes, cost, error)).collect()
    };
    let n = transfers.len() as f64;
    let plain = CostFit::new(&rows(&|s| vec![1.0, s]))?;
    let enough = |unit: &f64| {
        let below = transfers.iter().filter(|t| t.0 < *unit).count();
        below >= 2 && transfers.len() - below >= 3
    };
    let fit = |unit: f64| {
        KINDS.map(|parts| Some((unit, parts, CostFit::new(&rows(&|s| parts(s, unit, s < unit)))?)))
    };
    let fits: Vec<_> = transfers.iter().map(|t| t.0).filter(enough).flat_map(fit).flatten().collect();
    let (.., closest) = fits.iter().min_by(|a, b| a.2.squares.total_cmp(&b.2.squares))?;
    // If even the best curve deviates by more than the errors, the errors are scaled up.
    let scale = (closest.squares / (n - 3.0)).max(1.0);
    let weight = |fit: &CostFit, parts: f64| -(fit.squares / scale + parts * n.ln()) / 2.0;
    let best = weight(&plain, 2.0).max(fits.iter().map(|f| weight(&f.2, 3.0)).fold(f64::MIN, f64::max));
    let share = |weight: f64| (weight - best).exp();
    // Equal prior probabilities for a unit and for none.
    let all = fits.len() as f64;
    let of_units: f64 = fits.iter().map(|f| share(weight(&f.2, 3.0))).sum::<f64>() / all;
    let (bytes, parts, fit) = fits.iter().max_by(|a, b| weight(&a.2, 3.0).total_cmp(&weight(&b.2, 3.0)))?;
    let same = fits.iter().filter(|f| f.0 == *bytes);
    let own = same.map(|f| share(weight(&f.2, 3.0))).sum::<f64>() / all;
    let confidence = own / (of_units + share(weight(&plain, 2.0)));
    let half = |below: bool| fit.at(&parts(bytes / 2.0, if below { *bytes } else { 0.0 }, below));
    let excess = half(true) / half(false) - 1.0;
    (confidence >= SURE && excess >= VISIBLE).then_some(WriteUnit { bytes: *bytes, confidence, excess })
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// What transfers of 512 B to 1 MiB take by `truth`, each within 2 %.
    fn seen(random: &mut Xoshiro256PlusPlus, truth: impl Fn(f64) -> f64) -> Vec<(f64, f64, f64)> {
        let sizes = (9..=20).map(|power| f64::from(1 << power));
        let noisy = |s: f64, noise: f64| (s, truth(s) * (1.0 + 0.02 * noise), truth(s) * 0.02);
        sizes.map(|s| noisy(s, random.sample(StandardNormal))).collect()
    }

    #[test]
    fn a_drive_without_a_unit_has_none() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut alarms = 0;
        for i in 0..1000 {
            let (fixed, rate) = (1e-5 * f64::from(1 + i % 50), 1e6 * f64::from(1 + i % 30));
            alarms += usize::from(write_unit(&seen(&mut random, |s| fixed + s / rate)).is_some());
        }
        assert!(alarms <= 50, "{alarms} of 1000");
    }

    #[test]
    fn pages_and_partial_writes_are_found() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let (mut page, mut partial) = (0, 0);
        for _ in 0..200 {
            let pages = write_unit(&seen(&mut random, |s| 2e-4 + s.max(16384.0) / 10e6));
            page += usize::from(pages.is_some_and(|u| u.bytes == 16384.0));
            let reads =
                write_unit(&seen(&mut random, |s| 4e-4 + s / 10e6 + if s < 8192.0 { 2e-3 } else { 0.0 }));
            partial += usize::from(reads.is_some_and(|u| u.bytes == 8192.0));
        }
        assert!(page >= 195 && partial >= 195, "{page} and {partial} of 200");
        let mut rates = 0;
        for _ in 0..200 {
            let two = write_unit(&seen(&mut random, |s| 2e-4 + s / if s < 131_072.0 { 3e6 } else { 15e6 }));
            rates += usize::from(two.is_some_and(|u| u.bytes == 131_072.0 && u.excess > 1.0));
        }
        assert!(rates >= 190, "{rates} of 200 with a rate below the unit and another above it");
        assert_eq!(write_unit(&[]), None);
        assert_eq!(write_unit(&[(512.0, 1.0, 0.1); 4]), None);
    }
}
