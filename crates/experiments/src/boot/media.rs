//! Boots of one machine, grouped by the drive that they are from and its link.

use super::result::{Boot, Boots};
use crate::analyse::{Estimate, repeat};

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

    /// Sum of the times of all reads of a boot, s, from boots whose counters were read soon after.
    pub fn reads(&self) -> Option<Estimate> {
        let soon = |boot: &&Boot| boot.reads.filter(|reads| reads.until <= boot.finish + SOON);
        repeat::middle(&self.boots.iter().filter_map(|boot| Some(soon(boot)?.seconds)).collect::<Vec<_>>())
    }
}

/// The media of these boots: that of this boot first, then by the median of their boots, fastest first.
pub(super) fn media(boots: &Boots) -> Vec<Medium<'_>> {
    let mut media: Vec<Medium<'_>> = Vec::new();
    for boot in [&boots.this].into_iter().chain(&boots.earlier) {
        match media.iter_mut().find(|medium| medium.boots[0].is_same_medium(boot)) {
            Some(medium) => medium.boots.push(boot),
            None => media.push(Medium { label: boot.drive_and_link(), boots: vec![boot] }),
        }
    }
    let order = |medium: &Medium<'_>| medium.whole().map_or(f64::INFINITY, |whole| whole.value);
    if let [_, others @ ..] = &mut media[..] {
        others.sort_by(|a, b| order(a).total_cmp(&order(b)));
    }
    media
}
