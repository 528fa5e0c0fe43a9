//! Which layout suits what is wanted.

use crate::{
    analyse::{Estimate, compare::apart},
    units::{Layout, count, decimal_bytes, listed, rate},
};

/// A layout that was measured.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub layout: Layout,
    pub drives: usize,
    /// Bytes, if all of each drive is used.
    pub holds: u64,
    /// Bytes per second in blocks of 1 MiB.
    pub write: Option<Estimate>,
    pub read: Option<Estimate>,
}

impl Candidate {
    fn survives(&self) -> usize {
        self.layout.survives(self.drives)
    }
}

/// What a layout is best at.
#[derive(Debug, PartialEq)]
pub(super) enum Recommendation {
    /// These hold the most, this many bytes.
    Capacity(Vec<Layout>, u64),
    /// These survive the most failures, with their number.
    Safety(Vec<Layout>, usize),
    /// Of `reads` or `writes`.
    Speed(&'static str, Fastest),
}

/// The layout with the highest speed, bytes per second.
#[derive(Debug, PartialEq)]
pub(super) struct Fastest {
    pub layout: Layout,
    pub speed: Estimate,
    /// The layouts, itself included, that may be the fastest by their intervals; none if it certainly is.
    pub undecided: Vec<Layout>,
}

/// The recommendations for each wish, among layouts that survive this number of failures.
pub(super) fn recommend(all: &[Candidate], survive: usize) -> Vec<Recommendation> {
    let is_measured = |one: &&Candidate| one.read.is_some() || one.write.is_some();
    let fit: Vec<&Candidate> =
        all.iter().filter(is_measured).filter(|one| one.survives() >= survive).collect();
    let Some(most) = fit.iter().map(|one| one.survives()).max() else { return Vec::new() };
    let safest = fit.iter().filter(|one| one.survives() == most).map(|one| one.layout);
    let mut found = vec![capacity(&fit), Recommendation::Safety(safest.collect(), most)];
    let reads = fastest(&fit, |one| one.read.clone()).map(|fastest| ("reads", fastest));
    let writes = fastest(&fit, |one| one.write.clone()).map(|fastest| ("writes", fastest));
    found.extend(reads.into_iter().chain(writes).map(|(way, fastest)| Recommendation::Speed(way, fastest)));
    found
}

fn capacity(fit: &[&Candidate]) -> Recommendation {
    let most = fit.iter().map(|one| one.holds).max().unwrap_or(0);
    // Partitions and superblocks take less than a hundredth.
    let best = fit.iter().filter(|one| one.holds as f64 > most as f64 * 0.99);
    Recommendation::Capacity(best.map(|one| one.layout).collect(), most)
}

fn fastest(fit: &[&Candidate], speed: impl Fn(&Candidate) -> Option<Estimate>) -> Option<Fastest> {
    let known: Vec<(Layout, Estimate)> =
        fit.iter().filter_map(|one| Some((one.layout, speed(one)?))).collect();
    let (layout, first) = known.iter().max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?.clone();
    if known.len() < 2 {
        return None;
    }
    let speeds: Vec<Estimate> = known.iter().map(|(_, speed)| speed.clone()).collect();
    let is_decided = apart(&speeds)[1].is_some() && speeds.iter().all(Estimate::is_bounded);
    let may = known.iter().filter(|(_, speed)| !is_decided && speed.high >= first.low);
    Some(Fastest { layout, speed: first.clone(), undecided: may.map(|(layout, _)| *layout).collect() })
}

impl Recommendation {
    pub fn sentence(&self) -> String {
        let names = |layouts: &[Layout]| listed(&layouts.iter().map(|one| one.name()).collect::<Vec<_>>());
        let drives = |n: usize| count(n as u64, "drive");
        match self {
            Self::Capacity(best, bytes) => {
                format!("Most capacity: {}, {}.", names(best), decimal_bytes(*bytes))
            }
            Self::Safety(all, 0) => {
                format!("Safety: with {}, all data is lost when one drive fails.", names(all))
            }
            Self::Safety(best, n) => {
                format!("Most safety: {}, any {} may fail. A pool is not a backup.", names(best), drives(*n))
            }
            Self::Speed(way, Fastest { layout, speed, undecided }) => {
                let found = match undecided.is_empty() {
                    true => "Fastest".to_owned(),
                    false => format!("No clear difference between {}; highest", names(undecided)),
                };
                format!("{found} at sequential 1 MiB {way}: {}, {}.", layout.name(), speed.text(rate))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(layout: Layout, holds: u64, read: (f64, f64, f64)) -> Candidate {
        let (low, value, high) = read;
        let read = Some(Estimate { low, high, ..Estimate::unbounded(value, "") });
        Candidate { layout, drives: 4, holds: holds * 1_000_000_000, write: None, read }
    }

    #[test]
    fn each_wish_has_its_layout_and_no_difference_is_claimed_that_the_intervals_do_not_show() {
        let all = [
            candidate(Layout::Linear, 240, (5e6, 6e6, 7e6)),
            candidate(Layout::Raid0, 240, (20e6, 22e6, 24e6)),
            candidate(Layout::Raid5, 180, (14e6, 15e6, 16e6)),
            candidate(Layout::Raid6, 120, (9e6, 10e6, 11e6)),
            candidate(Layout::Raid10, 120, (13e6, 14e6, 15e6)),
        ];
        let text = [0, 1, 3].map(|survive| {
            let all = recommend(&all, survive);
            all.iter().map(Recommendation::sentence).collect::<Vec<_>>().join("\n")
        });
        insta::assert_snapshot!(text.join("\n\n"));
    }

    fn speed(all: &[Candidate]) -> Option<Fastest> {
        fastest(&all.iter().collect::<Vec<_>>(), |one| one.read.clone())
    }

    #[test]
    fn nothing_is_the_fastest_beside_a_layout_without_an_interval() {
        let low = candidate(Layout::Raid1, 60, (9e6, 10e6, 11e6));
        let high = candidate(Layout::Raid10, 120, (13e6, 14e6, 15e6));
        let once = candidate(Layout::Raid0, 240, (0.0, 22e6, f64::INFINITY));
        let open = |found: Option<Fastest>| found.map(|found| (found.undecided, found.layout));
        let all = vec![Layout::Raid1, Layout::Raid10, Layout::Raid0];
        assert_eq!(open(speed(&[low.clone(), high, once.clone()])), Some((all, Layout::Raid0)));
        let other = candidate(Layout::Raid1, 60, (0.0, 10e6, f64::INFINITY));
        assert_eq!(open(speed(&[other, once])), Some((vec![Layout::Raid1, Layout::Raid0], Layout::Raid0)));
        assert_eq!(speed(&[low]), None, "of one nothing is the fastest");
    }

    #[test]
    fn what_was_not_measured_is_not_recommended() {
        let stopped = Candidate { read: None, ..candidate(Layout::Raid6, 120, (1e6, 1e6, 1e6)) };
        assert_eq!(recommend(std::slice::from_ref(&stopped), 0), []);
        let all = [stopped, candidate(Layout::Raid0, 240, (20e6, 22e6, 24e6))];
        assert_eq!(recommend(&all, 0)[1..], [Recommendation::Safety(vec![Layout::Raid0], 0)]);
    }
}
