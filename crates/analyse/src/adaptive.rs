//! The sequential rule: measures until the estimate is precise enough.

use super::{
    CliffEstimate, Decision, Estimate, Reason, Rules, Stall, StallSummary, Throughput, Unseen,
    assessment::{Assessment, WIDEN, assess},
    chunks::Chunks,
    cliff_estimate::cliff_estimates,
    interval::average,
    span,
    stalls::StallSpan,
};
use crate::units::{Ended, MIB, Window};

/// A cliff at most this many chunks before a failed look is the reason for the failure.
const FORGIVE: usize = 64;

/// Minimum length of the part after the last cliff, MiB: caches have levels, so another cliff may follow.
const AFTER_CLIFF: f64 = 512.0;
/// Minimum length of that part as a multiple of what came before the last cliff.
const TIMES_BEFORE: f64 = 3.0;
/// Allowance for an estimate of the remaining work that is too low, as a factor.
const MARGIN: f64 = 1.02;
/// A fast part that is measured again needs this many times its bytes.
const ONCE_MORE: f64 = 1.25;

/// Loads with this many operations or bytes per second are fast: a few seconds are enough for the speed of a span.
const FAST_OPERATIONS: f64 = 1000.0;
const FAST_BYTES: f64 = 100e6;
const FAST_SPAN: f64 = 9.0;
const SLOW_SPAN: f64 = 55.0;

/// The minimum number of chunks for detecting cliffs and steadiness.
const FEWEST: usize = 128;

/// Applies the rule to the windows of one load. The same windows always give the same result.
#[derive(Debug, Clone)]
pub struct Adaptive {
    rules: Rules,
    /// The most that the load may take, s.
    seconds: f64,
    /// Whether only the fast part is measured, because the speed after the cliff is known.
    only_fast_part: bool,
    looks: Vec<u64>,
    /// Time of the next look, s, however few bytes were moved. A fast drive has enough of them earlier.
    due: f64,
    series: Chunks,
    operations: u64,
    /// Chunks at the last look with enough data that was not steady; 0 if there was none.
    failed: usize,
    latest: Option<Assessment>,
    span: Option<Estimate>,
    pub(super) decision: Decision,
}

impl Adaptive {
    pub fn new(rules: &Rules, seconds: f64) -> Self {
        Self {
            rules: rules.clone(),
            seconds,
            only_fast_part: false,
            looks: rules.looks().into_iter().rev().collect(),
            due: SLOW_SPAN,
            series: Chunks::default(),
            operations: 0,
            failed: 0,
            latest: None,
            span: None,
            decision: Decision::Continue,
        }
    }

    /// The rule of a load that runs after a cliff is known, to find out how much is fast again.
    pub fn of_fast_part(rules: &Rules, seconds: f64) -> Self {
        Self { only_fast_part: true, ..Self::new(rules, seconds) }
    }

    /// Takes the next window. After a decision to stop, windows are ignored and the decision stays.
    pub fn push(&mut self, window: &Window) -> Decision {
        if self.decision.stops() {
            return self.decision;
        }
        self.series.push(window);
        self.operations += window.ops;
        let seen = self.mib(self.series.len());
        let due = |looks: &[u64]| looks.last().is_some_and(|&look| seen >= look as f64);
        // The last look is always made; the others wait until there is enough data.
        let by_bytes = due(&self.looks) && (self.can_judge() || seen >= self.looks[0] as f64);
        let by_time = self.series.total_seconds >= self.due;
        let time_is_up = window.to_ns as f64 / 1e9 >= self.most_seconds();
        if by_bytes || by_time || time_is_up {
            while due(&self.looks) {
                self.looks.pop();
            }
            self.decision = self.look(time_is_up);
            let later = || self.series.total_seconds * self.rules.growth;
            self.due = if self.latest.is_some() { f64::INFINITY } else { later() };
        }
        self.decision
    }

    fn most_seconds(&self) -> f64 {
        let fell = self.latest.as_ref().is_some_and(|judged| !judged.cliffs.is_empty());
        self.rules.fallen_seconds.filter(|_| fell).map_or(self.seconds, |most| most.min(self.seconds))
    }

    /// Chunks larger than 1 MiB come from fast drives or large blocks. A look then needs enough chunks, and 1 s of data.
    fn can_judge(&self) -> bool {
        self.series.chunk_mib() <= 1.0 || self.series.len() >= FEWEST && self.series.total_seconds >= 1.0
    }

    fn look(&mut self, time_is_up: bool) -> Decision {
        let rules = &self.rules;
        let chunks = |mib: u64| (mib as f64 / self.series.chunk_mib()).ceil() as usize;
        let retain = chunks(rules.retain).max(FEWEST.min(rules.retain as usize) / 2);
        let last = self.looks.is_empty() || time_is_up;
        self.latest = assess(&self.series.x, self.series.chunk_mib());
        self.span = span::speed(&self.series);
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
        let half = judged.half;
        let least = rules.w_min.is_some_and(|least| seen >= chunks(least));
        let good = WIDEN * half <= rules.precision && agreed && judged.used() >= retain;
        let needed = seen as f64 * (half / rules.precision).powi(2);
        let is_too_much = |times: f64| needed > times * chunks(rules.budget) as f64;
        if good && self.holds_for_long(judged) && seen >= 2 * self.failed {
            Decision::Converged
        } else if last {
            Decision::Budget
        } else if agreed && least && rules.give_up.is_some_and(is_too_much)
            || self.is_out_of_reach(judged) && self.span_is_known(judged)
        {
            Decision::Span
        } else {
            Decision::Continue
        }
    }

    fn mib(&self, chunks: usize) -> f64 {
        chunks as f64 * self.series.chunk_mib()
    }

    /// Minimum length of the part after the last cliff, or of the whole load if there is no cliff, MiB.
    fn least(&self, judged: &Assessment) -> f64 {
        let after = judged.cliffs.last().map(|cliff| AFTER_CLIFF.max(TIMES_BEFORE * self.mib(cliff.at)));
        after.or(self.rules.w_min.map(|least| least as f64)).unwrap_or(f64::INFINITY)
    }

    /// Whether enough followed the last cliff to exclude another level of the cache.
    fn is_no_level(&self, judged: &Assessment) -> bool {
        self.mib(judged.seen - judged.after_cliff()) >= self.least(judged)
    }

    /// Whether what is kept lasted long enough to be called sustained.
    fn holds_for_long(&self, judged: &Assessment) -> bool {
        let seconds = judged.mean * self.mib(judged.used());
        seconds >= Throughput::SUSTAINED_SECONDS && self.is_no_level(judged)
    }

    /// Minimum length of the load for a sustained speed, MiB.
    fn needs(&self, judged: &Assessment) -> f64 {
        let least = self.mib(judged.after_cliff()) + self.least(judged);
        least.max(self.mib(judged.cut) + Throughput::SUSTAINED_SECONDS / judged.mean)
    }

    /// MiB reserved for measuring the fast part again, if the load looks for a cliff.
    fn room(&self, judged: &Assessment) -> f64 {
        let fast = judged.cliffs.last().filter(|_| self.rules.w_min.is_none());
        fast.map_or(0.0, |cliff| ONCE_MORE * self.mib(cliff.at) + self.mib(FEWEST))
    }

    /// Whether the bytes or the seconds allowed are too few for a sustained speed.
    fn is_out_of_reach(&self, judged: &Assessment) -> bool {
        let (needs, seen) = (self.needs(judged), self.mib(judged.seen));
        let seconds = self.series.total_seconds + MARGIN * judged.mean * (needs - seen);
        let bytes = needs + self.room(judged);
        self.only_fast_part || bytes > self.rules.budget as f64 || seconds > self.most_seconds()
    }

    /// Whether the load lasted as long as one that needs only the span. Ending it once the interval is
    /// narrow would favour runs in which no stall came by chance. A load that looks for a cliff goes on until one is known,
    /// to the next level of the cache, if the budget allows it.
    fn span_is_known(&self, judged: &Assessment) -> bool {
        let total = self.series.total_seconds;
        if self.rules.w_min.is_some() {
            return total >= self.longest_span();
        }
        let next = self.rules.growth * self.mib(judged.seen);
        let crowded = || next + self.room(judged) > self.rules.budget as f64;
        let after = || total - self.series.seconds_before(judged.after_cliff());
        !judged.cliffs.is_empty() && after() >= self.longest_span() && (self.is_no_level(judged) || crowded())
    }

    /// How long a load like this must last for a speed over a span of time, s.
    fn longest_span(&self) -> f64 {
        let (series, seconds) = (&self.series, self.series.total_seconds);
        let fast = self.operations as f64 >= FAST_OPERATIONS * seconds
            || series.total_bytes as f64 >= FAST_BYTES * seconds;
        if fast { FAST_SPAN } else { SLOW_SPAN }
    }

    /// Whether a limit on time or bytes ended it before its rule did.
    pub fn is_cut_by_limit(&self) -> bool {
        matches!(self.decision, Decision::Continue | Decision::Budget)
    }

    /// The estimate and number of cliffs of the latest look; before the first look, the mean rate, unbounded.
    pub fn progress(&self) -> (Option<Estimate>, usize) {
        let Some(judged) = &self.latest else {
            let estimate = self.series.rate().map(|rate| Estimate::unbounded(rate, "plain rate so far"));
            return (estimate, 0);
        };
        (Some(self.estimate(judged, self.span.as_ref())), judged.cliffs.len())
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

    /// The throughput so far, bytes per second: the sustained one where the rule found it, else that of the whole span. May
    /// be called before or after the rule has decided; `ended` is `None` if the record was cut off during the load.
    pub fn finish(&self, ended: Option<&Ended>) -> Throughput {
        let series = &self.series;
        let latest = self.latest.clone().filter(|judged| judged.seen == series.len());
        let judged = latest.or_else(|| assess(&series.x, series.chunk_mib()));
        let throughput = Throughput {
            estimate: Estimate::unbounded(self.series.rate().unwrap_or(0.0), "too short for an interval"),
            sustained: false,
            reason: Some(Reason::TooShort),
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
        let sustained = self.decision == Decision::Converged;
        let discarded = if sustained { series.bytes_before(judged.cut) } else { 0 };
        Throughput {
            estimate: self.estimate(judged, span::speed(series).as_ref()),
            sustained,
            reason: self.reason(judged, ended),
            discarded,
            used: throughput.used - discarded,
            bytes_needed: self.bytes_needed(judged),
            stalls: self.stalls(judged, sustained),
            cliffs: judged.cliffs.iter().map(|c| series.cliff(c)).collect(),
            unseen: Some(self.unseen(judged)),
            ..throughput
        }
    }

    /// The lower end of a sustained speed includes the cost of stalls too rare to be seen.
    fn estimate(&self, judged: &Assessment, span: Option<&Estimate>) -> Estimate {
        if self.decision != Decision::Converged {
            let plain = || Estimate::unbounded(MIB as f64 / judged.mean, "too short for an interval");
            return span.cloned().unwrap_or_else(plain);
        }
        let how = match judged.events.len() {
            0 => "batch means",
            1..=5 => "batch means + rare stalls",
            _ => "batch means + stall cycles",
        };
        let estimate = judged.speed(WIDEN, how, true);
        let slowed = |low: f64| MIB as f64 / (MIB as f64 / low + self.unseen(judged).cost);
        let within = estimate.within.map(|[low, high]| [slowed(low), high]);
        Estimate { low: slowed(estimate.low), within, ..estimate }
    }

    fn reason(&self, judged: &Assessment, ended: Option<&Ended>) -> Option<Reason> {
        let stalls = judged.share.below.max(judged.share.above);
        match ended {
            _ if self.decision == Decision::Converged => None,
            None | Some(Ended::Cancelled | Ended::Failed { .. }) => Some(Reason::Stopped),
            // Too little followed the last slow-down to call the speed drifting.
            _ if judged.is_too_short_after_cliff() => Some(Reason::Budget),
            _ if !judged.steady.agreed => Some(Reason::Drifting),
            _ if WIDEN * judged.half <= self.rules.precision => Some(Reason::Budget),
            _ if stalls > judged.base_half => Some(Reason::IrregularStalls),
            _ => Some(Reason::Noisy),
        }
    }

    /// Bytes needed for a sustained speed: for its minimum time, after a cliff, and for the precision. Half-widths without the
    /// spread between runs shrink with the square root of the bytes.
    fn bytes_needed(&self, judged: &Assessment) -> Option<u64> {
        let times = (WIDEN * judged.half / self.rules.precision).powi(2);
        let bytes = self.series.chunk as f64 * (judged.cut as f64 + judged.used() as f64 * times);
        let bytes = bytes.max(self.needs(judged) * MIB as f64);
        (judged.steady.agreed && bytes < u64::MAX as f64).then_some(bytes as u64)
    }

    fn stalls(&self, judged: &Assessment, sustained: bool) -> StallSummary {
        let series = &self.series;
        let all = judged.earlier.iter().chain(&judged.events);
        let stall = |e: &StallSpan| Stall {
            at_seconds: series.seconds_before(e.first),
            seconds: e.excess * series.chunk_mib(),
        };
        let each: Vec<Stall> = all.map(stall).collect();
        let seconds: f64 = each.iter().map(|s| s.seconds).sum();
        let time_share =
            if sustained { judged.share.mean / judged.mean } else { seconds / series.total_seconds };
        StallSummary { mean_seconds: seconds / each.len().max(1) as f64, time_share, each }
    }

    fn unseen(&self, judged: &Assessment) -> Unseen {
        let series = &self.series;
        let clean_bytes = series.bytes_before(judged.seen) - series.bytes_before(judged.after_cliff());
        Unseen::after(clean_bytes, judged.mean)
    }
}
