//! The numbers that decide what a drive is fit for.

use super::{
    super::common::Group,
    tables::{seconds_alone, worst_stop},
};
use crate::{
    analyse::Estimate,
    findings::Measures,
    units::{Caching, Content, Direction, KIB, Load, MIB, Pattern},
};

/// How long reads and writes must each be watched to say that there are no stops, in seconds.
const LEAST_SECONDS: f64 = 3.0;

/// A load of one operation at a time on the drive itself: past the page cache, with data that can't be compressed.
fn is_alone(group: &Group<'_>) -> bool {
    let load = &group.measure.load;
    let one = load.depth == 1 && load.streams == 1;
    one && group.load.missed.is_none()
        && load.caching == Caching::Direct
        && load.content == Content::Random
        && !group.target.is_memory()
}

/// Whether the load writes as a database commits.
fn is_commit(load: &Load) -> bool {
    load.sync && (load.direction, load.pattern, load.block) == (Direction::Write, Pattern::Random, 4 * KIB)
}

/// Whether the load ran long enough to judge a drive by.
fn is_watched(group: &Group<'_>) -> bool {
    group.runs.iter().map(|run| run.seconds).sum::<f64>() >= LEAST_SECONDS / 2.0
}

/// The measures that decide what a target is fit for.
pub(super) fn measures(groups: &[&Group<'_>]) -> Measures {
    let groups: Vec<&Group<'_>> = groups.iter().copied().filter(|g| is_alone(g) && is_watched(g)).collect();
    let groups = &groups[..];
    let speed = |direction, pattern, block| {
        let same = |l: &Load| (l.direction, l.pattern, l.block) == (direction, pattern, block) && !l.sync;
        groups.iter().find(|g| same(&g.measure.load)).map(|g| g.estimate.clone())
    };
    let operations = |direction| {
        let e = speed(direction, Pattern::Random, 4 * KIB)?;
        let count = |bytes: f64| bytes / (4 * KIB) as f64;
        Some(Estimate { value: count(e.value), low: count(e.low), high: count(e.high), ..e })
    };
    let synced = groups.iter().filter(|g| is_commit(&g.measure.load)).flat_map(|g| &g.runs);
    Measures {
        rounds: groups.iter().filter_map(|g| g.rounds()).max().unwrap_or(0),
        reads: speed(Direction::Read, Pattern::Sequential, MIB),
        writes: speed(Direction::Write, Pattern::Sequential, MIB),
        random_reads: operations(Direction::Read),
        random_writes: operations(Direction::Write),
        longest_stop: worst_stop(groups, false).zip(worst_stop(groups, true)).map(|(a, b)| a.max(b)),
        watched_stops: [false, true].into_iter().all(|writes| seconds_alone(groups, writes) >= LEAST_SECONDS),
        commits: synced.map(|run| run.tail.percentile(0.99)).collect(),
        ..Measures::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
