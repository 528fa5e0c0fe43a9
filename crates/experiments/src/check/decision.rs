//! The decisions of a check on a drive.

use serde::{Deserialize, Serialize};

use super::{Counter, Counters, Probe, counters, counters::risen, plan::LOADS};
use crate::analyse::{
    Estimate,
    change::{Look, change},
};

/// The checks that must agree before a drive is called slower: other load may disturb one of them, seldom three alike.
pub const AGREE: usize = 3;
/// A smaller loss of speed is not worth looking at.
const LOSS: f64 = 0.05;
/// The same beside drives of the same model, which are not equal.
const LOSS_OF_PEER: f64 = 0.15;
/// The fewest other drives of a model that have a median.
const PEERS: usize = 2;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum Decision {
    /// Later checks are compared with this one.
    First,
    /// No load is slower.
    Fine {
        change: Change,
    },
    /// At least [`AGREE`] checks are slower than the reference.
    Slower {
        change: Change,
    },
    /// A counter of errors rose.
    NewErrors {
        counter: Counter,
        from: u64,
        to: u64,
    },
    /// A read failed.
    ReadFailed {
        error: String,
    },
    /// Slower than the median of other drives of its model, whose number is `peers`.
    SlowerThanPeers {
        load: String,
        ratio: Estimate,
        peers: usize,
    },
    Unknown {
        why: Unknown,
    },
    Skipped {
        why: Skipped,
    },
}

/// The load that lost most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    pub load: String,
    /// The speed now as a multiple of that in the reference.
    pub ratio: Estimate,
    /// When the reference was measured, as RFC 3339.
    pub since: String,
}

/// Why a drive was measured but can't be judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Unknown {
    /// Other programs used the drive meanwhile.
    Disturbed,
    /// Not all was measured, or it shares too few rounds with the reference.
    Incomplete,
    /// It may be slower; `more` checks are needed to decide.
    Unconfirmed { change: Change, more: usize },
}

/// Why a drive was not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Skipped {
    Asleep,
    /// Its power state is unknown, so a check might wake it.
    MaybeAsleep {
        because: String,
    },
    InUse,
    /// Another run of drivebench measures it.
    Measured,
    /// This user may not read it.
    NotPermitted,
}

/// A decision that needs attention, without the numbers that differ each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "alarm")]
pub enum Alarm {
    Slower { load: String },
    NewErrors { counter: Counter, to: u64 },
    ReadFailed,
    SlowerThanPeers { load: String },
}

impl Decision {
    pub fn alarm(&self) -> Option<Alarm> {
        match self {
            Self::Slower { change } => Some(Alarm::Slower { load: change.load.clone() }),
            Self::NewErrors { counter, to, .. } => Some(Alarm::NewErrors { counter: *counter, to: *to }),
            Self::ReadFailed { .. } => Some(Alarm::ReadFailed),
            Self::SlowerThanPeers { load, .. } => Some(Alarm::SlowerThanPeers { load: load.clone() }),
            Self::First | Self::Fine { .. } | Self::Unknown { .. } | Self::Skipped { .. } => None,
        }
    }
}

/// The state of a drive before a check.
#[derive(Debug, Default)]
pub struct Past {
    /// The first complete check or the one that was accepted, and those that were fine after it, [`AGREE`] in all.
    pub reference: Vec<Probe>,
    /// Complete checks since then, newest first.
    pub recent: Vec<Probe>,
    /// All checks since the first of the reference.
    pub looks: usize,
    /// The accepted counters.
    pub counters: Counters,
    /// The newest check of each other drive of its model.
    pub peers: Vec<Probe>,
    /// Whether the user accepted that it is slower than those.
    pub peers_accepted: bool,
}

impl Past {
    /// Whether a check that was decided so joins the reference.
    pub fn lacks(&self, decisions: &[Decision]) -> bool {
        let fine = |one: &Decision| matches!(one, Decision::First | Decision::Fine { .. });
        self.reference.len() < AGREE && decisions.iter().any(fine)
    }
}

/// The decisions of a check on a drive: at least one, alarms first.
pub fn decide(now: &Probe, past: &Past) -> Vec<Decision> {
    let risen = risen(&past.counters, &counters(&now.drive)).into_iter();
    let mut all: Vec<Decision> =
        risen.map(|(counter, from, to)| Decision::NewErrors { counter, from, to }).collect();
    if let Some(error) = &now.error {
        all.push(Decision::ReadFailed { error: error.clone() });
        return all;
    }
    if !now.is_complete() {
        let why = if now.whole { Unknown::Disturbed } else { Unknown::Incomplete };
        all.push(Decision::Unknown { why });
        return all;
    }
    let (speed, peers) = (speed(now, past), beside_peers(now, past));
    let is_quiet = speed.alarm().is_none();
    all.extend(Some(speed).filter(|_| !is_quiet || (all.is_empty() && peers.is_none())));
    all.extend(peers);
    all
}

fn speed(now: &Probe, past: &Past) -> Decision {
    let Some(first) = past.reference.first() else { return Decision::First };
    let days: Vec<&Probe> = std::iter::once(now).chain(&past.recent).take(AGREE).collect();
    let reference: Vec<&Probe> = past.reference.iter().collect();
    let look = Look { number: past.looks + 1, loads: LOADS };
    let of = |load: &String| {
        let ratio = ratio(&reference, &days, load, look)?;
        Some(Change { load: load.clone(), ratio, since: first.at.clone() })
    };
    let least = |a: &Change, b: &Change| a.ratio.value.total_cmp(&b.ratio.value);
    let changes: Vec<Change> = now.speeds.keys().filter_map(of).collect();
    let slower = changes.iter().filter(|c| is_slower(&c.ratio, LOSS)).min_by(|a, b| least(a, b));
    match (slower.cloned(), changes.into_iter().min_by(least)) {
        (Some(change), _) if days.len() >= AGREE => Decision::Slower { change },
        (Some(change), _) => {
            Decision::Unknown { why: Unknown::Unconfirmed { change, more: AGREE - days.len() } }
        }
        (None, Some(change)) => Decision::Fine { change },
        (None, None) => Decision::Unknown { why: Unknown::Incomplete },
    }
}

/// The speed of a load in some checks as a multiple of that in others, from the rounds that all of them have.
fn ratio(reference: &[&Probe], recent: &[&Probe], load: &str, look: Look) -> Option<Estimate> {
    let all: Vec<_> =
        reference.iter().chain(recent).map(|probe| probe.speeds.get(load)).collect::<Option<_>>()?;
    let rounds = all.first()?.keys().filter(|round| all.iter().all(|speeds| speeds.contains_key(round)));
    let rounds: Vec<&u32> = rounds.collect();
    let days: Vec<Vec<f64>> =
        all.iter().map(|speeds| rounds.iter().map(|round| speeds[round]).collect()).collect();
    let days: Vec<&[f64]> = days.iter().map(Vec::as_slice).collect();
    let (reference, recent) = days.split_at(reference.len());
    change(reference, recent, look)
}

/// Whether the interval excludes that nothing was lost, and the loss is large enough to matter.
fn is_slower(ratio: &Estimate, loss: f64) -> bool {
    ratio.high < 1.0 && ratio.value <= 1.0 - loss
}

fn beside_peers(now: &Probe, past: &Past) -> Option<Decision> {
    let look = Look { number: 1, loads: LOADS };
    let beside = |load: &String| {
        let mut ratios: Vec<Estimate> =
            past.peers.iter().filter_map(|peer| ratio(&[peer], &[now], load, look)).collect();
        ratios.sort_by(|a, b| a.value.total_cmp(&b.value));
        let peers = ratios.len();
        // With an even number, the slower of the two in the middle.
        let ratio = ratios.into_iter().nth(peers / 2).filter(|_| peers >= PEERS)?;
        is_slower(&ratio, LOSS_OF_PEER).then(|| Decision::SlowerThanPeers {
            load: load.clone(),
            ratio,
            peers,
        })
    };
    now.speeds.keys().filter(|_| !past.peers_accepted).find_map(beside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{inventory::Drive, units::Health};

    const SEQ: &str = "SEQ1M";
    const RND: &str = "RND4K Q1";

    fn probe(seq: f64, rnd: f64) -> Probe {
        let speeds = [(SEQ, seq), (RND, rnd)]
            .map(|(load, speed)| (load.to_owned(), (1..=7).map(|round| (round, speed)).collect()));
        Probe {
            at: "2026-11-12T03:00:00Z".to_owned(),
            speeds: speeds.into(),
            whole: true,
            ..Probe::default()
        }
    }

    fn sick(probe: Probe, pending: u64) -> Probe {
        let health = Some(Health { pending: Some(pending), ..Health::default() });
        Probe { drive: Drive { sectors: 1 << 30, health, ..Drive::default() }, ..probe }
    }

    fn alarms(now: &Probe, past: &Past) -> Vec<Alarm> {
        decide(now, past).iter().filter_map(Decision::alarm).collect()
    }

    #[test]
    fn the_first_check_is_the_reference() {
        assert_eq!(decide(&probe(500.0, 40.0), &Past::default()), [Decision::First]);
    }

    #[test]
    fn three_checks_must_agree_that_a_drive_is_slower() {
        let (before, now) = (probe(500.0, 40.0), probe(400.0, 40.0));
        let past = |recent: &[&Probe]| Past {
            reference: vec![before.clone(); 3],
            recent: recent.iter().map(|probe| (*probe).clone()).collect(),
            looks: 5,
            ..Past::default()
        };
        let unconfirmed = decide(&now, &past(&[&now]));
        let [Decision::Unknown { why: Unknown::Unconfirmed { change, more: 1 } }] = &unconfirmed[..] else {
            panic!("{unconfirmed:?}")
        };
        assert!(change.load == SEQ && (change.ratio.value - 0.8).abs() < 1e-9, "{change:?}");
        assert_eq!(alarms(&now, &past(&[&now, &now])), [Alarm::Slower { load: SEQ.to_owned() }]);
        let disagree = decide(&now, &past(&[&before, &now]));
        assert!(matches!(disagree[..], [Decision::Fine { .. }]), "{disagree:?}");
        let little = probe(480.0, 39.0);
        let found = decide(&little, &past(&[&little, &little]));
        assert!(matches!(&found[..], [Decision::Fine { change }] if change.load == SEQ), "{found:?}");
    }

    #[test]
    fn errors_are_said_also_of_a_disturbed_check() {
        let past = Past { counters: [(Counter::Pending, 1)].into(), ..Past::default() };
        let disturbed = Probe { disturbed: true, ..sick(probe(500.0, 40.0), 3) };
        let errors = Decision::NewErrors { counter: Counter::Pending, from: 1, to: 3 };
        assert_eq!(
            decide(&disturbed, &past),
            [errors.clone(), Decision::Unknown { why: Unknown::Disturbed }]
        );
        assert_eq!(decide(&sick(probe(500.0, 40.0), 3), &past), [errors]);
        assert_eq!(decide(&sick(probe(500.0, 40.0), 1), &past), [Decision::First]);
        let failed = Probe { error: Some("EIO".to_owned()), whole: false, ..probe(500.0, 40.0) };
        assert_eq!(alarms(&failed, &past), [Alarm::ReadFailed]);
    }

    #[test]
    fn a_drive_is_compared_with_two_peers_at_least() {
        let (slow, good, other) = (probe(500.0, 30.0), probe(500.0, 40.0), probe(520.0, 41.0));
        let past = |peers: &[&Probe]| Past {
            peers: peers.iter().map(|probe| (*probe).clone()).collect(),
            ..Past::default()
        };
        assert_eq!(alarms(&slow, &past(&[&good])), []);
        let both = past(&[&good, &other]);
        assert_eq!(alarms(&slow, &both), [Alarm::SlowerThanPeers { load: RND.to_owned() }]);
        assert_eq!(alarms(&slow, &Past { peers_accepted: true, ..both }), []);
        assert_eq!(alarms(&good, &past(&[&slow, &other])), []);
    }
}
