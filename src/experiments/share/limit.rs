//! What limits a client: what makes it faster when it is left out.

use crate::{
    analyse::{Estimate, repeat},
    plan::Part,
};

/// A part whose removal gains less than this is no limit, and of two whose gains differ by less none is named.
const ALIKE: f64 = 1.05;

/// How many times as much the client gets without a part.
#[derive(Debug, Clone, PartialEq)]
pub struct Gain {
    pub part: Part,
    pub estimate: Estimate,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    /// Leaving it out gains more than leaving out any other.
    Part(Gain),
    /// Leaving out each of these gains, and about as much.
    Alike(Vec<Gain>),
    /// Leaving out one gains nothing, all of them do: at least two are as slow as each other.
    Together,
    /// None of them: the server's and the client's programs, the protocol, the processor.
    Rest,
    /// The differences are within the intervals.
    Open,
}

/// The gain of each repetition, in which both followed one another.
pub fn gain(without: &[f64], whole: &[f64]) -> Option<Estimate> {
    let each: Vec<f64> = without.iter().zip(whole).map(|(without, whole)| without / whole).collect();
    repeat::typical(&each)
}

pub fn limit(gains: &[Gain], without_all: Option<&Estimate>) -> Limit {
    let is_sure = |e: &Estimate| e.low > 1.0 && e.value >= ALIKE;
    let may_be = |e: &Estimate| e.high >= ALIKE;
    let mut gains = gains.to_vec();
    gains.sort_by(|a, b| b.estimate.value.total_cmp(&a.estimate.value));
    let (sure, others): (Vec<Gain>, Vec<Gain>) = gains.into_iter().partition(|gain| is_sure(&gain.estimate));
    let Some(first) = sure.first() else {
        return match without_all {
            _ if others.is_empty() || others.iter().any(|gain| may_be(&gain.estimate)) => Limit::Open,
            Some(all) if is_sure(all) => Limit::Together,
            Some(all) if !may_be(all) => Limit::Rest,
            _ => Limit::Open,
        };
    };
    let near = first.estimate.value / ALIKE;
    // What isn't sure may be the larger one.
    if others.iter().any(|gain| gain.estimate.value > near) {
        return Limit::Open;
    }
    let alike: Vec<Gain> = sure.iter().filter(|gain| gain.estimate.value > near).cloned().collect();
    if alike.len() > 1 { Limit::Alike(alike) } else { Limit::Part(first.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, by: f64) -> Estimate {
        let (low, high, how) = (value / by, value * by, "t over logarithms, 5 runs".to_owned());
        Estimate { value, low, high, how, converged: false, within: None }
    }

    fn found(gains: &[(Part, f64)], all: f64) -> Limit {
        let gains: Vec<Gain> = gains
            .iter()
            .map(|(part, value)| Gain { part: *part, estimate: estimate(*value, 1.01) })
            .collect();
        limit(&gains, Some(&estimate(all, 1.01)))
    }

    fn part(limit: &Limit) -> Option<Part> {
        match limit {
            Limit::Part(gain) => Some(gain.part),
            _ => None,
        }
    }

    #[test]
    fn what_is_left_out_and_makes_it_faster_is_the_limit() {
        // A raid0 of 27.9 MB/s behind Ethernet of 11.8, and sticks of 6 behind the same.
        assert_eq!(part(&found(&[(Part::Drive, 1.0), (Part::Link, 2.36)], 30.0)), Some(Part::Link));
        assert_eq!(part(&found(&[(Part::Drive, 1.97), (Part::Link, 1.0)], 60.0)), Some(Part::Drive));
        // They hold each other up, one of them more.
        assert_eq!(part(&found(&[(Part::Drive, 1.3), (Part::Link, 2.2)], 40.0)), Some(Part::Link));
        let three = [(Part::Drive, 1.0), (Part::Link, 1.01), (Part::Protection, 1.8)];
        assert_eq!(part(&found(&three, 1.8)), Some(Part::Protection));
        assert_eq!(found(&[(Part::Drive, 1.0), (Part::Link, 1.0)], 1.01), Limit::Rest);
    }

    #[test]
    fn none_is_named_where_two_are_within_five_percent() {
        let Limit::Alike(both) = found(&[(Part::Drive, 1.3), (Part::Link, 1.32)], 40.0) else {
            panic!("both gain")
        };
        assert_eq!(both.iter().map(|gain| gain.part).collect::<Vec<_>>(), [Part::Link, Part::Drive]);
        // Each is as slow as the other, so leaving out one gains nothing.
        assert_eq!(found(&[(Part::Drive, 1.01), (Part::Link, 1.01)], 30.0), Limit::Together);
    }

    #[test]
    fn wide_intervals_decide_nothing() {
        let wide = |part, value| Gain { part, estimate: estimate(value, 2.0) };
        let all = estimate(30.0, 1.01);
        // The link surely limits, and the drive perhaps more.
        let link = Gain { part: Part::Link, estimate: estimate(1.3, 1.01) };
        assert_eq!(limit(&[wide(Part::Drive, 1.4), link.clone()], Some(&all)), Limit::Open);
        assert_eq!(part(&limit(&[wide(Part::Drive, 1.1), link], Some(&all))), Some(Part::Link));
        // Without both there is more, but either may be what limits alone.
        assert_eq!(limit(&[wide(Part::Drive, 1.2), wide(Part::Link, 1.0)], Some(&all)), Limit::Open);
        assert_eq!(limit(&[], Some(&all)), Limit::Open);
        assert_eq!(limit(&[wide(Part::Drive, 0.4), wide(Part::Link, 0.4)], None), Limit::Open);
    }

    #[test]
    fn gains_are_those_of_each_repetition() {
        // The machine was half as fast in the second one.
        let gain = gain(&[20.0, 10.0, 21.0], &[10.0, 5.0, 10.0]).expect("runs");
        assert!((gain.value - 2.033).abs() < 0.001 && gain.low > 1.8 && gain.high < 2.3, "{gain:?}");
        assert_eq!(super::gain(&[], &[1.0]), None);
    }
}
