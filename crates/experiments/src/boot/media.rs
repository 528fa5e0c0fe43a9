//! Boots of one machine, grouped by the drive that they are from and its link.

use super::result::{Boot, Boots};
use crate::analyse::{CostFit, CostSample, Estimate, repeat};

/// Counters of the drive that were read later than this after the end of a boot hold too much that is not of it, s.
const SOON: f64 = 300.0;

/// The boots from one drive, linked in one way.
pub(super) struct Medium<'a> {
    pub label: String,
    pub boots: Vec<&'a Boot>,
}

impl<'a> Medium<'a> {
    fn each(&self, of: impl Fn(&Boot) -> f64) -> Vec<f64> {
        self.boots.iter().map(|boot| of(boot)).collect()
    }

    /// The median of a part of the boots.
    pub fn median(&self, of: impl Fn(&Boot) -> f64) -> Option<Estimate> {
        repeat::middle(&self.each(of))
    }

    /// Kernel and userspace together, s.
    pub fn whole(&self) -> Option<Estimate> {
        self.median(|boot| boot.finish)
    }

    /// How much longer boots from here take than from another one, s.
    pub fn longer_than(&self, other: &Self) -> Option<Estimate> {
        repeat::difference_of_medians(&self.each(|boot| boot.finish), &other.each(|boot| boot.finish))
    }

    /// How long all reads of a boot took, added up, s, of boots whose counters were read soon after.
    pub fn reads(&self) -> Option<Estimate> {
        repeat::middle(&self.soon().filter_map(|boot| Some(boot.reads?.seconds)).collect::<Vec<_>>())
    }

    fn soon(&self) -> impl Iterator<Item = &'a Boot> + '_ {
        let soon = |boot: &Boot| boot.reads.is_some_and(|reads| reads.until <= boot.finish + SOON);
        self.boots.iter().copied().filter(move |boot| soon(boot))
    }

    /// The medians of boots whose counters were read soon after: seconds of reads, and of the boot.
    fn point(&self) -> Option<(f64, f64)> {
        let whole = repeat::middle(&self.soon().map(|boot| boot.finish).collect::<Vec<_>>())?;
        Some((self.reads()?.value, whole.value))
    }
}

/// The media of these boots: that of this boot first, then by the median of their boots, fastest first.
pub(super) fn media(boots: &Boots) -> Vec<Medium<'_>> {
    let mut media: Vec<Medium<'_>> = Vec::new();
    for boot in [&boots.this].into_iter().chain(&boots.earlier) {
        match media.iter_mut().find(|medium| medium.boots[0].is_same_medium(boot)) {
            Some(medium) => medium.boots.push(boot),
            None => media.push(Medium { label: boot.from(), boots: vec![boot] }),
        }
    }
    let order = |medium: &Medium<'_>| medium.whole().map_or(f64::INFINITY, |whole| whole.value);
    if let [_, others @ ..] = &mut media[..] {
        others.sort_by(|a, b| order(a).total_cmp(&order(b)));
    }
    media
}

/// What a boot takes whatever it is read from.
pub(super) struct Fit {
    /// How many media it is of.
    pub media: usize,
    /// Seconds of a boot without any time of reads.
    pub without_reads: Estimate,
    /// By how much the median boot from the medium of this boot is longer, s.
    pub gain: Estimate,
    /// Boots take longer where reads do.
    pub depends: bool,
}

/// A line through the medians of the media, at no seconds of reads; media of which it is not known are left out. None of fewer than three.
pub(super) fn fit(media: &[Medium<'_>]) -> Option<Fit> {
    let points: Vec<(f64, f64)> = media.iter().filter_map(Medium::point).collect();
    let sample =
        |(reads, whole): &(f64, f64)| CostSample { parts: vec![1.0, *reads], cost: *whole, error: 1.0 };
    let fit = CostFit::new(&points.iter().map(sample).collect::<Vec<_>>())?;
    let (_, here) = media.first()?.point()?;
    let without_reads = fit.cost(0);
    let gain = Estimate {
        value: (here - without_reads.value).max(0.0),
        low: (here - without_reads.high).max(0.0),
        high: (here - without_reads.low).max(0.0),
        ..without_reads.clone()
    };
    Some(Fit { media: points.len(), without_reads, gain, depends: fit.cost(1).low > 0.0 })
}
