//! Which loads are one load again.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Half, Imported};

/// The same options, each in a document or group of its own, which fio runs one after
/// the other.
#[derive(Default)]
pub(super) struct Same {
    /// Which document it is, counted from 1.
    pub document: u64,
    kinds: BTreeMap<(String, u8), Vec<Place>>,
}

/// Where a load stands among those that were found, and when it ran: in which document, and in which of its groups.
struct Place {
    at: usize,
    ran: (u64, u64),
}

impl Same {
    /// Takes account of the load at this place.
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
                .push(Place { at, ran: (self.document, group.to_bits()) });
        }
    }

    /// Numbers those that are one load again.
    pub fn settle(self, found: &mut Imported) {
        for (number, all) in (0..).zip(self.kinds.into_values()) {
            let places: BTreeSet<_> = all.iter().map(|place| place.ran).collect();
            if places.len() == all.len() {
                for Place { at, .. } in all {
                    if let Some(load) = found.loads.get_mut(at) {
                        load.same_as = Some(number);
                    }
                }
            }
        }
    }
}
