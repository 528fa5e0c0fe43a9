//! The state of each drive between checks: a file in the store. If it is lost, the records replace it, except for
//! accepted changes.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufReader, Read},
};

use serde::{Deserialize, Serialize};

use crate::{
    experiments::check::{AGREE, Alarm, CHECK, Counter, Counters, Decision, Past, Probe, counters, probes},
    record::{AtomicFile, End, PRIVATE, Store, Summary, make_dir, open_regular},
    units::RunStatus,
};

const FILE: &str = "check.json";
/// A larger file is damaged, bytes.
const LARGEST: u64 = 64 << 20;
/// Most records that are read to find complete checks of a drive or of its peers.
const READ: usize = 16;

/// The saved state of each drive, by its identity.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SavedChecks {
    pub drives: BTreeMap<String, KnownDrive>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KnownDrive {
    /// The runs that later checks are compared with: the first or the accepted check, and those that joined it.
    pub reference: Vec<String>,
    /// The counters that were acknowledged, or those of the first check.
    pub counters: Counters,
    /// Whether the user accepted that it is slower than others of its model.
    pub peers_accepted: bool,
    /// Alarms of the last check.
    pub alarms: Vec<Alarm>,
}

impl SavedChecks {
    pub fn read(store: &Store) -> io::Result<Self> {
        let path = store.dir().join(FILE);
        match open_regular(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            file => serde_json::from_reader(BufReader::new(file?.take(LARGEST)))
                .map_err(|e| io::Error::other(format!("{} is damaged: {e}", path.display()))),
        }
    }

    pub fn save(&self, store: &Store) -> io::Result<()> {
        make_dir(store.dir())?;
        AtomicFile::write(&store.dir().join(FILE), PRIVATE, &serde_json::to_vec_pretty(self)?)
    }
}

impl KnownDrive {
    /// Saves the decisions of a check and returns whether the alarms have changed. A check that could not judge the drive
    /// keeps its alarms.
    pub fn update(&mut self, probe: &Probe, past: &Past, decisions: &[Decision]) -> bool {
        self.reference = past.reference.iter().map(|probe| probe.run.clone()).collect();
        if past.lacks(decisions) {
            self.reference.push(probe.run.clone());
        }
        for (counter, value) in counters(&probe.drive) {
            self.counters.entry(counter).or_insert(counter.at_first(value));
        }
        let judged = |one: &Decision| !matches!(one, Decision::Unknown { .. });
        let mut alarms: Vec<Alarm> = decisions.iter().filter_map(Decision::alarm).collect();
        if !decisions.iter().all(judged) {
            let stays = |old: &&Alarm| !alarms.iter().any(|new| concern_same(old, new));
            let old: Vec<Alarm> = self.alarms.iter().filter(stays).cloned().collect();
            alarms = [old, alarms].concat();
        }
        let changed = alarms != self.alarms;
        self.alarms = alarms;
        changed
    }

    /// Makes a check the reference, and accepts its counters and its speed.
    pub fn accept(&mut self, probe: &Probe) {
        self.reference = vec![probe.run.clone()];
        self.counters.extend(counters(&probe.drive));
        for alarm in self.alarms.drain(..) {
            match alarm {
                Alarm::NewErrors { counter, to } => {
                    let known = self.counters.entry(counter).or_insert(to);
                    *known = (*known).max(to);
                }
                Alarm::SlowerThanPeers { .. } => self.peers_accepted = true,
                Alarm::Slower { .. } | Alarm::ReadFailed => {}
            }
        }
    }
}

/// Whether both are alarms about the same thing.
fn concern_same(a: &Alarm, b: &Alarm) -> bool {
    let counter = |alarm: &Alarm| -> Option<Counter> {
        if let Alarm::NewErrors { counter, .. } = alarm { Some(*counter) } else { None }
    };
    a == b || (counter(a).is_some() && counter(a) == counter(b))
}

/// The finished checks in a store, read on demand.
pub(super) struct Checks<'a> {
    store: &'a Store,
    /// Oldest first.
    runs: Vec<Summary>,
    read: HashMap<String, Vec<Probe>>,
}

impl<'a> Checks<'a> {
    pub fn read(store: &'a Store) -> anyhow::Result<Self> {
        let is_check = |run: &Summary| {
            run.experiment == CHECK.name
                && run.copy_of.is_none()
                && !matches!(End::status(run.end.as_ref()), RunStatus::Unfinished | RunStatus::Interrupted)
        };
        let runs = store.list()?.0.into_iter().filter(is_check).collect();
        Ok(Self { store, runs, read: HashMap::new() })
    }

    /// The probes of a check; none if its record can't be read.
    pub fn probes(&mut self, run: &str) -> &[Probe] {
        let store = self.store;
        let read = || store.open(run).map(probes).unwrap_or_default();
        let named = |probe: Probe| Probe { run: run.to_owned(), ..probe };
        self.read.entry(run.to_owned()).or_insert_with(|| read().into_iter().map(named).collect())
    }

    fn complete(&mut self, run: &str, identity: &str) -> Option<Probe> {
        let of_drive = |probe: &&Probe| probe.drive.identity() == identity && probe.is_complete();
        self.probes(run).iter().find(of_drive).cloned()
    }

    /// The names of the checks of a drive, oldest first.
    fn runs_of_drive(&self, identity: &str) -> Vec<String> {
        let own = self.runs.iter().filter(|run| run.written.contains_key(identity));
        own.map(|run| run.run.clone()).collect()
    }

    /// The newest complete check of a drive.
    pub fn newest(&mut self, identity: &str) -> Option<Probe> {
        let runs = self.runs_of_drive(identity);
        runs.iter().rev().take(READ).find_map(|run| self.complete(run, identity))
    }

    /// The checks of a drive before `now`. If the records of its reference are gone, the oldest complete check is the reference.
    pub fn before(&mut self, now: &Probe, known: &KnownDrive) -> Past {
        let identity = now.drive.identity();
        let runs: Vec<String> =
            self.runs_of_drive(&identity).into_iter().filter(|run| *run != now.run).collect();
        let mut reference: Vec<Probe> =
            known.reference.iter().filter_map(|run| self.complete(run, &identity)).collect();
        if reference.is_empty() {
            reference.extend(runs.iter().take(READ).find_map(|run| self.complete(run, &identity)));
        }
        let is_of_it = |run: &String| reference.iter().any(|probe| probe.run == *run);
        let since = runs.iter().position(is_of_it).map_or(&[][..], |at| &runs[at + 1..]);
        let others: Vec<&String> = since.iter().rev().filter(|run| !is_of_it(run)).take(READ).collect();
        let recent = others.into_iter().filter_map(|run| self.complete(run, &identity)).take(AGREE - 1);
        let recent = recent.collect();
        let (counters, peers_accepted) = (known.counters.clone(), known.peers_accepted);
        Past { recent, looks: since.len(), peers: self.peers(now), reference, counters, peers_accepted }
    }

    /// The newest complete check of each other drive of the same model.
    fn peers(&mut self, now: &Probe) -> Vec<Probe> {
        let model = |probe: &Probe| {
            let drive = &probe.drive;
            (drive.vendor.clone(), drive.model.clone(), drive.sectors)
        };
        let newest: Vec<String> = self.runs.iter().rev().take(READ).map(|run| run.run.clone()).collect();
        let mut seen = vec![now.drive.identity()];
        let mut peers = Vec::new();
        for run in newest {
            for probe in self.probes(&run).iter().filter(|probe| probe.is_complete()) {
                let identity = probe.drive.identity();
                if now.drive.model.is_some() && model(probe) == model(now) && !seen.contains(&identity) {
                    seen.push(identity);
                    peers.push(probe.clone());
                }
            }
        }
        peers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::check::Unknown;

    fn errors(to: u64) -> Decision {
        Decision::NewErrors { counter: Counter::Pending, from: 0, to }
    }

    #[test]
    fn what_changed_is_noticed_once() {
        let mut drive = KnownDrive::default();
        let noted: Vec<bool> = [
            vec![Decision::First],
            vec![errors(1)],
            vec![errors(1)],
            vec![Decision::Unknown { why: Unknown::Disturbed }],
            vec![errors(2), Decision::Unknown { why: Unknown::Disturbed }],
            vec![Decision::First],
        ]
        .iter()
        .map(|decisions| drive.update(&Probe::default(), &Past::default(), decisions))
        .collect();
        assert_eq!(noted, [false, true, false, false, true, true]);
        assert_eq!(drive.alarms, []);
    }

    #[test]
    fn what_was_accepted_is_kept() {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::at(home.path().join("store"));
        assert_eq!(SavedChecks::read(&store).expect("none"), SavedChecks::default());
        let mut drive = KnownDrive::default();
        drive.update(&Probe::default(), &Past::default(), &[errors(3)]);
        drive.accept(&Probe { run: "rabc".to_owned(), ..Probe::default() });
        let counters = [(Counter::Pending, 3)].into();
        let expected = KnownDrive { reference: vec!["rabc".to_owned()], counters, ..KnownDrive::default() };
        assert_eq!(drive, expected);
        let known = SavedChecks { drives: [("S1+8".to_owned(), drive)].into() };
        known.save(&store).expect("saves");
        assert_eq!(SavedChecks::read(&store).expect("reads"), known);
        std::fs::write(store.dir().join(FILE), "{").expect("writes");
        SavedChecks::read(&store).expect_err("damaged");
    }
}
