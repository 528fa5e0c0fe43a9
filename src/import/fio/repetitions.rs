//! Finds repetitions of a load among fio jobs.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Half, Imported};

/// Jobs with equal options, each in its own document or group: fio runs these one after the other.
#[derive(Default)]
pub(super) struct Repetitions {
    /// Number of the current document, from 1.
    pub document: u64,
    kinds: BTreeMap<(String, u8), Vec<Occurrence>>,
}

/// Index of a load, and its document and group.
struct Occurrence {
    at: usize,
    ran: (u64, u64),
}

impl Repetitions {
    /// Adds the load at this index.
    pub fn job(&mut self, at: usize, key: &Option<String>, half: Option<Half>, group: Option<f64>) {
        let half = match half {
            None => 0,
            Some(Half::Reads) => 1,
            Some(Half::Writes) => 2,
        };
        if let (Some(key), Some(group)) = (key, group) {
            self.kinds
                .entry((key.clone(), half))
                .or_default()
                .push(Occurrence { at, ran: (self.document, group.to_bits()) });
        }
    }

    /// Numbers the repetitions.
    pub fn settle(self, found: &mut Imported) {
        for (number, all) in (0..).zip(self.kinds.into_values()) {
            let runs: BTreeSet<_> = all.iter().map(|occurrence| occurrence.ran).collect();
            if runs.len() == all.len() {
                for Occurrence { at, .. } in all {
                    if let Some(load) = found.loads.get_mut(at) {
                        load.same_as = Some(number);
                    }
                }
            }
        }
    }
}
