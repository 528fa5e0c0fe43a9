//! The summary of one load.

use crate::{
    analyse::{
        Adaptive, Estimate, Rules, Tail, Throughput, Timeline, Zoned, Zones, repeat,
        rounds::{self, Piece},
    },
    plan::{Measure, Rule},
    record::Windows,
    units::{Ended, Outcome, SlowOp, Window, ZonePoint},
};

/// One run of one load on one target, as its windows come.
pub(in super::super) struct Series {
    rule: Adaptive,
    zones: Option<Zones>,
    tail: Tail,
    timeline: Timeline,
    bytes: u64,
    seconds: f64,
    operations: u64,
    /// Windows of a round, until it is appended to those before it.
    round: Option<Vec<Window>>,
    rounds: Vec<Piece>,
}

pub(in super::super) struct Summary {
    pub repetition: u32,
    /// One piece for each round; empty for loads without rounds.
    pub rounds: Vec<Piece>,
    pub estimate: Estimate,
    pub throughput: Throughput,
    pub rule: Adaptive,
    pub zoned: Option<Zoned>,
    pub tail: Tail,
    /// Speed over time; nothing in a zone measurement.
    pub timeline: Timeline,
    pub bytes: u64,
    pub seconds: f64,
    pub ended: Option<Ended>,
}

impl Series {
    pub fn new(m: &Measure) -> Self {
        let rule = match &m.rule {
            Rule::Adaptive { rules, seconds, .. } => Adaptive::new(rules, *seconds),
            Rule::Again { rules, seconds, .. } => Adaptive::of_fast_part(rules, *seconds),
            // Such a load is searched for stalls and cliffs only, so the rule must accept all of its windows.
            Rule::Fixed { .. } | Rule::Round { .. } | Rule::Zones { .. } => {
                Adaptive::new(&Rules::never(), f64::INFINITY)
            }
        };
        let zones = match m.rule {
            Rule::Zones { precision, .. } => Some(Zones::new(precision)),
            _ => None,
        };
        let (tail, timeline, rounds) = Default::default();
        let round = matches!(m.rule, Rule::Round { .. }).then(Vec::new);
        Self { rule, zones, tail, timeline, bytes: 0, seconds: 0.0, operations: 0, round, rounds }
    }

    /// Adds a round of the load, as if it had gone on without a pause.
    pub fn follow(&mut self, round: Self, outcome: Option<&Outcome>) {
        let (before_ns, numbers) = ((self.seconds * 1e9).round() as u64, self.operations);
        let windows = round.round.unwrap_or_default();
        let first_ns = windows.first().map_or(0, |window| window.from_ns);
        for mut window in windows {
            for at in [&mut window.from_ns, &mut window.to_ns] {
                *at = *at - first_ns + before_ns;
            }
            window.slow.iter_mut().for_each(|SlowOp(number, _)| *number += numbers);
            self.take(&window);
        }
        self.rounds.extend(outcome.and_then(|o| {
            let bytes = o.bytes_read + o.bytes_written;
            o.ended.is_whole().then_some(Piece { bytes, seconds: o.seconds })
        }));
    }

    fn take(&mut self, window: &Window) {
        self.tail.push(window);
        self.bytes += window.bytes;
        self.seconds += window.seconds();
        self.operations += window.ops;
        self.rule.push(window);
        self.timeline.push(window);
    }

    /// The summary, with the totals of `outcome`.
    pub fn finish(self, m: &Measure, outcome: Option<&Outcome>) -> Summary {
        let ended = outcome.map(|o| o.ended.clone());
        let throughput = self.rule.finish(ended.as_ref());
        let zoned = self.zones.as_ref().and_then(Zones::finish);
        // All bytes count, not only those in recorded windows.
        let (bytes, seconds) = match outcome.filter(|_| self.rounds.is_empty()) {
            Some(o) => (o.bytes_read + o.bytes_written, o.seconds),
            None => (self.bytes, self.seconds),
        };
        let estimate = match (&m.rule, &zoned) {
            (Rule::Zones { .. }, Some(zoned)) => zoned.estimate.clone(),
            (Rule::Round { precision, .. }, _) => {
                rounds::speed(&self.rounds, *precision).unwrap_or_else(|| throughput.estimate.clone())
            }
            (Rule::Fixed { .. }, _) => {
                repeat::mean(&[bytes as f64 / seconds]).unwrap_or_else(|| throughput.estimate.clone())
            }
            _ => throughput.estimate.clone(),
        };
        let Self { rule, tail, timeline, rounds, .. } = self;
        let repetition = m.repetition;
        Summary {
            repetition,
            rounds,
            estimate,
            throughput,
            rule,
            zoned,
            tail,
            timeline,
            bytes,
            seconds,
            ended,
        }
    }
}

impl Windows for Series {
    fn window(&mut self, zone: Option<ZonePoint>, window: &Window) {
        match (&mut self.round, &mut self.zones, zone) {
            (Some(round), ..) => round.push(window.clone()),
            (_, Some(zones), Some(place)) => {
                zones.push(place, window);
                self.tail.push(window);
                self.bytes += window.bytes;
                self.seconds += window.seconds();
            }
            _ => self.take(window),
        }
    }
}
