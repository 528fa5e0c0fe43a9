//! What a drive is fit for, by its numbers. Thresholds and their sources: `docs/fitness.md`.

use super::{
    super::common::Group,
    summary::{seconds_alone, worst_stop},
};
use crate::{
    analyse::Estimate,
    units::{Caching, Content, Direction, KIB, Load, MIB, Pattern, duration, listed, rate, thousands},
};

/// Application performance class A1 of the SD Association: random 4 KiB, operations per second.
const A1_READ: f64 = 1500.0;
const A1_WRITE: f64 = 500.0;
/// Class A2, as far as swap and databases need it.
const A2_WRITE: f64 = 2000.0;
/// A stream of 40 Mb/s, as on a Blu-ray disc, bytes per second.
const STREAM: f64 = 5e6;
/// Video speed class V6, bytes per second: 170 GB in a night of eight hours.
const V6_WRITE: f64 = 6e6;
/// Waits of reads and of writes are watched for so long each, s; of less, only what was too long is said.
const LEAST_SECONDS: f64 = 3.0;
/// A desktop that stops for longer counts as hung, s.
const SYSTEM_WAIT: f64 = 1.0;
/// A program that waits longer for a page is noticed, s.
const SWAP_WAIT: f64 = 0.5;
/// Of a hundred commits of a database, 99 take no longer, s.
const COMMIT: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// The interval holds the threshold, or something was not measured.
    Unclear,
}

impl Fit {
    /// Whether a number is at least `least`.
    fn at_least(estimate: Option<&Estimate>, least: f64) -> Self {
        match estimate {
            Some(e) if e.high < least => Self::No,
            Some(e) if e.low >= least => Self::Yes,
            _ => Self::Unclear,
        }
    }

    /// Whether the longest stop that was seen is shorter.
    fn shorter(wait: Option<f64>, than: f64, watched: bool) -> Self {
        match wait {
            Some(wait) if wait >= than => Self::No,
            Some(_) if watched => Self::Yes,
            _ => Self::Unclear,
        }
    }

    /// Whether 99 of a hundred synced writes of each run are as fast as databases ask for.
    fn quick(slowest: impl Iterator<Item = Option<Estimate>>) -> Self {
        let each = slowest.map(|slowest| match slowest {
            Some(e) if e.high <= COMMIT => Self::Yes,
            Some(e) if e.low > COMMIT => Self::No,
            _ => Self::Unclear,
        });
        each.reduce(Self::and).unwrap_or(Self::Unclear)
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Unclear,
        }
    }
}

/// A load of one operation at a time on the drive itself: past the page cache, with data that can't be compressed.
fn is_alone(group: &Group<'_>) -> bool {
    let load = &group.measure.load;
    let one = load.depth == 1 && load.streams == 1;
    one && load.caching == Caching::Direct && load.content == Content::Random && !group.target.is_memory()
}

/// What a database does to commit.
fn is_commit(load: &Load) -> bool {
    load.sync && (load.direction, load.pattern, load.block) == (Direction::Write, Pattern::Random, 4 * KIB)
}

/// Shorter loads say too little to judge a drive by.
fn is_watched(group: &Group<'_>) -> bool {
    group.runs.iter().map(|run| run.seconds).sum::<f64>() >= LEAST_SECONDS / 2.0
}

/// The sentences for one target: what stands out, and what it is fit for. Nothing without the loads that this needs.
pub(super) fn sentences(groups: &[&Group<'_>]) -> Vec<String> {
    let groups: Vec<&Group<'_>> = groups.iter().copied().filter(|g| is_alone(g) && is_watched(g)).collect();
    let groups = &groups[..];
    let find = |direction, pattern, block| {
        let mut all = groups.iter().map(|g| (&g.measure.load, *g));
        let same = |l: &Load| (l.direction, l.pattern, l.block) == (direction, pattern, block);
        all.find(|(load, _)| same(load) && !load.sync).map(|(_, group)| group)
    };
    let operations = |direction| {
        let group = find(direction, Pattern::Random, 4 * KIB)?;
        let of = |bytes: f64| bytes / (4 * KIB) as f64;
        let e = &group.estimate;
        Some(Estimate { value: of(e.value), low: of(e.low), high: of(e.high), ..e.clone() })
    };
    let (reads, writes) = (operations(Direction::Read), operations(Direction::Write));
    let [streams, backups] = [Direction::Read, Direction::Write]
        .map(|direction| find(direction, Pattern::Sequential, MIB).map(|g| &g.estimate));
    let synced = groups.iter().filter(|g| is_commit(&g.measure.load)).flat_map(|g| &g.runs);
    let wait = worst_stop(groups, false).zip(worst_stop(groups, true)).map(|(a, b)| a.max(b));
    let watched = [false, true].into_iter().all(|writes| seconds_alone(groups, writes) >= LEAST_SECONDS);
    let system = Fit::at_least(reads.as_ref(), A1_READ)
        .and(Fit::at_least(writes.as_ref(), A1_WRITE))
        .and(Fit::shorter(wait, SYSTEM_WAIT, watched));
    let swap = Fit::at_least(writes.as_ref(), A2_WRITE).and(Fit::shorter(wait, SWAP_WAIT, watched));
    let databases = Fit::quick(synced.map(|run| Some(run.tail.percentile(0.99)?.estimate)));
    let uses = [
        ("media", Fit::at_least(streams, STREAM)),
        ("backups", Fit::at_least(backups, V6_WRITE)),
        ("a system", system),
        ("swap", swap),
        ("databases", databases),
    ];
    let mut sentences = Vec::new();
    if let Some(speed) = streams.filter(|e| e.high < STREAM) {
        sentences.push(format!(
            "Reads are slow: {}; a video of 40 Mb/s needs {}.",
            rate(speed.value),
            rate(STREAM)
        ));
    }
    if let Some(speed) = backups.filter(|e| e.high < V6_WRITE) {
        sentences.push(format!(
            "Writes are slow: {}; class V6 asks for {}.",
            rate(speed.value),
            rate(V6_WRITE)
        ));
    }
    for (what, operations, least) in [("reads", &reads, A1_READ), ("writes", &writes, A1_WRITE)] {
        if let Some(e) = operations.as_ref().filter(|e| e.high < least) {
            sentences.push(format!(
                "Random {what} are slow: {} IOPS; class A1 asks for {}.",
                thousands(e.value),
                thousands(least)
            ));
        }
    }
    if let Some(wait) = wait.filter(|wait| *wait >= SWAP_WAIT) {
        sentences.push(format!("Operations stopped for up to {}.", duration(wait)));
    }
    let of = |fit: Fit| uses.iter().filter(|(_, f)| *f == fit).map(|(name, _)| *name).collect::<Vec<_>>();
    let (yes, no) = (of(Fit::Yes), of(Fit::No));
    let or = |names: &[&str]| listed(names).replace(" and ", " or ");
    match (&yes[..], &no[..]) {
        ([], []) => {}
        (yes, []) => sentences.push(format!("Fit for {}.", listed(yes))),
        ([], no) => sentences.push(format!("Not fit for {}.", or(no))),
        (yes, no) => sentences.push(format!("Fit for {}; not for {}.", listed(yes), or(no))),
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_ask_for_quick_commits_in_every_run() {
        let of = |low: f64, high: f64| {
            Some(Estimate { value: low, low, high, how: String::new(), converged: true, within: None })
        };
        let (quick, slow, wide) = (of(2e-3, 3e-3), of(20e-3, 30e-3), of(2e-3, 30e-3));
        let all = |runs: &[&Option<Estimate>]| Fit::quick(runs.iter().map(|run| (*run).clone()));
        assert_eq!(all(&[&quick, &quick]), Fit::Yes);
        assert_eq!(all(&[&quick, &slow]), Fit::No, "the second run counts, too");
        assert_eq!([all(&[&quick, &wide]), all(&[&quick, &None]), all(&[])], [Fit::Unclear; 3]);
    }

    #[test]
    fn only_synced_random_writes_are_commits() {
        let commit =
            Load { sync: true, ..Load::new(Direction::Write, Pattern::Random, 4 * KIB, Caching::Direct, 1) };
        assert!(is_commit(&commit));
        let others = [
            Load { pattern: Pattern::Sequential, ..commit.clone() },
            Load { direction: Direction::Read, ..commit.clone() },
            Load { block: 64 * KIB, ..commit.clone() },
            Load { sync: false, ..commit },
        ];
        assert!(!others.iter().any(is_commit), "{others:?}");
    }
}
