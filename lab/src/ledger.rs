//! What the modelled drives really did: one line an operation, the truth that drivebench is judged by.

use std::{fs::File, path::Path};

use drivebench::engine::sim::Cause;
use serde::{Deserialize, Serialize};

/// One operation, times in ns since the drives were switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When it came in.
    pub asked_ns: u64,
    /// When the drive began with it; before `asked_ns` where the time that emulation takes counts as the drive's.
    pub start_ns: u64,
    /// When the drive was done with it.
    pub end_ns: u64,
    /// When the answer went out.
    pub answered_ns: u64,
    /// To the drive; otherwise from it.
    pub write: bool,
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes.
    pub length: u64,
    /// What took its time.
    pub cause: Cause,
    /// It failed.
    pub failed: bool,
}

/// Reads a drive's ledger; a last line that was cut off is left out.
pub fn read(path: &Path) -> csv::Result<Vec<Entry>> {
    let mut reader = csv::Reader::from_reader(File::open(path)?);
    let mut entries = Vec::new();
    for entry in reader.deserialize() {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(_) if reader.is_done() => break,
            Err(e) => return Err(e),
        }
    }
    Ok(entries)
}
