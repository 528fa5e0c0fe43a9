//! The summary of one load.

use crate::{
    analyse::{End, Estimate, Rules, StoppingRule, Tail, Throughput, Timeline, Zoned, Zones, repeat},
    plan::{Measure, Rule},
    record::Windows,
    units::{Ended, Outcome, Window, ZonePoint},
};

/// One run of one load on one target, as its windows come.
pub(in super::super) struct Series {
    rule: StoppingRule,
    zones: Option<Zones>,
    tail: Tail,
    timeline: Timeline,
    bytes: u64,
    seconds: f64,
}

pub(in super::super) struct Summary {
    pub repetition: u32,
    pub estimate: Estimate,
    pub throughput: Throughput,
    pub rule: StoppingRule,
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
            Rule::Adaptive { rules, seconds, .. } => StoppingRule::sustained(rules, *seconds),
            Rule::Again { rules, seconds, .. } => StoppingRule::fast_part(rules, *seconds),
            Rule::Span { rules, .. } => StoppingRule::span(rules),
            // A fixed load is searched for stalls and cliffs only, so the rule must accept all of its windows.
            Rule::Fixed { .. } | Rule::Zones { .. } => {
                StoppingRule::sustained(&Rules::never(), f64::INFINITY)
            }
        };
        let zones = match m.rule {
            Rule::Zones { precision, .. } => Some(Zones::new(precision)),
            _ => None,
        };
        Self { rule, zones, tail: Tail::default(), timeline: Timeline::default(), bytes: 0, seconds: 0.0 }
    }

    /// The summary, with the totals of `outcome`.
    pub fn finish(self, m: &Measure, outcome: Option<&Outcome>) -> Summary {
        let ended = outcome.map(|o| o.ended.clone());
        let throughput = self.rule.finish(End::of(ended.as_ref()));
        let zoned = self.zones.as_ref().and_then(Zones::finish);
        // All bytes count, not only those in recorded windows.
        let (bytes, seconds) = match outcome {
            Some(o) => (o.bytes_read + o.bytes_written, o.seconds),
            None => (self.bytes, self.seconds),
        };
        let estimate = match (&m.rule, &zoned) {
            (Rule::Zones { .. }, Some(zoned)) => zoned.estimate.clone(),
            (Rule::Fixed { .. }, _) => {
                repeat::mean(&[bytes as f64 / seconds]).unwrap_or_else(|| throughput.estimate.clone())
            }
            _ => throughput.estimate.clone(),
        };
        let Self { rule, tail, timeline, .. } = self;
        let repetition = m.repetition;
        Summary { repetition, estimate, throughput, rule, zoned, tail, timeline, bytes, seconds, ended }
    }
}

impl Windows for Series {
    fn window(&mut self, zone: Option<ZonePoint>, window: &Window) {
        self.tail.push(window);
        self.bytes += window.bytes;
        self.seconds += window.seconds();
        match (&mut self.zones, zone) {
            (Some(zones), Some(place)) => zones.push(place, window),
            _ => {
                self.rule.push(window);
                self.timeline.push(window);
            }
        }
    }
}
