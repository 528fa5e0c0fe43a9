//! The state of a pool while one of its drives was away, and after it came back.

use serde::{Deserialize, Serialize};

use super::{Pull, PulledPool};
use crate::{
    plan::BuildPool,
    record::Observation,
    test_files::{FilesFound, LedgerFound, Operations},
    units::KIB,
};

/// What was found before the drive was taken away, while it was away, and after it came back. Times are seconds since it was taken away.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PullResult {
    /// Operations before the drive was taken away, and from then on.
    pub before: Operations,
    pub away: Operations,
    pub files: FilesFound,
    pub ledger: LedgerFound,
    /// Members that the array lacked; 0 without copies or parity.
    pub missing: u64,
    /// The files that were read of a pool in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<FilesRead>,
    pub back: Option<RejoinResult>,
    /// Another drive of the pool was lost while this one was away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// The files of a pool in use that are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesRead {
    /// Files whose content is known, and the bytes that are read of them; of a large one, the beginning.
    pub files: u64,
    pub bytes: u64,
}

/// How a pool took a drive back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenBack {
    #[default]
    No,
    /// Without a command.
    ByItself,
    /// With a restart of the pool.
    Restarted,
    ReAdded,
    /// As a new drive: the kernel refused to take it back.
    Added,
}

/// After the drive was there again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RejoinResult {
    pub taken_back: TakenBack,
    pub commands: Vec<String>,
    /// Commands that failed, with the reason.
    pub refused: Vec<String>,
    /// Seconds until the pool had all its data on all drives again, from the first command on, or from the return of the drive if
    /// none was needed; none if it never had.
    pub healed: Option<f64>,
    /// Operations until then; none in a pool in use.
    pub during: Operations,
    pub files: FilesFound,
    pub ledger: LedgerFound,
    /// Sectors of copies or parity that differ, at most.
    pub mismatches: Option<u64>,
    /// Another drive of the pool was lost meanwhile.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

impl RejoinResult {
    /// The drive was given to its array, or taken back by that.
    pub fn was_given(&self) -> bool {
        self.taken_back == TakenBack::ByItself || !self.commands.is_empty()
    }
}

impl PullResult {
    /// Whether a pool in use was complete at the end, or held wrong data: else a resumed run pulls again.
    pub fn is_final(&self) -> bool {
        let back = self.back.as_ref();
        self.files.wrong > 0 || back.is_some_and(|back| back.healed.is_some() || back.files.wrong > 0)
    }

    /// Another drive of the pool was lost besides this one, which no layout promises to survive here.
    pub fn is_other_lost(&self) -> bool {
        self.missing > 1 || self.lost || self.back.as_ref().is_some_and(|back| back.lost)
    }

    /// Operations, files and ledger of each stage: while the drive was away, and after it came back.
    pub fn found(
        &self,
    ) -> impl Iterator<Item = (&'static str, &Operations, &FilesFound, &LedgerFound)> + Clone {
        let back = self.back.as_ref();
        let back = back.map(|back| ("after it came back", &back.during, &back.files, &back.ledger));
        [("while it was away", &self.away, &self.files, &self.ledger)].into_iter().chain(back)
    }
}

crate::kind!("pulled", PullResult as Observation);

impl Observation for PullResult {
    fn moved(&self) -> (u64, u64) {
        let back = self.back.as_ref().map(|back| &back.during);
        let used = [&self.before, &self.away].into_iter().chain(back);
        used.fold((0, 0), |(read, written), used| {
            (read.saturating_add(used.read_bytes), written.saturating_add(used.written_bytes))
        })
    }
}

/// Files that are read of a pool in use. Another program changes one of them.
const FILES: u64 = 40;

/// The results of a modelled pool, which keeps what its layout promises: while the drive is away, and after it came back. Without copies or parity all files are lost meanwhile.
pub fn modelled(act: &Pull, build: Option<&BuildPool>) -> [PullResult; 2] {
    let is_redundant = build.is_none_or(|build| build.layout.is_redundant());
    let whole = |whole: u64| FilesFound { whole, ..FilesFound::default() };
    let bytes = 100 * 16 * KIB;
    let kept = LedgerFound {
        acknowledged: 100,
        acknowledged_bytes: bytes,
        kept_bytes: bytes,
        ..LedgerFound::default()
    };
    let (taken_back, command) = match is_redundant {
        true => (TakenBack::ReAdded, "mdadm /dev/md127 --re-add /dev/sdz1"),
        false => (TakenBack::Restarted, "mount /dev/md127"),
    };
    let commands = vec![command.to_owned()];
    let rejoined = RejoinResult { taken_back, commands, healed: Some(3.0), ..RejoinResult::default() };
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
