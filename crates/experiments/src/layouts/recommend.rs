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

/// Sentences for what is wanted, or for all that could be, among layouts that survive so many failures.
pub(super) fn recommend(all: &[Candidate], want: Option<&str>, survive: usize) -> Vec<String> {
    let measured: Vec<&Candidate> =
        all.iter().filter(|one| one.read.is_some() || one.write.is_some()).collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let fit: Vec<&Candidate> = measured.into_iter().filter(|one| one.survives() >= survive).collect();
    if fit.is_empty() {
        let drives = count(survive as u64, "drive");
        return vec![format!("None of these layouts survives the failure of any {drives}.")];
    }
    let among = match survive {
        0 => String::new(),
        n => format!(" of those that survive the failure of any {}", count(n as u64, "drive")),
    };
    let wanted = |what: &str| want.is_none_or(|want| want == what);
    let mut sentences = Vec::new();
    sentences.extend(wanted("capacity").then(|| capacity(&fit, &among)));
    if wanted("speed") {
        sentences.extend(SPEEDS.iter().filter_map(|(doing, of)| fastest(&fit, doing, &among, *of)));
    }
    if wanted("safety") {
        sentences.push(safety(&fit));
        let safest = safest(&fit);
        if want.is_some() && safest.len() > 1 {
            sentences
                .extend(SPEEDS.iter().filter_map(|(doing, of)| fastest(&safest, doing, " of these", *of)));
        }
    }
    sentences
}

/// A speed of a layout, where it was measured.
type Speed = fn(&Candidate) -> Option<&Estimate>;

const SPEEDS: [(&str, Speed); 2] = [
    ("sequential 1 MiB reads", |one| one.read.as_ref()),
    ("sequential 1 MiB writes", |one| one.write.as_ref()),
];

fn names(of: &[&Candidate]) -> String {
    listed(&of.iter().map(|one| one.layout.name()).collect::<Vec<_>>())
}

fn capacity(fit: &[&Candidate], among: &str) -> String {
    let most = fit.iter().map(|one| one.holds).max().unwrap_or(0);
    // Partitions and superblocks take less than a hundredth.
    let best: Vec<&Candidate> =
        fit.iter().filter(|one| one.holds as f64 > most as f64 * 0.99).copied().collect();
    let holds = if best.len() > 1 { "hold" } else { "holds" };
    format!("Capacity: {} {holds} the most{among}, {}.", names(&best), decimal_bytes(most))
}

/// Those that survive the most failures.
fn safest<'c>(fit: &[&'c Candidate]) -> Vec<&'c Candidate> {
    let most = fit.iter().map(|one| one.survives()).max().unwrap_or(0);
    fit.iter().filter(|one| one.survives() == most).copied().collect()
}

fn safety(fit: &[&Candidate]) -> String {
    let best = safest(fit);
    let most = best.first().map_or(0, |one| one.survives());
    if most == 0 {
        return format!("Safety: with {} any drive that fails takes all data with it.", names(fit));
    }
    let survive = if best.len() > 1 { "survive" } else { "survives" };
    let drives = count(most as u64, "drive");
    format!("Safety: {} {survive} the failure of any {drives}. A pool is no backup.", names(&best))
}

/// The fastest, if the intervals of all show it, else all that may be it.
fn fastest(fit: &[&Candidate], doing: &str, among: &str, of: Speed) -> Option<String> {
    let known: Vec<(&Candidate, Estimate)> =
        fit.iter().filter_map(|one| Some((*one, of(one)?.clone()))).collect();
    let (_, first) = known.iter().max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    if known.len() < 2 {
        return None;
    }
    // The table shows them alike.
    let is_top = |speed: &Estimate| rate(speed.value) == rate(first.value);
    let top: Vec<&Candidate> = known.iter().filter(|(_, speed)| is_top(speed)).map(|(one, _)| *one).collect();
    let highest = match top[..] {
        [one] => format!("the highest measured is {}, {}", one.layout, first.text(rate)),
        _ => format!("{} are the highest measured, {}", names(&top), rate(first.value)),
    };
    let no_interval = |is: fn(&Estimate) -> bool| -> Vec<&Candidate> {
        known.iter().filter(|(_, speed)| !speed.is_bounded() && is(speed)).map(|(one, _)| *one).collect()
    };
    let once = no_interval(|speed| speed.high.is_infinite());
    let noisy = no_interval(|speed| speed.high.is_finite());
    let has = |those: &[&Candidate]| if those.len() > 1 { "have" } else { "has" };
    let why = match (once.len(), noisy.len()) {
        (0, 0) => None,
        (n, _) if n == known.len() => Some("with one run nothing says which is faster".to_owned()),
        (0, _) => Some(format!("the runs of {} differ too much", names(&noisy))),
        _ => Some(format!("{} {} one run", names(&once), has(&once))),
    };
    if let Some(why) = why {
        return Some(format!("Speed: not decided at {doing}{among}: {why}; {highest}."));
    }
    let speeds: Vec<Estimate> = known.iter().map(|(_, speed)| speed.clone()).collect();
    if let [_, Some(at)] = apart(&speeds) {
        let (one, speed) = &known[at];
        return Some(format!(
            "Speed: {} is the fastest at {doing}{among}, {}.",
            one.layout,
            speed.text(rate)
        ));
    }
    let may: Vec<&Candidate> =
        known.iter().filter(|(_, speed)| speed.high >= first.low).map(|(one, _)| *one).collect();
    match may.len() {
        0 | 1 => None,
        _ => Some(format!("Speed: {} do not differ clearly at {doing}{among}; {highest}.", names(&may))),
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
        let lines = [(None, 0), (None, 1), (Some("safety"), 0), (Some("speed"), 2), (Some("capacity"), 3)];
        let text = lines.map(|(want, survive)| recommend(&all, want, survive).join("\n"));
        insta::assert_snapshot!(text.join("\n\n"));
    }

    #[test]
    fn nothing_is_the_fastest_beside_a_layout_without_an_interval() {
        let (low, high) = (candidate(Layout::Raid1, 60, (9e6, 10e6, 11e6)), (13e6, 14e6, 15e6));
        let once = candidate(Layout::Raid0, 240, (0.0, 22e6, f64::INFINITY));
        let noisy = candidate(Layout::Raid5, 180, (0.0, 12e6, 40e6));
        let speed = |all: &[Candidate]| recommend(all, Some("speed"), 0).join("\n");
        assert_eq!(
            speed(&[low.clone(), candidate(Layout::Raid10, 120, high), once.clone()]),
            "Speed: not decided at sequential 1 MiB reads: raid0 has one run; the highest measured is raid0, 22.0 MB/s."
        );
        assert_eq!(
            speed(&[low.clone(), noisy]),
            "Speed: not decided at sequential 1 MiB reads: the runs of raid5 differ too much; the highest measured is raid5, 12.0 MB/s (0.00–40.0)."
        );
        let other = candidate(Layout::Raid1, 60, (0.0, 10e6, f64::INFINITY));
        assert_eq!(
            speed(&[other, once]),
            "Speed: not decided at sequential 1 MiB reads: with one run nothing says which is faster; the highest measured is raid0, 22.0 MB/s."
        );
        assert!(!speed(&[low]).contains("fastest"), "of one nothing is the fastest");
    }

    #[test]
    fn of_equally_safe_layouts_their_speeds_are_compared() {
        let all = [
            candidate(Layout::Raid5, 180, (14e6, 15e6, 16e6)),
            candidate(Layout::Raid10, 120, (9e6, 10e6, 11e6)),
            candidate(Layout::Raid0, 240, (20e6, 22e6, 24e6)),
        ];
        assert_eq!(
            recommend(&all, Some("safety"), 0),
            [
                "Safety: raid5 and raid10 survive the failure of any 1 drive. A pool is no backup.",
                "Speed: raid5 is the fastest at sequential 1 MiB reads of these, 15.0 MB/s ±6.7 %.",
            ]
        );
    }

    #[test]
    fn what_was_not_measured_is_not_recommended() {
        let stopped = Candidate { read: None, ..candidate(Layout::Raid6, 120, (1e6, 1e6, 1e6)) };
        assert_eq!(recommend(&[stopped], None, 0), Vec::<String>::new());
        let stopped = Candidate { read: None, ..candidate(Layout::Raid6, 120, (1e6, 1e6, 1e6)) };
        let all = [stopped, candidate(Layout::Raid0, 240, (20e6, 22e6, 24e6))];
        let lines = recommend(&all, Some("safety"), 0);
        assert!(!lines.is_empty() && !lines.concat().contains("raid6"), "{lines:?}");
    }
}
