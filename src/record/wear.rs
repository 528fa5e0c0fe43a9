//! What measuring has cost drives: bytes written, by all records of the store.

use std::collections::HashMap;

use super::{Event, Store, StoreError};

impl Store {
    /// Bytes that all kept runs wrote, by the identity of the drive. What was written to several drives at once counts
    /// for each of them, since a mirror writes all of it twice: at most so much.
    pub fn written(&self) -> Result<HashMap<String, u64>, StoreError> {
        let mut written: HashMap<String, u64> = HashMap::new();
        for run in self.list()?.0 {
            let mut drives: Vec<Vec<String>> = Vec::new();
            for event in self.open(&run.start.run)? {
                match event {
                    Event::Plan { plan } => {
                        let of = |target: &crate::inventory::Target| {
                            target.drives.iter().map(|drive| drive.identity()).collect()
                        };
                        drives = plan.targets.iter().map(of).collect();
                    }
                    Event::Outcome { target, outcome, .. } => {
                        for drive in drives.get(target).into_iter().flatten() {
                            let bytes = written.entry(drive.clone()).or_default();
                            *bytes = bytes.saturating_add(outcome.bytes_written);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(written)
    }
}
