//! What became of a pool when one of its drives was taken away, and when it came back.

use serde::{Deserialize, Serialize};

use super::event::{MOST, Observation};
use crate::units::PoolState;

/// While the drive was away. Times are seconds since it was taken away.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pulled {
    /// The kernel's name of the drive.
    pub name: String,
    /// What decides how long I/O waits, such as the driver and time limits: names and values.
    pub settings: Vec<(String, String)>,
    pub moments: Vec<Moment>,
    /// What the kernel said from then on.
    pub kernel: Vec<(f64, String)>,
    /// Operations before the drive was taken away, and from then on.
    pub before: Operations,
    pub away: Operations,
    /// Some of the operations, for a picture.
    pub sample: Vec<Operation>,
    /// What still worked, in this order.
    pub probes: Vec<Probe>,
    pub files: FilesFound,
    pub ledger: LedgerFound,
    pub state: PoolState,
    /// Members that the pool lacks.
    pub missing: u64,
    /// Of a pool in use, whose files are only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadOnly>,
    pub back: Option<Back>,
    /// Another drive of the pool was lost while this one was away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// What is read of a pool in use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadOnly {
    /// Files whose content is known, and the bytes that are read of them; of a large one, not all.
    pub files: u64,
    pub bytes: u64,
    /// Files that were found, of which these were chosen.
    pub found: u64,
    /// There are more files: so many are enough to choose from.
    pub more: bool,
    /// Files and directories that could not be read before the drive was taken away.
    pub unreadable: u64,
    /// Files that were being changed then.
    pub changing: u64,
}

/// After the drive was there again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Back {
    /// The kernel's name of the drive now.
    pub name: String,
    /// Seconds until the kernel had the drive.
    pub appeared: f64,
    /// The pool took it back without a command.
    pub by_itself: bool,
    pub commands: Vec<String>,
    /// Commands that failed, with the reason.
    pub refused: Vec<String>,
    /// Seconds until the pool had all its data on all drives again, from the first command on, or from the return of the drive if
    /// none was needed; none if it never had.
    pub healed: Option<f64>,
    /// What of a member was written, as a share, as far as the kernel says.
    pub copied: Option<f64>,
    /// Operations until then, or until a second drive was taken away.
    pub during: Operations,
    /// Some of them, for a picture: from when the pool was given the drive, or had taken it.
    pub sample: Vec<Operation>,
    pub second: Option<Second>,
    pub files: FilesFound,
    pub ledger: LedgerFound,
    /// Sectors of copies or parity that differ, at most.
    pub mismatches: Option<u64>,
    pub state: PoolState,
    /// Another drive of the pool was lost meanwhile.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// While a second drive was away, and the first one was being filled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Second {
    /// The share of the first one that was filled when the second one was taken away.
    pub filled: f64,
    pub away: Operations,
    pub files: FilesFound,
    pub ledger: LedgerFound,
    pub commands: Vec<String>,
    /// Seconds from the command that takes the second one back until the pool had all its data on all drives again; none if it never
    /// had.
    pub healed: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The device node of the drive is gone.
    DriveGone,
    /// The array counts the drive as missing.
    MemberMissing,
    /// The array counts as broken.
    ArrayBroken,
    /// The kernel reset a device or a link, which is no removal.
    Reset,
    /// The first operation that failed.
    FirstError,
    /// The first read and the first write that began after the pull and succeeded.
    ReadWorks,
    WriteWorks,
}

impl What {
    pub fn words(self) -> &'static str {
        match self {
            Self::DriveGone => "the kernel removes the drive",
            Self::MemberMissing => "the array notices",
            Self::ArrayBroken => "the array is broken",
            Self::Reset => "the kernel resets a device",
            Self::FirstError => "first error",
            Self::ReadWorks => "a later read succeeds",
            Self::WriteWorks => "a later write is on the drives",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    pub at: f64,
    pub what: What,
}

/// Reads and writes of some seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operations {
    pub seconds: f64,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub failed_reads: u64,
    pub failed_writes: u64,
    /// Reads whose content was wrong.
    pub wrong_reads: u64,
    /// The longest operation, s, also one that had not ended.
    pub longest: f64,
    /// Operations that had not ended when all others had.
    pub hanging: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// When it began.
    pub at: f64,
    pub seconds: f64,
    pub write: bool,
    pub failed: bool,
}

/// Something tried once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// `ls`, `touch`, `write`, `fsync`.
    pub what: String,
    /// The page cache was emptied before.
    pub cold: bool,
    /// The error, if it failed.
    pub error: Option<String>,
    pub seconds: f64,
}

/// A tree of files, read past the page cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesFound {
    pub whole: u64,
    /// They can't be opened or read completely.
    pub failed: u64,
    /// They can be read, but hold something else: silently wrong.
    pub wrong: u64,
    /// Bytes of the files that are not whole.
    pub lost_bytes: u64,
    /// How many have a part on the drive, where that is known.
    pub on_drive: Option<u64>,
    /// Of those, how many are whole.
    pub on_drive_whole: Option<u64>,
    /// Files that were not looked at, because reading hung.
    pub unread: u64,
    /// Of those that are whole: files that held something else when they were first read.
    pub unsteady: u64,
    /// Files that another program changed or removed meanwhile: nothing is known of them, and they are in no other count.
    #[serde(skip_serializing_if = "is_none")]
    pub changed: u64,
    /// The first error.
    pub error: Option<String>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The ledger of acknowledged writes, compared with what is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LedgerFound {
    /// Writes that were synced without an error, and their bytes.
    pub acknowledged: u64,
    pub acknowledged_bytes: u64,
    /// Bytes whose last acknowledged write, or a later one, is there.
    pub kept_bytes: u64,
    /// Bytes that hold something older or something else, or can't be read.
    pub lost_bytes: u64,
    /// Of these, bytes that can't be read.
    pub unreadable_bytes: u64,
    /// Bytes in blocks of which a part is of a later write that was not acknowledged.
    pub torn_bytes: u64,
    /// Writes that got an error.
    pub refused: u64,
    /// Places whose bytes are there, but held something else when they were first read.
    pub unsteady: u64,
    /// The first few losses, in words.
    pub examples: Vec<String>,
}

impl Operations {
    fn counts(&self) -> [u64; 8] {
        [
            self.reads,
            self.read_bytes,
            self.writes,
            self.written_bytes,
            self.failed_reads,
            self.failed_writes,
            self.wrong_reads,
            self.hanging,
        ]
    }
}

impl LedgerFound {
    pub(super) fn fits(&self, most: u64) -> bool {
        let bytes = [
            self.acknowledged_bytes,
            self.kept_bytes,
            self.lost_bytes,
            self.unreadable_bytes,
            self.torn_bytes,
        ];
        bytes.into_iter().chain([self.acknowledged, self.refused, self.unsteady]).all(|n| n < most)
    }
}

impl FilesFound {
    pub(super) fn fits(&self, most: u64) -> bool {
        let on = [self.on_drive.unwrap_or(0), self.on_drive_whole.unwrap_or(0), self.lost_bytes];
        let files = [self.whole, self.failed, self.wrong, self.unread, self.unsteady, self.changed];
        on.into_iter().chain(files).all(|n| n < most)
    }

    pub fn all(&self) -> u64 {
        self.whole + self.failed + self.wrong + self.unread
    }
}

#[typetag::serde(name = "pulled")]
impl Observation for Pulled {
    fn fits(&self) -> bool {
        let back = self.back.as_ref();
        let second = back.and_then(|back| back.second.as_ref());
        let away = [
            Some((&self.away, &self.files, &self.ledger)),
            back.map(|back| (&back.during, &back.files, &back.ledger)),
            second.map(|second| (&second.away, &second.files, &second.ledger)),
        ];
        let fits = |counts: &[u64]| counts.iter().all(|n| *n < MOST);
        let found = |(used, files, ledger): (&Operations, &FilesFound, &LedgerFound)| {
            fits(&used.counts()) && files.fits(MOST) && ledger.fits(MOST)
        };
        let differ = back.and_then(|back| back.mismatches).unwrap_or(0);
        fits(&[self.missing, differ]) && fits(&self.before.counts()) && away.into_iter().flatten().all(found)
    }

    fn moved(&self) -> (u64, u64) {
        let back = self.back.as_ref().map(|back| &back.during);
        let used = [&self.before, &self.away].into_iter().chain(back);
        used.fold((0, 0), |(read, written), used| {
            (read.saturating_add(used.read_bytes), written.saturating_add(used.written_bytes))
        })
    }
}
