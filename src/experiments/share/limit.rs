//! What limits a client: what makes it faster when it is left out.

use crate::analyse::{
    Estimate,
    compare::{self, Ratio},
};

/// A part whose removal gains less than this is no limit, and neither of two is, whose removals gain as much.
const ALIKE: f64 = 1.05;

/// Speeds of one errand, where they are known.
pub struct Speeds<'a> {
    pub whole: &'a Estimate,
    pub without_drive: Option<&'a Estimate>,
    pub without_link: Option<&'a Estimate>,
    pub without_both: Option<&'a Estimate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Drive,
    Link,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    /// Without it the client gets so many times as much.
    Part(Part, Ratio),
    /// Each of both limits: leaving out one gains as much as leaving out the other, or nothing without the other.
    Both(Ratio),
    /// Neither: the server's and the client's programs, the protocol, the processor.
    Rest,
    /// The differences are within the intervals.
    Open,
}

pub fn limit(speeds: &Speeds<'_>) -> Limit {
    let gain = |without: Option<&Estimate>| compare::ratio(without?, speeds.whole);
    let is_gain = |gain: &Option<Ratio>| {
        gain.as_ref().is_some_and(|gain| gain.estimate.low > 1.0 && gain.estimate.value >= ALIKE)
    };
    // How much it could gain at most.
    let could_gain = |gain: &Option<Ratio>| gain.as_ref().is_none_or(|gain| gain.estimate.high >= ALIKE);
    let (drive, link) = (gain(speeds.without_drive), gain(speeds.without_link));
    let both = gain(speeds.without_both);
    let alike = |a: &Ratio, b: &Ratio| {
        let (a, b) = (a.estimate.value, b.estimate.value);
        a.max(b) / a.min(b) < ALIKE
    };
    match (is_gain(&drive), is_gain(&link), drive, link) {
        (true, true, Some(drive), Some(link)) if alike(&drive, &link) => Limit::Both(drive),
        (true, true, Some(drive), Some(link)) => match drive.estimate.value > link.estimate.value {
            true => Limit::Part(Part::Drive, drive),
            false => Limit::Part(Part::Link, link),
        },
        (true, false, Some(drive), _) => Limit::Part(Part::Drive, drive),
        (false, true, _, Some(link)) => Limit::Part(Part::Link, link),
        (_, _, drive, link) => match both {
            both if is_gain(&both) => both.map_or(Limit::Open, Limit::Both),
            both if [&drive, &link, &both].into_iter().any(could_gain) => Limit::Open,
            _ => Limit::Rest,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(value: f64) -> Estimate {
        let (low, high) = (value * 0.99, value * 1.01);
        Estimate { value, low, high, how: "t, 3 runs".to_owned(), converged: true, within: None }
    }

    fn found(whole: f64, drive: f64, link: f64, both: f64) -> Limit {
        let [whole, drive, link, both] = [whole, drive, link, both].map(speed);
        limit(&Speeds {
            whole: &whole,
            without_drive: Some(&drive),
            without_link: Some(&link),
            without_both: Some(&both),
        })
    }

    fn part(limit: Limit) -> Option<Part> {
        match limit {
            Limit::Part(part, _) => Some(part),
            _ => None,
        }
    }

    #[test]
    fn what_is_left_out_and_makes_it_faster_is_the_limit() {
        // A raid0 of 27.9 MB/s behind Ethernet of 11.8, and sticks of 6 behind the same.
        assert_eq!(part(found(11.8, 11.8, 27.9, 400.0)), Some(Part::Link));
        assert_eq!(part(found(6.0, 11.8, 6.0, 400.0)), Some(Part::Drive));
        // Both slow each other down, one of them more.
        assert_eq!(part(found(9.0, 11.8, 20.0, 400.0)), Some(Part::Link));
        assert!(matches!(found(300.0, 301.0, 300.0, 302.0), Limit::Rest));
    }

    #[test]
    fn no_limit_is_named_where_two_are_as_good() {
        assert!(matches!(found(10.0, 13.0, 13.2, 400.0), Limit::Both(_)));
        // Each is as slow as the other, so leaving out one gains nothing.
        assert!(matches!(found(11.8, 11.9, 11.9, 400.0), Limit::Both(_)));
    }

    #[test]
    fn wide_intervals_decide_nothing() {
        let wide = |value: f64| Estimate { low: value * 0.5, high: value * 2.0, ..speed(value) };
        let [whole, other] = [10.0, 12.0].map(wide);
        let all = Some(&other);
        let speeds = Speeds { whole: &whole, without_drive: all, without_link: all, without_both: all };
        assert_eq!(limit(&speeds), Limit::Open);
        let none = Speeds { whole: &whole, without_drive: None, without_link: None, without_both: None };
        assert_eq!(limit(&none), Limit::Open);
    }
}
