//! Comparison of results: ratios and ranks.

use super::{
    Estimate,
    interval::{deviation, student},
    repeat,
};

/// Upper limit of the standard deviation between runs of most drives. One run can't show it.
const SPREAD: f64 = 0.03;
/// The minimum half-width of one run beside another, which more bytes don't reduce.
const LEAST_HALF_WIDTH: f64 = 2.0 * SPREAD;
/// Half-width within one run from which another run may differ by twice as much: one run shows only a part of slow changes.
const VARIES: f64 = 0.05;

#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    pub estimate: Estimate,
    /// Whether the interval excludes 1. If not, there is no significant difference.
    pub different: bool,
}

/// The conclusion that the interval of a ratio permits: whether two numbers differ, or by what factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    Found,
    /// The interval holds 1.
    NotFound,
    /// Neither equality nor a difference is shown; for multiples, the size of the difference is not shown.
    TooWide,
    /// An end of the interval is not known.
    Unknown,
}

impl Difference {
    /// An interval that holds 1 is too wide if its ends differ by this factor.
    const WIDE: f64 = 4.0;
    /// A multiple is too noisy if its interval reaches further than this many times the value to one side.
    const NOISY: f64 = 3.0;

    /// Whether there is a difference. That is known even where its size is not.
    pub fn of(ratio: &Estimate) -> Self {
        match () {
            () if ratio.low > 1.0 || ratio.high < 1.0 => Self::Found,
            () if !ratio.is_bounded() => Self::Unknown,
            () if ratio.high > Self::WIDE * ratio.low => Self::TooWide,
            () => Self::NotFound,
        }
    }

    /// As [`Self::of`] for multiples, whose size must be known.
    pub fn in_multiples(ratio: &Estimate) -> Self {
        let Estimate { value, low, high, .. } = *ratio;
        match () {
            () if !ratio.is_bounded() => Self::Unknown,
            () if high.max(value * value / low) > Self::NOISY * value => Self::TooWide,
            () if low <= 1.0 && high >= 1.0 => Self::NotFound,
            () => Self::Found,
        }
    }
}

/// `a / b`, with the intervals' logarithms combined in quadrature; `None` if a value or the ratio is not positive and finite.
pub fn ratio(a: &Estimate, b: &Estimate) -> Option<Ratio> {
    let positive = |e: &Estimate| e.value > 0.0 && e.value.is_finite();
    let up = |e: &Estimate| (e.high / e.value).ln();
    let down = |e: &Estimate| (e.value / e.low).ln();
    let value = a.value / b.value;
    if !(positive(a) && positive(b) && value.is_normal() && value.recip().is_finite()) {
        return None;
    }
    let ends = [value * (-down(a).hypot(up(b))).exp(), value * up(a).hypot(down(b)).exp()];
    let estimate = Estimate::new(value, ends, "intervals in quadrature", a.converged && b.converged);
    let different = estimate.low > 1.0 || estimate.high < 1.0;
    Some(Ratio { estimate, different })
}

/// The estimate of one run with an interval that holds another run. The interval within one run may be narrower than runs differ.
/// `spread` is that difference, if it is known from repeated runs.
pub fn across_runs(e: &Estimate, spread: Option<Spread>) -> Estimate {
    if let (Some(known), Some([low, high])) = (spread, e.within) {
        // The assumed spread between runs is replaced by the known one.
        let half = known.half_width();
        let [down, up] = [1.0 - low / e.value, high / e.value - 1.0].map(|within| within.hypot(half));
        return Estimate { low: e.value * (1.0 - down).max(0.0), high: e.value * (1.0 + up), ..e.clone() };
    }
    let least = spread.map_or(LEAST_HALF_WIDTH, |known| known.half_width());
    let [down, up] = e.within.map_or([0.0; 2], |[low, high]| [1.0 - low / e.value, high / e.value - 1.0]);
    let [down, up] = [down, up].map(|within| least.hypot(within * (1.0 + within / VARIES).min(2.0)));
    let low = e.low.min(e.value * (1.0 - down).max(0.0));
    Estimate { low, high: e.high.max(e.value * (1.0 + up)), ..e.clone() }
}

/// How much runs on one drive differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The standard deviation between runs, as a share.
    pub share: f64,
    pub degrees: usize,
}

impl Spread {
    /// From repeated runs, each group of one load on one drive; `None` where they are too few.
    pub fn of(groups: &[Vec<f64>]) -> Option<Self> {
        const LEAST: usize = 3;
        let logs = |group: &Vec<f64>| group.iter().map(|v| v.ln()).collect::<Vec<_>>();
        let part = |group: &Vec<f64>| {
            let degrees = group.len().saturating_sub(1);
            (deviation(&logs(group)).powi(2) * degrees as f64, degrees)
        };
        let parts: Vec<(f64, usize)> = groups.iter().map(part).filter(|part| part.0.is_finite()).collect();
        let degrees = parts.iter().map(|part| part.1).sum();
        let squares: f64 = parts.iter().map(|part| part.0).sum();
        (degrees >= LEAST).then(|| Self { share: (squares / degrees as f64).sqrt(), degrees })
    }

    fn half_width(self) -> f64 {
        student(self.degrees) * self.share
    }
}

/// `a / b` from repeated runs of both: Welch's interval over logarithms; `None` with fewer than two of either.
pub fn ratio_of_runs(a: &[f64], b: &[f64]) -> Option<Ratio> {
    let logs = |runs: &[f64]| runs.iter().map(|v| v.ln()).collect::<Vec<_>>();
    let e = repeat::difference(&logs(a), &logs(b)).filter(|e| e.value.is_finite())?;
    let estimate = Estimate::new(e.value.exp(), [e.low.exp(), e.high.exp()], e.how, false);
    let different = estimate.low > 1.0 || estimate.high < 1.0;
    Some(Ratio { estimate, different })
}

/// Whether two estimates differ significantly.
pub fn differ(a: &Estimate, b: &Estimate) -> bool {
    ratio(a, b).is_some_and(|r| r.different)
}

/// Positions in `estimates` from the largest value to the smallest, in groups: all of a group differ significantly from all of
/// the groups before.
pub fn rank(estimates: &[Estimate]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..estimates.len()).collect();
    order.sort_by(|&a, &b| estimates[b].value.total_cmp(&estimates[a].value));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, &i) in order.iter().enumerate() {
        let (before, after) = order.split_at(at);
        let apart = |a: &usize| after.iter().all(|b| differ(&estimates[*a], &estimates[*b]));
        match groups.last_mut() {
            Some(group) if !before.iter().all(apart) => group.push(i),
            _ => groups.push(vec![i]),
        }
    }
    groups
}

/// Results of one run each that stand in another place of the ranking than more than half of all: their positions, and their
/// ratios to the geometric mean of that majority, where its interval excludes 1. Two can't say which of them is unusual. One
/// that is too noisy hides no others.
pub fn outliers(results: &[&Estimate]) -> Vec<(usize, Estimate)> {
    let all = results.iter().map(|one| across_runs(one, None)).enumerate();
    let (positions, estimates): (Vec<usize>, Vec<Estimate>) = all.filter(|(_, one)| one.is_bounded()).unzip();
    let places = rank(&estimates);
    let Some(most) = places.iter().find(|place| 2 * place.len() > results.len()) else { return Vec::new() };
    let typical = repeat::typical(&most.iter().map(|&at| estimates[at].value).collect::<Vec<_>>());
    let others = (0..estimates.len()).filter(|at| !most.contains(at));
    let ratio = |at: usize| Some((positions[at], ratio(&estimates[at], typical.as_ref()?)?));
    let different = others.filter_map(ratio).filter(|(_, ratio)| ratio.different);
    different.map(|(at, ratio)| (at, ratio.estimate)).collect()
}

/// Positions of the lowest and of the highest, where its interval lies below or above those of all others.
pub fn apart(estimates: &[Estimate]) -> [Option<usize>; 2] {
    let beyond = |is: fn(&Estimate, &Estimate) -> bool| {
        let alone = |&at: &usize| {
            let mut others = estimates.iter().enumerate().filter(|(other, _)| *other != at);
            estimates.len() > 1 && others.all(|(_, other)| is(&estimates[at], other))
        };
        (0..estimates.len()).find(alone)
    };
    [beyond(|one, other| one.high < other.low), beyond(|one, other| one.low > other.high)]
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn of(value: f64, half: f64) -> Estimate {
        Estimate::new(value, [value - half, value + half], "", true)
    }

    #[test]
    fn a_ratio_carries_both_intervals() {
        let r = ratio(&of(20.0, 1.0), &of(10.0, 0.5)).expect("both positive");
        assert_eq!((r.estimate.value, r.different), (2.0, true));
        assert!((r.estimate.low - 1.8640).abs() < 1e-3 && (r.estimate.high - 2.1459).abs() < 1e-3, "{r:?}");
        assert!(!ratio(&of(20.0, 1.0), &of(21.0, 1.0)).expect("both positive").different);
        assert_eq!(ratio(&of(20.0, 1.0), &of(0.0, 0.0)), None);
    }

    #[test]
    fn an_unbounded_interval_is_not_different() {
        let r = ratio(&Estimate::unbounded(100.0, ""), &of(1.0, 0.1)).expect("both positive");
        assert_eq!((r.estimate.low, r.estimate.high, r.different), (0.0, f64::INFINITY, false));
    }

    #[test]
    fn intervals_of_one_run_are_widened_to_the_spread_between_runs() {
        assert_eq!(across_runs(&of(100.0, 0.1), None), of(100.0, 6.0));
        assert_eq!(across_runs(&of(100.0, 8.0), None), of(100.0, 8.0));
        let open = Estimate::unbounded(1.0, "");
        assert_eq!(across_runs(&open, None), open);
        let known = Spread::of(&[vec![100.0, 101.0, 99.0, 100.0], vec![50.0, 50.5]]);
        let narrow = across_runs(&of(100.0, 0.1), known);
        assert!(narrow.low > 97.5 && narrow.low < 98.5, "{narrow:?}, {known:?}");
        assert_eq!(Spread::of(&[vec![1.0, 1.1], vec![2.0]]), None, "too few to know");
        // As a load gives it: 1 % within the run, and what runs are assumed to differ by.
        let measured = Estimate::of_time(1.0, [0.01; 2], 1.2, "span", true);
        assert!(measured.half_width() > 0.048, "{measured:?}");
        let drives = Spread::of(&[vec![100.0, 100.3, 99.7, 100.1, 99.9], vec![50.0, 50.15, 49.85]]);
        let narrow = across_runs(&measured, drives).half_width();
        let most = 0.012f64.hypot(drives.expect("known").half_width());
        assert!((narrow / most - 1.0).abs() < 0.02 && most < 0.02, "{narrow}, {drives:?}");
        assert!(across_runs(&measured, None).half_width() > 0.059);
        let differ = Spread::of(&[vec![100.0, 110.0, 90.0, 100.0]]);
        assert!(across_runs(&measured, differ).half_width() > 0.2, "nor is it narrower than runs differ");
    }

    /// How many of `tries` pairs of drives are said to differ, of which one is faster by a share.
    fn differ(
        tries: u32,
        spread: f64,
        faster: f64,
        pair: impl Fn(&mut dyn FnMut(f64) -> f64) -> bool,
    ) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64((spread * 1e4) as u64);
        let said = (0..tries).filter(|_| {
            pair(&mut |nominal| {
                let luck: f64 = random.sample(StandardNormal);
                (1.0 + faster * nominal) * (1.0 + spread * luck)
            })
        });
        said.count() as f64 / f64::from(tries)
    }

    #[test]
    fn equal_drives_seldom_differ_and_unequal_ones_do_with_four_runs_each() {
        for spread in [0.003, 0.01, 0.02, 0.03] {
            let repeated = |run: &mut dyn FnMut(f64) -> f64| {
                let four =
                    |run: &mut dyn FnMut(f64) -> f64, which| (0..4).map(|_| run(which)).collect::<Vec<_>>();
                let (a, b) = (four(run, 0.0), four(run, 1.0));
                ratio_of_runs(&a, &b).is_some_and(|r| r.different)
            };
            let single = |run: &mut dyn FnMut(f64) -> f64| {
                let one = |value: f64| across_runs(&of(value, value * 0.024), None);
                ratio(&one(run(0.0)), &one(run(1.0))).is_some_and(|r| r.different)
            };
            let (none, power) = (differ(4000, spread, 0.0, repeated), differ(4000, spread, 0.1, repeated));
            assert!(none <= 0.055 && power >= 0.9, "{spread}: {none} false, {power} found");
            let none = differ(4000, spread, 0.0, single);
            assert!(none <= 0.055, "{spread}: {none} false with one run each");
        }
    }

    #[test]
    fn what_stands_apart_overlaps_nothing() {
        let of = |ends: &[(f64, f64)]| {
            let estimate =
                |&(low, high): &(f64, f64)| Estimate::new((low + high) / 2.0, [low, high], "", true);
            apart(&ends.iter().map(estimate).collect::<Vec<_>>())
        };
        assert_eq!(of(&[(3.0, 4.0), (1.0, 2.0), (5.0, 6.0)]), [Some(1), Some(2)]);
        assert_eq!(of(&[(3.0, 4.0), (1.0, 3.5), (5.0, 6.0)]), [None, Some(2)], "two may be the lowest");
        assert_eq!(of(&[(1.0, 2.0), (1.0, 2.0), (0.0, f64::INFINITY)]), [None, None]);
        assert_eq!(of(&[(1.0, 2.0), (2.0, 3.0)]), [None, None], "ends that touch");
        assert_eq!((of(&[(1.0, 2.0)]), of(&[])), ([None, None], [None, None]), "one of one is no best");
    }

    #[test]
    fn ranks_in_groups() {
        let all = [of(10.0, 0.2), of(20.0, 0.5), of(10.1, 0.2), of(19.8, 0.5)];
        assert_eq!(rank(&all), [vec![1, 3], vec![2, 0]]);
        // The second may be as slow as the third.
        assert_eq!(rank(&[of(15.0, 0.1), of(13.0, 5.0), of(11.0, 0.1)]), [vec![0, 1, 2]]);
        assert_eq!(rank(&[of(20.0, 0.5), of(15.0, 0.2), of(14.9, 10.0)]), [vec![0, 1, 2]]);
        assert_eq!(rank(&[]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn those_unlike_most_are_outliers() {
        let found = |values: &[f64]| {
            let mut estimates: Vec<Estimate> = values.iter().map(|value| of(*value, 2.0)).collect();
            estimates[0].low = 0.0;
            outliers(&estimates.iter().collect::<Vec<_>>())
        };
        let two = found(&[100.0, 71.0, 101.0, 99.0, 70.0, 100.0, 102.0, 98.0]);
        assert_eq!(two.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 4]);
        assert!(two.iter().all(|(_, ratio)| ratio.low > 0.6 && ratio.high < 0.8), "{two:?}");
        assert_eq!(found(&[100.0, 100.0, 70.0]), [], "one of two");
        assert_eq!(found(&[100.0, 100.0, 70.0, 50.0]), [], "no majority");
    }
}
