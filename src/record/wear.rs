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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{
        inventory::{Drive, Kind, Target},
        plan::Plan,
        record::{SCHEMA, Start},
        units::{Ended, Outcome},
    };

    fn target(serials: &[&str]) -> Target {
        let drive =
            |serial: &&str| Drive { serial: Some((*serial).to_owned()), sectors: 8, ..Drive::default() };
        Target {
            given: "/mnt".to_owned(),
            kind: Kind::Directory,
            path: PathBuf::from("/mnt"),
            drives: serials.iter().map(drive).collect(),
            layers: vec![],
            mount: None,
            free: None,
            capacity: None,
            size: None,
            read_only: None,
            uses: Vec::new(),
            direct_alignment: 512,
        }
    }

    fn wrote(target: usize, bytes_written: u64) -> Event {
        let outcome = Outcome {
            ended: Ended::Cancelled,
            bytes_read: 7,
            bytes_written,
            ops: 1,
            seconds: 1.0,
            fsync_seconds: 0.0,
        };
        Event::Outcome { step: 0, target, zone: None, outcome, again: None }
    }

    #[test]
    fn runs_add_up_by_drive() {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::at(home.path().to_owned());
        assert!(store.written().expect("an empty store").is_empty());
        for bytes in [100, 20] {
            let start = |run| Start {
                schema: SCHEMA,
                run,
                at: "2026-11-21T10:00:00Z".to_owned(),
                version: "0.1.0".to_owned(),
                command: vec![],
                experiment: "baseline".to_owned(),
                targets: vec![],
                inventory: Default::default(),
            };
            let (_, mut writer) = store.create(start).expect("creates");
            let targets = vec![target(&["4C530001"]), target(&["S6PUNX01", "S6PUNX02"])];
            let plan = Plan {
                experiment: "baseline".to_owned(),
                protocol: None,
                engine: None,
                targets,
                steps: vec![],
            };
            for event in [Event::Plan { plan }, wrote(0, bytes), wrote(1, 5), wrote(9, 1)] {
                writer.append(&event).expect("appends");
            }
        }
        let mut written: Vec<_> = store.written().expect("reads").into_iter().collect();
        written.sort();
        assert_eq!(
            written,
            [("4C530001+8".to_owned(), 120), ("S6PUNX01+8".to_owned(), 10), ("S6PUNX02+8".to_owned(), 10)]
        );
    }
}
