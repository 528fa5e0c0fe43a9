//! The speed over a span of time: what a drive does in seconds to a minute from its present state, with its interval. It
//! says nothing about what comes after.
//!
//! The rule was chosen by simulation before it was built: 24 kinds of drives, each with blocks of 1 MiB and 4 KiB, see
//! `docs/method.md`.

use serde::{Deserialize, Serialize};

use super::{
    Decision, End, Estimate, Reason, StallSummary, Throughput, Unseen,
    assessment::WIDEN,
    chunks::Chunks,
    cliff::{self, Cut},
    interval::{average, base_half_width, correlated_half_width, spacings, stall_share},
    stalls::{self, StallSpan},
};
use crate::units::{MIB, Window};

/// A load has 256 to 511 pieces, or as many as it has chunks.
const PIECES: usize = 256;
/// Fewer pieces than this give no interval.
const LEAST: usize = 16;
/// Looks are this much further apart each time.
const GROWTH: f64 = 1.25;
/// From so many operations or bytes per second on, a few seconds are enough.
const FAST_OPERATIONS: f64 = 1000.0;
const FAST_BYTES: f64 = 100e6;

/// When to stop, s. Stored in the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpanRules {
    /// The half-width aimed at, as a share of the value.
    pub precision: f64,
    /// The least and the most for a medium that answers thousands of operations a second.
    pub fast: [f64; 2],
    /// The same for other media.
    pub slow: [f64; 2],
    /// Once the least time is over, no more bytes than this are moved. Older plans had no such limit.
    #[serde(default = "unlimited")]
    pub enough: u64,
}

fn unlimited() -> u64 {
    u64::MAX
}

impl SpanRules {
    /// 5 %, 3 to 9 s, and 15 to 55 s where the medium is slow: with six loads, a minute and six minutes at most.
    pub fn standard() -> Self {
        Self { precision: 0.05, fast: [3.0, 9.0], slow: [15.0, 55.0], enough: u64::MAX }
    }

    /// 10 %, in half the time.
    pub fn quick() -> Self {
        Self { precision: 0.10, fast: [1.5, 4.5], slow: [7.5, 27.5], ..Self::standard() }
    }

    /// The usual limits with another precision.
    pub(super) fn of(precision: f64) -> Self {
        Self { precision, ..Self::standard() }
    }

    /// The least and the most for a load that moved so much in `seconds`.
    pub(super) fn limits(&self, operations: u64, bytes: u64, seconds: f64) -> [f64; 2] {
        let fast = operations as f64 >= FAST_OPERATIONS * seconds || bytes as f64 >= FAST_BYTES * seconds;
        if fast { self.fast } else { self.slow }
    }
}

/// Applies the rule to the windows of one load. The same windows always give the same result.
#[derive(Debug, Clone)]
pub struct Span {
    rules: SpanRules,
    series: Chunks,
    operations: u64,
    /// When to look next, s.
    due: f64,
    latest: Option<Look>,
    decision: Decision,
}

/// The result of one look. Times are in s per MiB, positions in chunks.
#[derive(Debug, Clone)]
pub(super) struct Look {
    mean: f64,
    /// The 95 % interval of the mean reaches so far down and up, without what runs differ by.
    below: f64,
    above: f64,
    /// The half-width as a share, without what runs differ by.
    half: f64,
    /// Half-widths of the mean of what isn't a stall, and of the stalls' share.
    base_half: f64,
    stalls_half: f64,
    stalled: f64,
    events: Vec<StallSpan>,
    cuts: Vec<Cut>,
}

impl Look {
    pub(super) fn is_precise(&self, precision: f64) -> bool {
        WIDEN * self.half <= precision
    }

    pub(super) fn estimate(&self, converged: bool) -> Estimate {
        Estimate::of_time(self.mean, [self.below, self.above], WIDEN, "span", converged)
    }
}

impl Span {
    pub fn new(rules: &SpanRules) -> Self {
        Self {
            rules: rules.clone(),
            series: Chunks::default(),
            operations: 0,
            due: 0.0,
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
        self.operations += window.ops;
        let seconds = self.series.total_seconds;
        let [least, most] = self.rules.limits(self.operations, self.series.total_bytes, seconds);
        let ends = seconds >= most || seconds >= least && self.series.total_bytes >= self.rules.enough;
        if ends || seconds >= self.due.max(self.rules.fast[0]) {
            self.latest = look(&self.series);
            let precise = self.latest.as_ref().is_some_and(|l| l.is_precise(self.rules.precision));
            // A speed that fell may rise again, so a span with a step lasts as long as it may.
            let level = self.latest.as_ref().is_some_and(|l| l.cuts.is_empty());
            self.decision = match () {
                () if precise && (ends || level && seconds >= least) => Decision::Converged,
                () if ends => Decision::Budget,
                () => Decision::Continue,
            };
            let next = seconds * GROWTH;
            self.due = if seconds < least { next.min(least) } else { next.min(most) };
        }
        self.decision
    }

    /// The estimate, stalls and cliffs of the latest look; before the first look, the mean rate, unbounded.
    pub fn progress(&self) -> (Option<Estimate>, usize, usize) {
        match &self.latest {
            Some(look) => (Some(look.estimate(false)), look.events.len(), look.cuts.len()),
            None => (self.plain(), 0, 0),
        }
    }

    fn plain(&self) -> Option<Estimate> {
        self.series.rate().map(|rate| Estimate::unbounded(rate, "too short for an interval"))
    }

    /// The speed over the span so far, bytes per second.
    pub fn finish(&self, end: End) -> Throughput {
        let series = &self.series;
        let look = look(series);
        let converged = self.decision == Decision::Converged;
        let estimate = look.as_ref().map(|look| look.estimate(converged)).or_else(|| self.plain());
        Throughput {
            estimate: estimate.unwrap_or_else(|| Estimate::unbounded(0.0, "nothing was moved")),
            sustained: false,
            reason: reason(look.as_ref(), self.decision, end, self.rules.precision),
            bytes: series.total_bytes,
            seconds: series.total_seconds,
            discarded: 0,
            used: series.total_bytes,
            chunk: series.chunk,
            bytes_needed: None,
            stalls: look.as_ref().map(|look| self.stalls(look)).unwrap_or_default(),
            cliffs: look.iter().flat_map(|look| &look.cuts).map(|cut| series.cliff(cut)).collect(),
            unseen: look.as_ref().map(|look| self.unseen(look)),
        }
    }

    fn stalls(&self, look: &Look) -> StallSummary {
        let each = look.events.iter().map(|e| self.series.stall(e, e.excess)).collect();
        StallSummary::new(each, &spacings(&look.events), self.series.chunk, look.stalled / look.mean)
    }

    fn unseen(&self, look: &Look) -> Unseen {
        let from = look.cuts.last().map_or(0, |cut| cut.resume);
        Unseen::after(self.series.total_bytes - self.series.bytes_before(from), look.mean)
    }
}

fn reason(look: Option<&Look>, decision: Decision, end: End, precision: f64) -> Option<Reason> {
    match (look, end) {
        _ if decision == Decision::Converged => None,
        (_, End::Interrupted) => Some(Reason::Interrupted),
        (_, End::Failed) => Some(Reason::Failed),
        // A limit on time or bytes ended it before its rule did.
        _ if !decision.stops() => Some(Reason::Budget),
        (None, _) => Some(Reason::TooShort),
        (Some(look), _) if look.is_precise(precision) => Some(Reason::Budget),
        (Some(look), _) if look.stalls_half > look.base_half => Some(Reason::IrregularStalls),
        (Some(_), _) => Some(Reason::Noisy),
    }
}

/// The mean over all of `series` and its interval; `None` if it has too few chunks. Speeds before and after a cliff are
/// both part of the span, so noise is what is left around the speed between cliffs.
pub(super) fn look(series: &Chunks) -> Option<Look> {
    let group = (series.len() / PIECES).max(1);
    let pieces = pieces(series, group);
    if pieces.len() < LEAST {
        return None;
    }
    let mib = series.chunk_mib() * group as f64;
    let cuts = cliff::find(&stalls::split(&pieces, mib).base);
    let ends = cuts.iter().map(|cut| cut.at).chain([pieces.len()]);
    let (mut noise, mut stopped, mut events, mut from) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for to in ends {
        let split = stalls::split(&pieces[from..to], mib);
        let level = average(&split.base);
        stopped.extend(pieces[from..to].iter().zip(&split.base).map(|(x, base)| x - base));
        noise.extend(split.base.iter().map(|x| x - level));
        events.extend(split.events.into_iter().map(|e| StallSpan {
            first: e.first + from,
            last: e.last + from,
            ..e
        }));
        from = to;
    }
    let mean = series.total_seconds * MIB as f64 / series.total_bytes as f64;
    let share = stall_share(&events, pieces.len()).in_clusters(&stopped);
    let base_half = base_half_width(&noise).max(correlated_half_width(&noise));
    let (below, above) = (base_half.hypot(share.below), base_half.hypot(share.above));
    // From pieces to chunks, and from s per MiB to s.
    let chunks = |e: StallSpan| StallSpan {
        first: e.first * group,
        last: ((e.last + 1) * group - 1).min(series.len() - 1),
        excess: e.excess * mib,
    };
    let cut = |c: Cut| Cut { at: c.at * group, resume: c.resume * group, ..c };
    Some(Look {
        mean,
        below,
        above,
        half: (below + above) / 2.0 / mean,
        base_half,
        stalls_half: share.below.max(share.above),
        stalled: share.mean,
        events: events.into_iter().map(chunks).collect(),
        cuts: cuts.into_iter().map(cut).collect(),
    })
}

/// Seconds per MiB of pieces of `group` chunks; the last one has the rest as well.
fn pieces(series: &Chunks, group: usize) -> Vec<f64> {
    let all = series.len() / group;
    let piece = |n: usize| {
        let to = if n + 1 == all { series.len() } else { (n + 1) * group };
        let part = n * group..to;
        let bytes: u64 = series.bytes[part.clone()].iter().sum();
        let seconds: f64 = part.map(|i| series.x[i] * series.bytes[i] as f64).sum();
        seconds / bytes as f64
    };
    (0..all).map(piece).collect()
}
