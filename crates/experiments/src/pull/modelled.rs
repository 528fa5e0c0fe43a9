//! What is found of a modelled pool: all that its layout promises.

use super::{
    BuiltPool, FilesRead, Moment, PoolInUse, Probe, Pull, PullEvent, PullResult, PulledPool, RejoinResult,
    SecondPullResult,
};
use crate::{
    plan::BuildPool,
    test_files::{FilesFound, LedgerFound, Operations},
    units::{KIB, PoolState},
};

/// Files that are read of a pool in use. Another program changes one of them.
const FILES: u64 = 40;

/// While the drive is away, and after it came back.
pub fn results(act: &Pull, build: Option<&BuildPool>) -> [PullResult; 2] {
    let away = match &act.pool {
        PulledPool::Built(pool) => built(pool, build.is_some_and(|build| build.layout.is_redundant())),
        PulledPool::InUse(pool) => in_use(pool),
    };
    let operations = |writes: u64| Operations {
        seconds: act.seconds,
        reads: 50,
        writes,
        longest: 0.25,
        ..Operations::default()
    };
    let used = match act.pool {
        PulledPool::Built(_) => operations(50),
        PulledPool::InUse(_) => Operations { read_bytes: 50 << 17, ..operations(0) },
    };
    let away = PullResult { before: used.clone(), away: used, missing: 1, ..away };
    let back = RejoinResult {
        name: "sdz".to_owned(),
        appeared: 1.0,
        healed: Some(3.0),
        ..away.back.clone().unwrap_or_default()
    };
    [PullResult { back: None, ..away.clone() }, PullResult { back: Some(back), ..away }]
}

fn re_added() -> Vec<String> {
    vec!["mdadm /dev/md127 --re-add /dev/sdz1".to_owned()]
}

fn probes(all: [(&str, Option<&str>); 2]) -> Vec<Probe> {
    let each = |cold: bool| {
        all.map(|(what, error)| Probe {
            what: what.to_owned(),
            cold,
            error: error.map(str::to_owned),
            seconds: 0.01,
        })
    };
    [each(false), each(true)].concat()
}

fn moments(then: PullEvent) -> Vec<Moment> {
    vec![Moment { at: 0.1, what: PullEvent::DriveGone }, Moment { at: 0.3, what: then }]
}

/// With copies or parity all is kept, without all files are lost while the drive is away.
fn built(pool: &BuiltPool, is_redundant: bool) -> PullResult {
    const ERROR: &str = "Input/output error (os error 5)";
    let (files, bytes) = (pool.tree.files(), 100 * 16 * KIB);
    let all = FilesFound { whole: files, ..FilesFound::default() };
    let mut ledger = LedgerFound {
        acknowledged: 100,
        acknowledged_bytes: bytes,
        kept_bytes: bytes,
        ..LedgerFound::default()
    };
    let second = pool.second.as_ref().map(|_| SecondPullResult {
        filled: 0.25,
        files: all.clone(),
        ledger: ledger.clone(),
        healed: Some(4.0),
        ..SecondPullResult::default()
    });
    let back = RejoinResult {
        second,
        commands: if is_redundant { re_added() } else { vec!["mount /dev/md127".to_owned()] },
        files: all.clone(),
        ledger: ledger.clone(),
        mismatches: is_redundant.then_some(0),
        ..RejoinResult::default()
    };
    let mut result = PullResult {
        name: "sda".to_owned(),
        moments: moments(PullEvent::WriteWorks),
        probes: probes([("ls", None), ("fsync", None)]),
        files: all,
        back: Some(back),
        ..PullResult::default()
    };
    if !is_redundant {
        let (error, lost_bytes) = (Some(ERROR.to_owned()), pool.tree.sizes().sum());
        result.files = FilesFound { failed: files, lost_bytes, error, ..FilesFound::default() };
        ledger = LedgerFound { kept_bytes: 0, lost_bytes: bytes, unreadable_bytes: bytes, ..ledger };
        result.moments = moments(PullEvent::FirstError);
        result.probes = probes([("ls", None), ("fsync", Some(ERROR))]);
        result.state = PoolState::Broken;
    }
    PullResult { ledger, ..result }
}

fn in_use(pool: &PoolInUse) -> PullResult {
    let during =
        Operations { seconds: 3.0, reads: 50, read_bytes: 50 << 17, longest: 0.25, ..Operations::default() };
    let back = RejoinResult {
        commands: re_added(),
        copied: Some(0.02),
        during,
        files: FilesFound { whole: FILES - 1, changed: 1, ..FilesFound::default() },
        ..RejoinResult::default()
    };
    PullResult {
        name: "sdb".to_owned(),
        moments: moments(PullEvent::ReadWorks),
        probes: probes([("ls", None), ("read", None)]),
        files: FilesFound { whole: FILES, ..FilesFound::default() },
        read: Some(FilesRead { files: FILES, bytes: pool.bytes / 2, found: 1000, ..FilesRead::default() }),
        back: Some(back),
        ..PullResult::default()
    }
}
