//! What limits a client: what makes it faster when it is left out.

use std::collections::BTreeMap;

use crate::{
    analyse::{Estimate, repeat},
    share::Part,
};

/// Ratio below which a gain does not count, and two gains are not distinguished.
pub const ALIKE: f64 = 1.05;
/// Ratio above which two gains are not called alike.
const APART: f64 = 1.2;

/// Speed of each repetition, in bytes per second.
pub type Runs = BTreeMap<u32, f64>;

#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    /// Leaving out this part gains more than leaving out any other, by the intervals: the speed is this multiple of that over the whole route.
    Part(Part, Estimate),
    /// Leaving out each of several parts gains about as much, or only leaving out all of them gains.
    Several,
    /// Leaving out all parts gains less than 5 %: the protocol, programs or processors limit.
    Rest,
    /// The intervals do not decide.
    Open,
}

/// `a` as a multiple of `b`, paired by repetition, with an interval for so many simultaneous comparisons (Bonferroni).
pub fn times(a: &Runs, b: &Runs, intervals: usize) -> Option<Estimate> {
    let each: Vec<f64> = a.iter().filter_map(|(run, speed)| Some(speed / b.get(run)?)).collect();
    repeat::typical_of(intervals, &each)
}

/// What limits, from the speeds over the whole route, without each part, and without all parts where there are several.
pub fn limit(whole: &Runs, without: &[(Part, Runs)], without_all: Option<&Runs>) -> Limit {
    // Each part against the whole, and the largest gain against each other one.
    let intervals = (2 * without.len()).max(1);
    let is_sure = |e: &Estimate| e.low >= ALIKE;
    let may_be = |e: &Estimate| e.high >= ALIKE;
    let gain = |(part, runs): &(Part, Runs)| Some((*part, times(runs, whole, intervals)?));
    let Some(mut gains) = without.iter().map(gain).collect::<Option<Vec<_>>>() else {
        return Limit::Open;
    };
    // The cost of the export's sync is part of the drive's: sync is named if its gain is sure and most of the drive's.
    let gain = |part: Part| gains.iter().find(|gain| gain.0 == part).map(|gain| &gain.1);
    let said_by_other = gain(Part::Sync).zip(gain(Part::Drive)).map(|(sync, drive)| {
        let is_most = is_sure(sync) && 2.0 * sync.value.ln() >= drive.value.ln();
        if is_most { Part::Drive } else { Part::Sync }
    });
    gains.retain(|(part, _)| said_by_other != Some(*part));
    let sure = gains.iter().filter(|(_, gain)| is_sure(gain));
    let Some((first, most)) = sure.max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value)) else {
        let all = without_all.and_then(|all| times(all, whole, intervals));
        return match all {
            _ if gains.is_empty() || gains.iter().any(|(_, gain)| may_be(gain)) => Limit::Open,
            None if without_all.is_none() => Limit::Rest,
            Some(all) if is_sure(&all) => Limit::Several,
            Some(all) if !may_be(&all) => Limit::Rest,
            _ => Limit::Open,
        };
    };
    let speeds = |part: Part| without.iter().find(|(other, _)| *other == part).map(|(_, runs)| runs);
    let first_beside = |part: Part| times(speeds(*first)?, speeds(part)?, intervals);
    let is_near = |part: Part| part != *first && !first_beside(part).is_some_and(|times| is_sure(&times));
    let is_alike = |part: Part| first_beside(part).is_some_and(|times| times.high <= APART);
    let near: Vec<_> = gains.iter().filter(|(part, _)| is_near(*part)).collect();
    // A gain that is not sure may be the larger one, or a much smaller one.
    match near.iter().all(|(part, gain)| is_sure(gain) && is_alike(*part)) {
        true if near.is_empty() => Limit::Part(*first, most.clone()),
        true => Limit::Several,
        false => Limit::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five repetitions, each by so much above or below.
    fn runs(speed: f64, by: f64) -> Runs {
        let factors = [1.0, by, 1.0 / by, by.sqrt(), 1.0 / by.sqrt()];
        factors.into_iter().enumerate().map(|(run, factor)| (run as u32 + 1, speed * factor)).collect()
    }

    fn found(whole: f64, without: &[(Part, f64)], all: f64) -> Limit {
        let without: Vec<_> = without.iter().map(|(part, speed)| (*part, runs(*speed, 1.005))).collect();
        // Another order, so that the differences don't cancel out.
        let whole = runs(whole, 1.0 / 1.004);
        limit(&whole, &without, Some(&runs(all, 1.005)))
    }

    fn part(limit: &Limit) -> Option<Part> {
        match limit {
            Limit::Part(part, _) => Some(*part),
            _ => None,
        }
    }

    #[test]
    fn what_is_left_out_and_makes_it_faster_is_the_limit() {
        // A raid0 of 27.9 MB/s behind Ethernet of 11.8, and sticks of 6 behind the same.
        assert_eq!(part(&found(11.8, &[(Part::Drive, 11.8), (Part::Link, 27.9)], 400.0)), Some(Part::Link));
        assert_eq!(part(&found(6.0, &[(Part::Drive, 11.8), (Part::Link, 6.0)], 400.0)), Some(Part::Drive));
        // They hold each other up, one of them more.
        assert_eq!(part(&found(9.0, &[(Part::Drive, 11.8), (Part::Link, 20.0)], 400.0)), Some(Part::Link));
        let three = [(Part::Drive, 40.0), (Part::Link, 40.4), (Part::Protection, 72.0)];
        assert_eq!(part(&found(40.0, &three, 73.0)), Some(Part::Protection));
        assert_eq!(found(300.0, &[(Part::Drive, 301.0), (Part::Link, 300.0)], 302.0), Limit::Rest);
    }

    #[test]
    fn of_sync_and_the_drive_the_one_that_costs_most_is_named() {
        // Small files by NFS wait for the drive one by one.
        let named =
            |drive: f64, sync: f64| part(&found(1.0, &[(Part::Drive, drive), (Part::Sync, sync)], 20.0));
        assert_eq!(named(9.0, 4.0), Some(Part::Sync), "most of what the drive costs");
        assert_eq!(named(9.0, 2.0), Some(Part::Drive), "a part of what the drive costs");
        // What sync costs is not sure, and the drive surely costs something.
        let whole = runs(10.0, 1.005);
        let wide = [(Part::Drive, runs(15.0, 1.01)), (Part::Sync, runs(12.5, 1.3))];
        assert_eq!(part(&limit(&whole, &wide, None)), Some(Part::Drive));
    }

    #[test]
    fn none_is_named_where_two_are_within_five_percent() {
        assert_eq!(found(10.0, &[(Part::Drive, 13.0), (Part::Link, 13.5)], 400.0), Limit::Several);
        // Each is as slow as the other, so leaving out one gains nothing.
        assert_eq!(found(11.8, &[(Part::Drive, 11.9), (Part::Link, 11.9)], 400.0), Limit::Several);
    }

    #[test]
    fn one_part_alone_needs_no_other_to_be_left_out() {
        let whole = runs(10.0, 1.01);
        let alone = |speed| limit(&whole, &[(Part::Drive, runs(speed, 1.005))], None);
        assert_eq!((part(&alone(20.0)), alone(10.05)), (Some(Part::Drive), Limit::Rest));
    }

    #[test]
    fn wide_intervals_decide_nothing() {
        let (whole, all) = (runs(10.0, 1.005), runs(400.0, 1.005));
        let found =
            |drive: Runs, link: Runs| limit(&whole, &[(Part::Drive, drive), (Part::Link, link)], Some(&all));
        // The link surely limits, and the drive perhaps more, or less.
        assert_eq!(found(runs(14.0, 2.0), runs(13.0, 1.005)), Limit::Open);
        assert_eq!(found(runs(11.0, 2.0), runs(13.0, 1.005)), Limit::Open);
        assert_eq!(part(&found(runs(10.0, 1.1), runs(13.0, 1.005))), Some(Part::Link));
        // Without both there is more, but either may be what limits alone.
        assert_eq!(found(runs(12.0, 2.0), runs(10.0, 2.0)), Limit::Open);
        assert_eq!(limit(&whole, &[], Some(&all)), Limit::Open);
        // Both gain, and how much more the one gains than the other is not known.
        assert_eq!(found(runs(14.0, 1.005), runs(18.0, 1.2)), Limit::Open);
        assert_eq!(found(runs(10.3, 1.06), runs(10.0, 1.005)), Limit::Open, "more than 5 % is not sure");
        let one = |speed| Runs::from([(1, speed)]);
        assert_eq!(limit(&one(10.0), &[(Part::Drive, one(30.0))], None), Limit::Open, "one run");
    }

    #[test]
    fn gains_are_those_of_each_repetition() {
        // The machine was half as fast in the second one, and the third one lacks something.
        let without = Runs::from([(1, 20.0), (2, 10.0), (4, 21.0)]);
        let whole = Runs::from([(1, 10.0), (2, 5.0), (3, 1.0), (4, 10.0)]);
        let gain = times(&without, &whole, 1).expect("runs");
        assert!((gain.value - 2.033).abs() < 0.001 && gain.low > 1.8 && gain.high < 2.3, "{gain:?}");
        assert!(times(&without, &whole, 4).expect("runs").low < gain.low);
        assert_eq!(times(&Runs::new(), &whole, 1), None);
    }
}
