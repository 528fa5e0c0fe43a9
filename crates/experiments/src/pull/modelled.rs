//! The results of a modelled pool, which keeps what its layout promises.

use super::{FilesRead, Pull, PullResult, PulledPool, RejoinResult};
use crate::{
    plan::BuildPool,
    test_files::{FilesFound, LedgerFound, Operations},
    units::KIB,
};

/// Files that are read of a pool in use. Another program changes one of them.
const FILES: u64 = 40;

/// While the drive is away, and after it came back. Without copies or parity all files are lost meanwhile.
pub fn results(act: &Pull, build: Option<&BuildPool>) -> [PullResult; 2] {
    let is_redundant = build.is_none_or(|build| build.layout.is_redundant());
    let whole = |whole: u64| FilesFound { whole, ..FilesFound::default() };
    let bytes = 100 * 16 * KIB;
    let kept = LedgerFound {
        acknowledged: 100,
        acknowledged_bytes: bytes,
        kept_bytes: bytes,
        ..LedgerFound::default()
    };
    let command = if is_redundant { "mdadm /dev/md127 --re-add /dev/sdz1" } else { "mount /dev/md127" };
    let rejoined =
        RejoinResult { commands: vec![command.to_owned()], healed: Some(3.0), ..RejoinResult::default() };
    let used = Operations { seconds: act.seconds, reads: 50, longest: 0.25, ..Operations::default() };
    let (result, used, back) = match &act.pool {
        PulledPool::InUse(pool) => {
            let read = FilesRead { files: FILES, bytes: pool.bytes / 2 };
            let files = FilesFound { changed: 1, ..whole(FILES - 1) };
            let result = PullResult { files: whole(FILES), read: Some(read), ..PullResult::default() };
            (result, used, RejoinResult { files, ..rejoined })
        }
        PulledPool::Built(pool) => {
            let files = pool.tree.files();
            let mismatches = is_redundant.then_some(0);
            let ledger = kept.clone();
            let back = RejoinResult { files: whole(files), ledger, mismatches, ..rejoined };
            let result = match is_redundant {
                true => PullResult { files: whole(files), ledger: kept, ..PullResult::default() },
                false => PullResult {
                    files: FilesFound {
                        failed: files,
                        error: Some("Input/output error (os error 5)".to_owned()),
                        ..FilesFound::default()
                    },
                    ledger: LedgerFound { kept_bytes: 0, lost_bytes: bytes, unreadable_bytes: bytes, ..kept },
                    ..PullResult::default()
                },
            };
            (result, Operations { writes: 50, ..used }, back)
        }
    };
    let away = PullResult { before: used.clone(), away: used, missing: 1, ..result };
    [away.clone(), PullResult { back: Some(back), ..away }]
}
