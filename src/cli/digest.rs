//! What lists, histories and the site show of a run. The index of the store keeps it, so that each record is read once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    headline::{headline, load_name},
    stored,
};
use crate::{
    analyse::Estimate,
    findings::{
        Carrier, Findings, LoadKey, Metric, Quantity, Scope,
        fitness::{Use, Verdict},
    },
    record::{ReadError, Store, Summary},
    units::{Direction, Pattern},
};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Digest {
    /// When it was measured, as RFC 3339; an imported run was stored later. Empty where unknown.
    pub at: String,
    pub targets: Vec<String>,
    pub suite: Option<String>,
    pub rounds: Option<u32>,
    pub quick: bool,
    pub numbers: Vec<String>,
    /// Its results on each target that is one drive: the speed of a pool is not that of a drive.
    pub drives: Vec<DriveRun>,
    /// Why the record can't be read as a whole.
    pub unreadable: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct DriveRun {
    pub identity: String,
    /// Model and serial.
    pub drive: String,
    /// The name of the machine and its board.
    pub machine: String,
    pub place: Conditions,
    pub numbers: Vec<String>,
    /// One for a load: of several caches, the first counts.
    pub speeds: Vec<Speed>,
    /// Data that it lost, in words.
    pub lost: Option<String>,
}

/// The speed of a load, bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Speed {
    /// Its name with its direction: `SEQ1M read`.
    pub load: String,
    pub direction: Option<Direction>,
    pub pattern: Option<Pattern>,
    pub estimate: Estimate,
}

/// Conditions that may explain another speed, as far as they are known: the kernel, the port and the filesystem.
pub(super) type Conditions = BTreeMap<String, String>;

/// All runs with their digests, oldest first, and records that can't be read at all.
pub(super) fn list(store: &Store) -> anyhow::Result<(Vec<Summary>, Vec<ReadError>)> {
    Ok(store.list_with(&|run| {
        let digest = Digest::read(store, run);
        // What can't be read now may be readable later.
        if digest.unreadable.is_some() { None } else { serde_json::to_string(&digest).ok() }
    })?)
}

impl Digest {
    pub fn of_listed(store: &Store, run: &Summary) -> Self {
        let known = run.digest.as_deref().and_then(|text| serde_json::from_str(text).ok());
        known.unwrap_or_else(|| Self::read(store, &run.run))
    }

    fn read(store: &Store, run: &str) -> Self {
        match stored::read(store, run) {
            Ok((findings, damage)) => {
                Self { unreadable: damage.map(|why| format!("the record {why}")), ..Self::of(&findings) }
            }
            Err(why) => Self { unreadable: Some(why.to_string()), ..Self::default() },
        }
    }

    fn of(findings: &Findings) -> Self {
        let origin = &findings.origin;
        Self {
            at: origin.at.clone(),
            targets: origin.carriers.iter().map(|carrier| carrier.target.clone()).collect(),
            suite: origin.suite.clone(),
            rounds: origin.rounds,
            quick: origin.quick,
            numbers: headline(findings),
            drives: origin.carriers.iter().filter_map(|carrier| DriveRun::of(findings, carrier)).collect(),
            unreadable: None,
        }
    }
}

impl DriveRun {
    pub fn of(findings: &Findings, carrier: &Carrier) -> Option<Self> {
        let [drive] = &carrier.drives[..] else { return None };
        let Findings { run, origin, .. } = findings;
        let own = findings.estimates.iter().filter(|metric| metric.target == carrier.target);
        let estimates: Vec<Metric> = own.cloned().collect();
        let mut speeds: Vec<Speed> = Vec::new();
        for metric in &estimates {
            let is_speed = metric.quantity == Quantity::Throughput
                && metric.scope == Scope::Whole
                && metric.repetition.is_none();
            // What never reached the drive says nothing of it.
            let own = metric.load.as_ref().filter(|load| is_speed && load.missed.is_none());
            let Some(load) = own else { continue };
            let (name, estimate) = (speed_name(load), metric.estimate.clone());
            if speeds.iter().all(|known| known.load != name) {
                let (direction, pattern) = (load.direction, load.pattern);
                speeds.push(Speed { load: name, direction, pattern, estimate });
            }
        }
        let safe = findings.fitness.iter().filter(|fitness| fitness.target == carrier.target);
        let safe = safe.filter(|fitness| fitness.purpose == Use::Safekeeping);
        let mut lost = safe.filter_map(|fitness| match fitness.verdict {
            Verdict::Unfit(need, value) => {
                Some(format!("{} ({run})", fitness.purpose.shortfall(need, value)))
            }
            Verdict::Fit | Verdict::Undecided(..) => None,
        });
        let machine = [origin.host_name.as_ref(), origin.board.as_ref().or(origin.lab.as_ref())];
        let port = drive.bay.as_ref().map(|_| drive.full_bay.clone());
        let place =
            [("kernel", origin.kernel.clone()), ("port", port), ("filesystem", carrier.filesystem.clone())];
        let place = place.into_iter().filter_map(|(what, value)| Some((what.to_owned(), value?)));
        let names = [&drive.model, &drive.serial].into_iter().flatten();
        Some(Self {
            identity: drive.identity.clone(),
            drive: names.map(String::as_str).collect::<Vec<_>>().join(" "),
            machine: machine.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" · "),
            place: place.collect(),
            lost: lost.next(),
            numbers: headline(&Findings { estimates, ..findings.clone() }),
            speeds,
        })
    }
}

/// A load with its direction: `SEQ1M read`.
fn speed_name(load: &LoadKey) -> String {
    let direction = match load.direction {
        Some(Direction::Read) => " read",
        Some(Direction::Write) => " write",
        Some(Direction::Mixed { .. }) | None => "",
    };
    load_name(load) + direction
}
