//! Evidence from the store: the newest runs of each drive that is here.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::super::stored;
use crate::{
    advise::Evidence,
    experiments::REGISTER,
    import::EXPERIMENT,
    inventory::{Drive, Inventory},
    record::{End, Store, Summary},
    units::RunStatus,
};

/// How many of the newest runs of each drive and experiment are read: the newest ones may have other loads than the questions
/// are about.
const NEWEST: usize = 12;
/// Most records that are read, and most bytes of them as they are kept: about a second's work on a PC.
pub(super) const MOST: usize = 64;
const MOST_BYTES: u64 = 10_000_000;

#[derive(Debug, Default, Serialize)]
pub(super) struct Gathered {
    #[serde(skip)]
    pub evidence: Vec<Evidence>,
    pub runs_kept: usize,
    pub runs_read: usize,
    /// Still running, or ended early: only their whole loads are evidence.
    pub runs_unfinished: usize,
    pub unreadable: Vec<String>,
}

pub(super) fn gather(store: &Store, inventory: &Inventory) -> anyhow::Result<Gathered> {
    let (mut summaries, bad) = store.list()?;
    // A copy is no evidence of its own.
    summaries.retain(|run| run.copy_of.is_none());
    let mut gathered = Gathered { runs_kept: summaries.len(), ..Gathered::default() };
    let unfinished = |run: &&Summary| End::status(run.end.as_ref()) != RunStatus::Finished;
    gathered.runs_unfinished = summaries.iter().filter(unfinished).count();
    gathered.unreadable.extend(bad.iter().map(ToString::to_string));
    let here: BTreeSet<String> = inventory.drives.iter().map(Drive::identity).collect();
    let mut bytes = 0u64;
    for run in chosen(&summaries, &here) {
        // The first one is always read.
        bytes = bytes.saturating_add(store.size(run));
        if bytes > MOST_BYTES && gathered.runs_read > 0 {
            break;
        }
        match stored::findings(store, run) {
            Ok(findings) => {
                let named = Evidence::of(&findings).into_iter().map(|e| e.named(inventory));
                gathered.evidence.extend(named);
            }
            Err(why) => gathered.unreadable.push(why.to_string()),
        }
        gathered.runs_read += 1;
    }
    Ok(gathered)
}

/// The runs to read: in turn the newest of each experiment and drive, the second newest, up to the limit.
/// Only the records of imports name their drives, so imports are one group.
pub(super) fn chosen<'a>(summaries: &'a [Summary], here: &BTreeSet<String>) -> Vec<&'a str> {
    let mut groups: BTreeMap<(usize, &str), Vec<&Summary>> = BTreeMap::new();
    for summary in summaries {
        let rank = REGISTER.iter().position(|e| e.name == summary.experiment);
        for (rank, drive) in rank.into_iter().flat_map(|rank| summary.written.keys().map(move |d| (rank, d)))
        {
            if here.contains(drive) {
                groups.entry((rank, drive)).or_default().push(summary);
            }
        }
        if summary.experiment == EXPERIMENT {
            groups.entry((REGISTER.len(), "")).or_default().push(summary);
        }
    }
    let mut chosen: Vec<&str> = Vec::new();
    for i in 0..NEWEST {
        for summary in groups.values().filter_map(|runs| runs.iter().rev().nth(i)) {
            if chosen.len() < MOST && !chosen.contains(&summary.run.as_str()) {
                chosen.push(&summary.run);
            }
        }
    }
    chosen
}
