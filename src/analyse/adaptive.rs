//! The sequential rule: measures until the estimate is precise enough.

use super::{
    CliffEstimate, End, Estimate, Reason, Rules, StallSummary, Throughput, Unseen,
    assessment::{Assessment, WIDEN, assess},
    chunks::Chunks,
    cliff::Cut,
    cliff_estimate::cliff_estimates,
    interval::{average, spacings},
};
use crate::units::{MIB, Window};

/// A cliff at most this many chunks before a failed look is the reason for the failure.
const FORGIVE: usize = 64;

/// Whether a cliff is clear enough without more data. After a small step, the slow part must last as long as the
/// fast one and twice the minimum, so that a drive that switches between speeds is not mistaken for one with a cache.
fn clear(cliff: &Cut, seen: usize, retain: usize) -> bool {
    cliff.after >= 2.0 * cliff.before || seen - cliff.resume >= cliff.at.max(2 * retain)
}

/// The rule's decision after a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Continue,
    Converged,
    /// The precision would need far more than the budget.
    GaveUp,
    /// The budget is used up.
    Budget,
}

impl Decision {
    pub fn stops(self) -> bool {
        self != Self::Continue
    }
}

/// The minimum number of chunks for detecting cliffs and steadiness.
const FEWEST: usize = 128;

/// Applies the rule to the windows of one load. The same windows always give the same result.
#[derive(Debug, Clone)]
pub struct Adaptive {
    rules: Rules,
    looks: Vec<u64>,
    series: Chunks,
    /// The last look with enough data that was not steady, chunks; 0 for none.
    failed: usize,
    latest: Option<Assessment>,
    decision: Decision,
}

impl Adaptive {
    pub fn new(rules: &Rules) -> Self {
        Self {
            rules: rules.clone(),
            looks: rules.looks().into_iter().rev().collect(),
            series: Chunks::default(),
            failed: 0,
            latest: None,
            decision: Decision::Continue,
        }
    }

    /// Takes the next window. After a decision to stop, windows are ignored and the decision stays.
    pub fn push(&mut self, window: &Window) -> Decision {
        if self.decision.stops() {
            return self.decision;
        }
        self.series.push(window);
        let seen = self.series.len() as f64 * self.series.chunk_mib();
        let due = |looks: &[u64]| looks.last().is_some_and(|&look| seen >= look as f64);
        // The last look is always made; the others wait until there is enough data.
        if due(&self.looks) && (self.can_judge() || seen >= self.looks[0] as f64) {
            while due(&self.looks) {
                self.looks.pop();
            }
            self.decision = self.look();
        }
        self.decision
    }

    /// Chunks larger than 1 MiB come from fast drives or large blocks. A look then needs enough chunks, and 1 s of data.
    fn can_judge(&self) -> bool {
        self.series.chunk_mib() <= 1.0 || self.series.len() >= FEWEST && self.series.total_seconds >= 1.0
    }

    fn look(&mut self) -> Decision {
        let rules = &self.rules;
        let chunks = |mib: u64| (mib as f64 / self.series.chunk_mib()).ceil() as usize;
        let retain = chunks(rules.retain).max(FEWEST.min(rules.retain as usize) / 2);
        let last = self.looks.is_empty();
        self.latest = assess(&self.series.x, self.series.chunk_mib());
        let Some(judged) = &self.latest else {
            return if last { Decision::Budget } else { Decision::Continue };
        };
        let (seen, agreed) = (judged.seen, judged.steady.agreed);
        if judged.after_cliff() + FORGIVE > self.failed {
            self.failed = 0;
        }
        if !agreed && judged.used() >= retain {
            self.failed = seen;
        }
        let half = judged.half_width();
        let least = rules.w_min.is_some_and(|least| seen >= chunks(least));
        let deep = least || judged.cliffs.last().is_some_and(|c| clear(c, seen, retain));
        let good = WIDEN * half <= rules.precision && agreed && judged.used() >= retain;
        let needed = seen as f64 * (half / rules.precision).powi(2);
        if deep && good && seen >= 2 * self.failed {
            Decision::Converged
        } else if last {
            Decision::Budget
        } else if agreed
            && least
            && rules.give_up.is_some_and(|times| needed > times * chunks(rules.budget) as f64)
        {
            Decision::GaveUp
        } else {
            Decision::Continue
        }
    }

    /// The estimate, stalls and cliffs of the latest look; before the first look, the mean rate, unbounded.
    pub fn progress(&self) -> (Option<Estimate>, usize, usize) {
        let Some(judged) = &self.latest else {
            let estimate = self.series.rate().map(|rate| Estimate::unbounded(rate, "plain rate so far"));
            return (estimate, 0, 0);
        };
        let stalls = judged.earlier.len() + judged.events.len();
        (Some(self.estimate(judged)), stalls, judged.cliffs.len())
    }

    /// Every cliff, with intervals of its position and of both speeds.
    pub fn cliff_estimates(&self) -> Vec<CliffEstimate> {
        let judged = assess(&self.series.x, self.series.chunk_mib());
        judged.map_or_else(Vec::new, |judged| cliff_estimates(&self.series, &judged.cliffs))
    }

    /// Speed over bytes moved, in at most `most` pieces: the end of each, bytes, and its speed, bytes per second.
    pub fn curve(&self, most: usize) -> Vec<(u64, f64)> {
        let series = &self.series;
        let each = series.len().div_ceil(most.max(1)).max(1);
        let ends = (1..).map(|n| series.bytes_before((n * each).min(series.len())));
        ends.zip(series.x.chunks(each).map(|piece| MIB as f64 / average(piece))).collect()
    }

    /// The sustained throughput so far, bytes per second; may be called before or after the rule has decided.
    pub fn finish(&self, end: End) -> Throughput {
        let series = &self.series;
        let latest = self.latest.clone().filter(|judged| judged.seen == series.len());
        let judged = latest.or_else(|| assess(&series.x, series.chunk_mib()));
        let throughput = Throughput {
            estimate: Estimate::unbounded(self.series.rate().unwrap_or(0.0), "too short for an interval"),
            reason: Some(Reason::TooShort),
            gave_up: self.decision == Decision::GaveUp,
            bytes: series.total_bytes,
            seconds: series.total_seconds,
            discarded: 0,
            used: series.bytes_before(series.len()),
            chunk: series.chunk,
            bytes_needed: None,
            stalls: StallSummary::default(),
            cliffs: Vec::new(),
            unseen: None,
        };
        let Some(judged) = &judged else { return throughput };
        let discarded = series.bytes_before(judged.cut);
        Throughput {
            estimate: self.estimate(judged),
            reason: self.reason(judged, end),
            discarded,
            used: throughput.used - discarded,
            bytes_needed: self.bytes_needed(judged),
            stalls: self.stalls(judged),
            cliffs: judged.cliffs.iter().map(|c| series.cliff(c)).collect(),
            unseen: Some(self.unseen(judged)),
            ..throughput
        }
    }

    fn estimate(&self, judged: &Assessment) -> Estimate {
        let converged = self.decision == Decision::Converged;
        let how = match judged.events.len() {
            0 => "batch means",
            1..=5 => "batch means + rare stalls",
            _ => "batch means + stall cycles",
        };
        judged.speed(if converged { WIDEN } else { 1.0 }, how, converged)
    }

    fn reason(&self, judged: &Assessment, end: End) -> Option<Reason> {
        let stalls = judged.share.below.max(judged.share.above);
        match end {
            _ if self.decision == Decision::Converged => None,
            End::Interrupted => Some(Reason::Interrupted),
            End::Failed => Some(Reason::Failed),
            End::Complete if !judged.steady.agreed => Some(Reason::Drifting),
            End::Complete if WIDEN * judged.half_width() <= self.rules.precision => Some(Reason::Budget),
            End::Complete if stalls > judged.base_half => Some(Reason::IrregularStalls),
            End::Complete => Some(Reason::Noisy),
        }
    }

    /// Half-widths shrink with the square root of the bytes, down to the part that more bytes in one run don't reduce.
    fn bytes_needed(&self, judged: &Assessment) -> Option<u64> {
        let times = (WIDEN * judged.half_width() / self.rules.precision).powi(2);
        let bytes = self.series.chunk as f64 * (judged.cut as f64 + judged.used() as f64 * times);
        (judged.steady.agreed && bytes < u64::MAX as f64).then_some(bytes as u64)
    }

    fn stalls(&self, judged: &Assessment) -> StallSummary {
        let series = &self.series;
        let all = judged.earlier.iter().chain(&judged.events);
        let each = all.map(|e| series.stall(e, e.excess * series.chunk_mib(), judged.cut)).collect();
        let share = judged.share.mean / judged.mean;
        StallSummary::new(each, &spacings(&judged.events), series.chunk, share)
    }

    fn unseen(&self, judged: &Assessment) -> Unseen {
        let series = &self.series;
        let clean_bytes = series.bytes_before(judged.seen) - series.bytes_before(judged.after_cliff());
        Unseen::after(clean_bytes, judged.mean)
    }
}
