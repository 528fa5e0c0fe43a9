//! Drives of one model in the same run: which of them is slower than the others, and where.

use super::act::Pass;
use crate::analyse::{Estimate, repeat};

/// The fewest drives of one model among which an outlier can be identified.
const LEAST_ALIKE: usize = 3;
/// A drive is slow where the interval of its ratio to the others is below this.
const SLOW: f64 = 0.95;
/// Ranges of a drive that are compared.
const RANGES: usize = 10;

/// A range over which a drive is slower than others of its model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slower {
    pub pass: Pass,
    /// Number of drives compared, including itself.
    pub alike: usize,
    /// Its speed over the median of all, in this range.
    pub ratio: Estimate,
    /// Begin and end of the range, as shares of the drive.
    pub from: f64,
    pub to: f64,
}

/// The speeds of a pass over a drive at equally spaced positions.
pub(super) type Speeds = Vec<Option<f64>>;

/// Where each of these drives is slower than the median of all of them.
///
/// The ratio of a drive to the median is taken at each position, so that what slows all drives alike cancels. Of all ranges of whole
/// tenths, a drive is slow in the one with the largest shortfall below 95 %, summed over logarithms as in a scan statistic, among
/// those whose interval lies below 95 %. Intervals are Student's over the logarithms of the ratios, with Bonferroni's correction
/// for all ranges and drives.
pub(super) fn slower(pass: Pass, drives: &[&Speeds]) -> Vec<Option<Slower>> {
    let positions = drives.iter().map(|speeds| speeds.len()).max().unwrap_or(0);
    let speed =
        |drive: usize, at: usize| drives[drive].get(at).copied().flatten().filter(|speed| *speed > 0.0);
    let median = |at: usize| {
        let known: Vec<f64> = (0..drives.len()).filter_map(|drive| speed(drive, at)).collect();
        repeat::median(&known).filter(|_| known.len() >= LEAST_ALIKE).map(|median| median.value)
    };
    let medians: Vec<Option<f64>> = (0..positions).map(median).collect();
    let ranges: Vec<(usize, usize)> =
        (0..RANGES).flat_map(|from| (from + 1..=RANGES).map(move |to| (from, to))).collect();
    let in_range = |drive: usize, (from, to): (usize, usize)| {
        let places = from * positions / RANGES..to * positions / RANGES;
        let ratios: Vec<f64> = places.filter_map(|at| Some(speed(drive, at)? / medians[at]?)).collect();
        let ratio = repeat::typical_of(ranges.len() * drives.len(), &ratios)?;
        let is_slow = ratio.is_bounded() && ratio.high < SLOW;
        is_slow.then(|| (ratios.len() as f64 * (SLOW / ratio.value).ln(), ratio))
    };
    let found = |drive: usize| {
        let slow = ranges.iter().filter_map(|range| Some((*range, in_range(drive, *range)?)));
        let ((from, to), (_, ratio)) = slow.max_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b))?;
        let share = |range: usize| range as f64 / RANGES as f64;
        Some(Slower { pass, alike: drives.len(), ratio, from: share(from), to: share(to) })
    };
    (0..drives.len()).map(found).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const POSITIONS: usize = 56;

    /// Drives whose speed falls to the inside as that of disks, with noise.
    fn lot(seed: u64, drives: usize, noise: f64) -> Vec<Speeds> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let noise = Normal::new(1.0, noise).expect("a spread");
        let speed = |at: usize| 200e6 - 100e6 * at as f64 / POSITIONS as f64;
        (0..drives)
            .map(|_| (0..POSITIONS).map(|at| Some(speed(at) * noise.sample(&mut random))).collect())
            .collect()
    }

    fn compared(drives: &[Speeds]) -> Vec<Option<Slower>> {
        slower(Pass::Verify, &drives.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_drive_that_is_slower_from_some_point_on_is_named_with_that_point() {
        let mut drives = lot(1, 4, 0.02);
        drives[2].iter_mut().skip(POSITIONS * 6 / 10).flatten().for_each(|speed| *speed *= 0.85);
        let found = compared(&drives);
        assert!(found[0].is_none() && found[1].is_none() && found[3].is_none(), "{found:?}");
        let slow = found[2].as_ref().expect("it is slower");
        assert_eq!((slow.alike, slow.from, slow.to), (4, 0.6, 1.0));
        assert!((slow.ratio.value - 0.85).abs() < 0.02 && slow.ratio.high < SLOW, "{slow:?}");
    }

    #[test]
    fn a_range_is_found_that_no_tenth_of_it_shows_alone() {
        let mut drives = lot(3, 4, 0.15);
        drives[0].iter_mut().skip(POSITIONS / 2).flatten().for_each(|speed| *speed *= 0.7);
        let found = compared(&drives);
        let slow = found[0].as_ref().expect("it is slower");
        assert!((slow.from - 0.5).abs() < 0.11 && slow.to > 0.85, "{slow:?}");
        assert!(found[1..].iter().all(Option::is_none), "{found:?}");
    }

    #[test]
    fn good_drives_are_not_called_slow() {
        let lots = (0..500).filter(|seed| compared(&lot(*seed, 4, 0.03)).iter().any(Option::is_some)).count();
        assert_eq!(lots, 0);
    }

    #[test]
    fn two_drives_are_not_compared_and_small_differences_are_none() {
        let mut two = lot(1, 2, 0.01);
        two[0].iter_mut().flatten().for_each(|speed| *speed *= 0.5);
        assert_eq!(compared(&two), [None, None]);
        let mut three = lot(1, 3, 0.01);
        three[0].iter_mut().flatten().for_each(|speed| *speed *= 0.97);
        assert_eq!(compared(&three), [None, None, None]);
        three[0].iter_mut().flatten().for_each(|speed| *speed *= 0.8);
        let slow = compared(&three).remove(0).expect("it is slower");
        assert_eq!((slow.from, slow.to), (0.0, 1.0));
    }

    #[test]
    fn a_drive_that_was_left_out_is_compared_as_far_as_it_came() {
        let mut drives = lot(1, 4, 0.01);
        drives[0].truncate(POSITIONS / 2);
        drives[1].iter_mut().take(POSITIONS / 4).for_each(|speed| *speed = None);
        assert_eq!(compared(&drives), [None, None, None, None]);
    }
}
