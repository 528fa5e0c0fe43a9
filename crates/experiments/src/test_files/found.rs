//! What is found of files and of acknowledged writes, and how long operations took.

use serde::{Deserialize, Serialize};

use crate::units::{count, decimal_bytes, is_zero};

/// Files that were read past the page cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesFound {
    pub whole: u64,
    /// Files that can't be opened or read completely.
    pub failed: u64,
    /// Files that can be read, but hold something else: silently wrong.
    pub wrong: u64,
    /// Bytes of the files that are not whole.
    pub lost_bytes: u64,
    /// Files that were not looked at, because reading hung.
    pub unread: u64,
    /// Whole files that held something else when they were first read.
    pub unsteady: u64,
    /// Files that another program changed or removed meanwhile. Nothing is known of them, and they are in no other count.
    #[serde(skip_serializing_if = "is_zero")]
    pub changed: u64,
    /// The first error.
    pub error: Option<String>,
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
    /// Lost bytes that can't be read.
    pub unreadable_bytes: u64,
    /// Places whose bytes are there, but held something else when they were first read.
    pub unsteady: u64,
    /// The first few losses, in words.
    pub examples: Vec<String>,
}

/// Reads and writes during some time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operations {
    /// Length of that time, s.
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

impl FilesFound {
    pub fn all(&self) -> u64 {
        self.whole + self.failed + self.wrong + self.unread
    }

    /// Whether files were looked at.
    pub fn is_read(&self) -> bool {
        self.all() + self.changed > 0
    }
}

/// What is not as it was written, in words.
pub fn losses(files: &FilesFound, ledger: &LedgerFound) -> impl Iterator<Item = String> + use<> {
    let some = |n: u64, noun: &str, what: &str| (n > 0).then(|| format!("{} {what}", count(n, noun)));
    let lost = ledger.lost_bytes;
    let all = [
        some(files.wrong, "file", "silently wrong"),
        some(files.failed + files.unread, "file", "not readable"),
        (lost > 0).then(|| format!("{} of acknowledged writes lost", decimal_bytes(lost))),
        some(files.unsteady + ledger.unsteady, "place", "right only when read again"),
    ];
    all.into_iter().flatten()
}
