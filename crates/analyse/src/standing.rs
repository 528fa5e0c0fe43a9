//! Where a drive's number stands among those of other drives of its model.

use super::Estimate;

#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Its place from the best, from 1.
    pub place: usize,
    /// The share of the others that are slower, with the shares at the ends of the number's own interval.
    pub slower: Estimate,
    /// The median of the others and their quartiles (Hyndman and Fan's type 7), over logarithms.
    pub middle: Estimate,
    /// Its whole interval is beyond Tukey's outer fence on the slow side.
    pub far_out: bool,
}

impl Standing {
    /// The fewest others that give a percentile.
    pub const LEAST: usize = 5;

    /// `None` with fewer others, or where one is not positive.
    pub fn of(own: &Estimate, others: &[f64], is_time: bool) -> Option<Self> {
        let sign = if is_time { -1.0 } else { 1.0 };
        // More is better.
        let score = |value: f64| sign * value.ln();
        let mut scores: Vec<f64> = others.iter().map(|value| score(*value)).collect();
        scores.sort_by(f64::total_cmp);
        if others.len() < Self::LEAST || !scores.iter().all(|score| score.is_finite()) {
            return None;
        }
        let below =
            |value: f64| scores.partition_point(|other| *other < score(value)) as f64 / others.len() as f64;
        let quantile = |share: f64| {
            let at = share * (scores.len() - 1) as f64;
            let (below, above) = (scores[at.floor() as usize], scores[at.ceil() as usize]);
            below + at.fract() * (above - below)
        };
        let [first, median, third] = [0.25, 0.5, 0.75].map(quantile);
        let value = |score: f64| (sign * score).exp();
        let between = |value, a: f64, b: f64, how| Estimate::between(value, [a.min(b), a.max(b)], how);
        Some(Self {
            place: 1 + scores.iter().filter(|other| **other > score(own.value)).count(),
            slower: between(below(own.value), below(own.low), below(own.high), "rank among drives"),
            middle: between(value(median), value(first), value(third), "quartiles"),
            far_out: score(own.low).max(score(own.high)) < first - 3.0 * (third - first),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(value: f64, others: &[f64], is_time: bool) -> Option<Standing> {
        Standing::of(&Estimate::between(value, [0.9 * value, 1.1 * value], ""), others, is_time)
    }

    #[test]
    fn a_place_counts_from_the_best() {
        let others = [30.0, 24.0, 28.0, 26.0, 22.0, 28.0, 32.0];
        let speed = stands(25.0, &others, false).expect("enough others");
        assert_eq!(speed.place, 6);
        assert_eq!((speed.slower.value, speed.slower.low), (2.0 / 7.0, 1.0 / 7.0));
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(near(speed.middle.low, 624f64.sqrt()) && near(speed.middle.value, 28.0));
        assert!(near(speed.middle.high, 840f64.sqrt()));
        let time = stands(25.0, &others, true).expect("enough others");
        assert_eq!((time.place, time.slower.value), (3, 5.0 / 7.0));
        assert!(time.slower.low <= time.slower.value && time.slower.high >= time.slower.value);
        assert_eq!(stands(28.0, &others, false).expect("enough others").slower.value, 3.0 / 7.0);
        assert_eq!(stands(25.0, &others[..4], false), None);
        assert_eq!(stands(25.0, &[0.0; 5], false), None);
    }

    #[test]
    fn only_a_whole_interval_beyond_the_fence_is_far_out() {
        let others: Vec<f64> = (0..40).map(|n| 20.0 + f64::from(n) / 10.0).collect();
        // The fences are at 20.975 · (20.975 / 22.925)³ = 16.06 and at 22.925 · (22.925 / 20.975)³ = 29.93.
        let far = |value, is_time| stands(value, &others, is_time).expect("enough others").far_out;
        assert_eq!([14.5, 14.7, 22.0].map(|value| far(value, false)), [true, false, false]);
        assert_eq!([22.0, 33.0, 33.5].map(|value| far(value, true)), [false, false, true]);
    }
}
