//! What is found of a modelled pool: all that its layout promises.

use super::{BuiltPool, FilesRead, Probe, Pull, PullResult, PulledPool, RejoinResult, SecondPullResult};
use crate::{
    plan::BuildPool,
    test_files::{FilesFound, LedgerFound, Operations},
    units::{KIB, PoolState},
};

/// Files that are read of a pool in use. Another program changes one of them.
const FILES: u64 = 40;
const ERROR: &str = "Input/output error (os error 5)";

/// While the drive is away, and after it came back.
pub fn results(act: &Pull, build: Option<&BuildPool>) -> [PullResult; 2] {
    let is_redundant = build.is_none_or(|build| build.layout.is_redundant());
    let (result, writes) = match &act.pool {
        PulledPool::Built(pool) => (built(pool, is_redundant), 50),
        PulledPool::InUse(pool) => {
            let read = FilesRead { files: FILES, bytes: pool.bytes / 2, found: 1000, ..FilesRead::default() };
            let files = FilesFound { whole: FILES - 1, changed: 1, ..FilesFound::default() };
            let result = PullResult {
                files: FilesFound { whole: FILES, ..FilesFound::default() },
                read: Some(read),
                back: Some(RejoinResult { files, ..RejoinResult::default() }),
                ..PullResult::default()
            };
            (result, 0)
        }
    };
    let probed = if writes > 0 { "fsync" } else { "read" };
    let error = (!is_redundant).then(|| ERROR.to_owned());
    let probe = |what: &str, cold: bool, error: &Option<String>| Probe {
        what: what.to_owned(),
        cold,
        error: error.clone(),
        seconds: 0.01,
    };
    let used = Operations {
        seconds: act.seconds,
        reads: 50,
        read_bytes: if writes > 0 { 0 } else { 50 << 17 },
        writes,
        longest: 0.25,
        ..Operations::default()
    };
    let command = if is_redundant { "mdadm /dev/md127 --re-add /dev/sdz1" } else { "mount /dev/md127" };
    let back = result.back.map(|back| RejoinResult {
        commands: vec![command.to_owned()],
        healed: Some(3.0),
        ..back
    });
    let away = PullResult {
        probes: [false, true]
            .into_iter()
            .flat_map(|cold| [probe("ls", cold, &None), probe(probed, cold, &error)])
            .collect(),
        before: used.clone(),
        away: used,
        missing: 1,
        back: None,
        ..result
    };
    [away.clone(), PullResult { back, ..away }]
}

/// With copies or parity all is kept, without all files are lost while the drive is away.
fn built(pool: &BuiltPool, is_redundant: bool) -> PullResult {
    let (files, bytes) = (pool.tree.files(), 100 * 16 * KIB);
    let all = FilesFound { whole: files, ..FilesFound::default() };
    let ledger = LedgerFound {
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
    let back = Some(RejoinResult {
        second,
        files: all.clone(),
        ledger: ledger.clone(),
        mismatches: is_redundant.then_some(0),
        ..RejoinResult::default()
    });
    if is_redundant {
        return PullResult { files: all, ledger, back, ..PullResult::default() };
    }
    let (error, lost_bytes) = (Some(ERROR.to_owned()), pool.tree.sizes().sum());
    PullResult {
        files: FilesFound { failed: files, lost_bytes, error, ..FilesFound::default() },
        ledger: LedgerFound { kept_bytes: 0, lost_bytes: bytes, unreadable_bytes: bytes, ..ledger },
        state: PoolState::Broken,
        back,
        ..PullResult::default()
    }
}
