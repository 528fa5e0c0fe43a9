//! One assessment of a series of chunks: sustained throughput, stalls, cliffs and steadiness.

use super::{
    Estimate,
    cliff::{self, Cut},
    interval::{self, StallShare},
    stalls::{self, StallSpan},
    steady::{self, Steady},
};

/// Repeated looks with early stopping make intervals too narrow. Intervals of early stops are widened by this factor.
pub(super) const WIDEN: f64 = 1.2;
/// Fewer chunks than this give no interval.
pub(crate) const LEAST: usize = 32;

/// The result of one look. Times are in s per MiB, positions in chunks.
#[derive(Debug, Clone)]
pub(crate) struct Assessment {
    pub seen: usize,
    /// Chunks left out at the beginning, cliffs included.
    pub cut: usize,
    pub mean: f64,
    /// Distances from `mean` to the ends of its 95 % interval, without the spread between runs.
    pub below: f64,
    pub above: f64,
    /// The half-width as a share, without the spread between runs. More measuring makes it smaller.
    pub half: f64,
    pub base_half: f64,
    pub share: StallShare,
    /// Stalls after `cut`; positions count from the first chunk of all.
    pub events: Vec<StallSpan>,
    pub earlier: Vec<StallSpan>,
    pub cliffs: Vec<Cut>,
    pub steady: Steady,
}

impl Assessment {
    pub fn used(&self) -> usize {
        self.seen - self.cut
    }

    pub fn after_cliff(&self) -> usize {
        self.cliffs.last().map_or(0, |c| c.resume)
    }

    /// Whether what follows the last cliff is too little to judge whether it is steady.
    pub fn is_too_short_after_cliff(&self) -> bool {
        self.seen - self.after_cliff() < LEAST
    }

    /// The speed, bytes per second; `widen` is a factor on the interval of the mean.
    pub fn speed(&self, widen: f64, how: &str, converged: bool) -> Estimate {
        Estimate::of_time(self.mean, [self.below, self.above], widen, how, converged)
    }
}

/// Assesses `x`, s per MiB in chunks of `chunk_mib`; `None` if it is too short.
pub(crate) fn assess(x: &[f64], chunk_mib: f64) -> Option<Assessment> {
    if x.len() < LEAST {
        return None;
    }
    let whole = stalls::split(x, chunk_mib);
    let cliffs = cliff::find(&whole.base);
    let fallen = cliffs.last().map_or(0, |c| c.resume);
    // Medians shift at a cliff, so stalls after it are searched again.
    let rest = if fallen > 0 { stalls::split(&x[fallen..], chunk_mib).base } else { whole.base };
    let steady =
        if rest.len() < LEAST { Steady { cut: 0, agreed: false, drift: 0.0 } } else { steady::find(&rest) };
    let cut = fallen + steady.cut;
    let kept = &x[cut..];
    let n = kept.len();
    let mut split = stalls::split(kept, chunk_mib);
    let base_half = interval::base_half_width(&split.base);
    let base_mean = split.base.iter().sum::<f64>() / n as f64;
    let share = interval::stall_share(&split.events, n).with_one_more(&split.events, n, chunk_mib);
    let mean = base_mean + share.mean;
    let drift = steady.drift * base_mean;
    // Stalls that begin late or end early: half the difference of the halves.
    let late = |e: &StallSpan| if e.first >= n / 2 { e.excess } else { -e.excess };
    let uneven = split.events.iter().map(late).sum::<f64>() / n as f64;
    let with = |stall: f64| [stall, drift, uneven].into_iter().fold(base_half, f64::hypot);
    let (below, above) = (with(share.below), with(share.above));
    let half = (below + above) / 2.0 / mean;
    for e in &mut split.events {
        (e.first, e.last) = (e.first + cut, e.last + cut);
    }
    let earlier = whole.events.into_iter().take_while(|e| e.last < cut).collect();
    let (seen, events) = (x.len(), split.events);
    Some(Assessment {
        seen,
        cut,
        mean,
        below,
        above,
        half,
        base_half,
        share,
        events,
        earlier,
        cliffs,
        steady,
    })
}
