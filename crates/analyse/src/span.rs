//! The speed over a span of time: what a load did from its beginning on, with its interval. It says nothing about what comes after.

use super::{
    Estimate,
    assessment::WIDEN,
    chunks::Chunks,
    cliff,
    interval::{average, base_half_width, correlated_half_width, stall_share},
    stalls::{self, StallSpan},
};
use crate::units::MIB;

/// A load has 256 to 511 pieces, or as many as it has chunks.
const PIECES: usize = 256;
/// Fewer pieces than this give no interval.
const LEAST: usize = 16;

/// The speed over all of `series`; `None` if it has too few chunks. Speeds before and after a cliff are both part of it, so noise is
/// what is left around the speed between cliffs.
pub(super) fn speed(series: &Chunks) -> Option<Estimate> {
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
    let halves = [base_half.hypot(share.below), base_half.hypot(share.above)];
    Some(Estimate::of_time(mean, halves, WIDEN, "span", false))
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
