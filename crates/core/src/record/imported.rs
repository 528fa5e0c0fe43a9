//! Imported results: numbers that other tools measured and reported.

use serde::{Deserialize, Serialize};

use crate::units::{Caching, Content, Direction, Pattern};

/// An imported file: all of its results that could be parsed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Imported {
    /// The file as named on the command line.
    pub file: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// The CRC-32 of its content, to detect repeated imports.
    pub crc32: u32,
    /// The tool that wrote it, such as `fio 3.33`.
    pub tool: String,
    /// When it was measured, as RFC 3339, if the file says so.
    pub measured: Option<String>,
    /// The board or host, if the file says so.
    pub board: Option<String>,
    /// The drive, if the file says so.
    pub drive: Option<String>,
    pub options: ImportOptions,
    pub loads: Vec<ImportedLoad>,
    /// Number of lines without a result, which were skipped.
    pub skipped_lines: u64,
    /// Notes for readers, as full sentences.
    pub notes: Vec<String>,
}

/// Options of an import: facts that are not in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportOptions {
    pub drive: Option<String>,
    pub board: Option<String>,
    /// The direction of loads that don't state it.
    pub direction: Option<Direction>,
}

/// One load as its tool reported it. `None` means unknown, never a default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedLoad {
    pub tool: String,
    /// The job's or test's name.
    pub name: Option<String>,
    /// The file or device.
    pub on: Option<String>,
    pub direction: Option<Direction>,
    /// The half of a mixed load that the figures are for; `None` if they are for the whole load.
    pub half: Option<Half>,
    pub pattern: Option<Pattern>,
    /// Bytes per operation.
    pub block: Option<u64>,
    /// Operations in flight, of each job.
    pub depth: Option<u32>,
    /// Jobs at the same time.
    pub jobs: Option<u32>,
    pub caching: Option<Caching>,
    pub content: Option<Content>,
    /// Whether something other than the drive set its speed, such as a rate limit.
    pub limited: bool,
    /// Each write lasted until it was on stable storage.
    pub sync: Option<bool>,
    pub bytes: Option<u64>,
    pub seconds: Option<f64>,
    /// Bytes per second.
    pub speed: f64,
    /// Operations per second.
    pub iops: Option<f64>,
    /// Shares of the operations, 0 to 1, and the latency that they stayed below, s.
    pub latencies: Vec<(f64, f64)>,
    /// Loads of a file with the same number are repetitions of one load; `None` if unknown.
    pub same_as: Option<u32>,
    /// The line of the file where it begins, from 1.
    pub line: u64,
}

/// One of the two halves of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    Reads,
    Writes,
}

impl ImportedLoad {
    /// fio's name for it, as drivebench's own loads are labelled; `copy` where the direction is unknown.
    pub fn label(&self) -> String {
        let way = match self.direction {
            Some(Direction::Read) => "read",
            Some(Direction::Write) => "write",
            Some(Direction::Mixed { .. }) => "rw",
            None => return "copy".to_owned(),
        };
        let order = if self.pattern == Some(Pattern::Random) { "rand" } else { "" };
        let half = match self.half {
            None => "",
            Some(Half::Reads) => ", reads",
            Some(Half::Writes) => ", writes",
        };
        format!("{order}{way}{half}")
    }
}
