//! Finds repetitions of a load among fio jobs.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Half, Imported};

/// Jobs with equal options, each in its own document or group: fio runs these one after the other.
#[derive(Default)]
pub(super) struct Repetitions {
    /// Number of the current document, from 1.
    pub document: u64,
    /// For each load its index, its document and its group.
    kinds: BTreeMap<(String, Option<Half>), Vec<(usize, u64, u64)>>,
}

impl Repetitions {
    pub fn job(&mut self, at: usize, key: &Option<String>, half: Option<Half>, group: Option<f64>) {
        if let (Some(key), Some(group)) = (key, group) {
            let loads = self.kinds.entry((key.clone(), half)).or_default();
            loads.push((at, self.document, group.to_bits()));
        }
    }

    pub fn settle(self, found: &mut Imported) {
        for (number, all) in (0..).zip(self.kinds.into_values()) {
            let runs: BTreeSet<_> = all.iter().map(|(_, document, group)| (document, group)).collect();
            if runs.len() == all.len() {
                all.iter().for_each(|(at, ..)| found.loads[*at].same_as = Some(number));
            }
        }
    }
}
