//! Comparable runs of a drive as one.

use super::evidence::Evidence;
use crate::{
    findings::{Metric, pooled},
    units::distinct,
};

/// Evidence of one load on one drive as one where its runs are comparable: with the same load, layers and board, and in the same
/// bay. Other evidence is kept as it is. Both are oldest first.
pub(super) fn comparable(all: &[&Evidence]) -> Vec<Evidence> {
    let is_of_one =
        |e: &Evidence| e.load.is_some() && e.drives.len() == 1 && e.pool.is_none() && e.speed().is_some();
    let is_alike = |a: &Evidence, b: &Evidence| {
        let scope = |e: &Evidence| e.speed_position().map(|at| e.numbers[at].scope);
        (&a.drives, &a.bays, &a.board, a.modelled) == (&b.drives, &b.bays, &b.board, b.modelled)
            && (scope(a), a.at_once) == (scope(b), b.at_once)
            && a.key() == b.key()
    };
    let mut left: Vec<&Evidence> = all.to_vec();
    let mut merged = Vec::new();
    while let Some(newest) = left.pop() {
        let is_same = |e: &&Evidence| is_of_one(newest) && is_of_one(e) && is_alike(e, newest);
        let (mut same, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_same);
        left = rest;
        same.push(newest);
        merged.push(as_one(newest, &same));
    }
    merged.reverse();
    merged
}

/// The newest evidence with the speed of all that is the same, and the longest operation of any.
fn as_one(newest: &Evidence, same: &[&Evidence]) -> Evidence {
    let mut one = newest.clone();
    let speeds: Vec<&Metric> =
        same.iter().filter_map(|e| e.speed_position().map(|at| &e.numbers[at])).collect();
    let weighted: Vec<_> = speeds.iter().map(|m| (&m.estimate, m.rounds.unwrap_or(1))).collect();
    let (Some(at), true, Some((estimate, used))) = (one.speed_position(), same.len() > 1, pooled(&weighted))
    else {
        return one;
    };
    one.numbers[at].estimate = estimate;
    let worst = same.iter().filter_map(|e| Some((e.worst()?, *e))).max_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some(at), Some((seconds, _))) = (one.worst_position(), worst) {
        one.numbers[at].estimate.value = seconds;
    }
    let runs = used.iter().map(|&at| same[at]).chain(worst.map(|(_, from)| from));
    one.pooled_with = distinct(runs.map(|e| e.run.clone()).filter(|run| *run != newest.run));
    one
}
