//! What other tools measured, as far as they told: a record of numbers that drivebench did not measure.

use serde::{Deserialize, Serialize};

use crate::units::{Caching, Direction, Pattern};

/// A file that was imported: everything in it that was understood.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Imported {
    /// The file as it was named.
    pub file: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// The CRC-32 of its content, by which the same content is known again.
    pub crc32: u32,
    /// What it is the output of, such as `fio 3.33`.
    pub tool: String,
    /// When it was measured, as RFC 3339, where told.
    pub measured: Option<String>,
    /// The board or host, where told.
    pub board: Option<String>,
    /// The drive, where told.
    pub drive: Option<String>,
    /// What the person said of it.
    pub said: ImportOptions,
    /// What was measured, in the order of the file.
    pub loads: Vec<ImportedLoad>,
    /// Lines that were understood to be no result, and left alone.
    pub left: u64,
    /// What a reader must know of it; whole sentences.
    pub notes: Vec<String>,
}

/// What a person said of a file, as it stands in no file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportOptions {
    /// The drive that it was measured on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// The board that it was measured on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// What loads did that don't tell it themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
}

/// One load, as its tool told it. `None` is unknown, never a default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportedLoad {
    /// Who told it, such as `fio 3.33`.
    pub tool: String,
    /// The job's or test's name.
    pub name: Option<String>,
    /// The file or device.
    pub on: Option<String>,
    /// Which way bytes moved.
    pub direction: Option<Direction>,
    /// The half of a mix whose figures these are; `None` where they are all of the load's.
    pub half: Option<Half>,
    /// The order of offsets.
    pub pattern: Option<Pattern>,
    /// Bytes per operation.
    pub block: Option<u64>,
    /// Operations in flight, of each job.
    pub depth: Option<u32>,
    /// Jobs at the same time.
    pub jobs: Option<u32>,
    /// What stood between load and drive.
    pub caching: Option<Caching>,
    /// Bytes moved.
    pub bytes: Option<u64>,
    /// How long it took, s.
    pub seconds: Option<f64>,
    /// Bytes a second.
    pub speed: f64,
    /// Operations a second.
    pub iops: Option<f64>,
    /// Shares of the operations, 0 to 1, and the latency that they stayed below, s.
    pub latencies: Vec<(f64, f64)>,
    /// Loads of a file with the same number are one load again; `None` where nothing tells.
    pub same_as: Option<u32>,
    /// The line of the file on which it stands or begins, from 1.
    pub line: u64,
}

/// One of the two halves of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// What was read.
    Reads,
    /// What was written.
    Writes,
}

impl ImportedLoad {
    /// fio's name for it, as drivebench's own loads are labelled; `copy` where the direction is unknown.
    pub fn label(&self) -> String {
        let random = self.pattern == Some(Pattern::Random);
        let name = match (self.direction, random) {
            (Some(Direction::Read), false) => "read",
            (Some(Direction::Write), false) => "write",
            (Some(Direction::Mixed { .. }), false) => "rw",
            (Some(Direction::Read), true) => "randread",
            (Some(Direction::Write), true) => "randwrite",
            (Some(Direction::Mixed { .. }), true) => "randrw",
            (None, _) => "copy",
        };
        match self.half {
            None => name.to_owned(),
            Some(Half::Reads) => format!("{name}, reads"),
            Some(Half::Writes) => format!("{name}, writes"),
        }
    }
}
