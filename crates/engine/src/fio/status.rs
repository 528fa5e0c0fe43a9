//! Parses fio's output: a sequence of JSON documents, each with the totals so far.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Splits fio's output into documents, each from a line `{` to a line `}`; lines between documents are messages.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    text: String,
    inside: bool,
    pub(super) talk: Vec<String>,
}

impl Splitter {
    /// Takes a line and returns the document that it completes, if any.
    pub(super) fn line(&mut self, line: &str) -> Option<Result<Status, serde_json::Error>> {
        if line == "{" {
            self.inside = true;
            self.text.clear();
        }
        if !self.inside {
            self.talk.push(line.to_owned());
            return None;
        }
        self.text.push_str(line);
        self.text.push('\n');
        if line != "}" {
            return None;
        }
        self.inside = false;
        Some(serde_json::from_str(&self.text))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Status {
    pub(super) jobs: Vec<JobStatus>,
}

/// The totals of a job so far, in the order of the command line.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct JobStatus {
    /// An error number, or 0.
    pub(super) error: i32,
    pub(super) read: DirectionStatus,
    pub(super) write: DirectionStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct DirectionStatus {
    pub(super) io_bytes: u64,
    pub(super) total_ios: u64,
    /// ms.
    pub(super) runtime: u64,
    lat_ns: LatencyBins,
    clat_ns: LatencyBins,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct LatencyBins {
    /// From ns to the number of operations.
    bins: BTreeMap<u64, u64>,
}

impl JobStatus {
    /// From the start to now, ns.
    pub(super) fn ns(&self) -> u64 {
        self.read.runtime.max(self.write.runtime) * 1_000_000
    }
}

impl DirectionStatus {
    /// Latencies so far: total latencies, or completion latencies in versions without bins of the total.
    pub(super) fn bins(&self) -> &BTreeMap<u64, u64> {
        if self.lat_ns.bins.is_empty() { &self.clat_ns.bins } else { &self.lat_ns.bins }
    }

    /// Operations whose latency is known.
    pub(super) fn completed(&self) -> u64 {
        self.bins().values().sum()
    }
}

/// fio's message about a failed operation on the file at `path`: (operation, offset, message).
pub(super) fn failure<'a>(talk: impl Iterator<Item = &'a str>, path: &str) -> Option<(String, u64, String)> {
    talk.filter_map(|line| io_error(line, path).or_else(|| verify_error(line, path))).next()
}

/// `fio: io_u error on file PATH: Input/output error: write offset=4096, buflen=512`
fn io_error(line: &str, path: &str) -> Option<(String, u64, String)> {
    let (_, rest) = line.split_once(&format!("error on file {path}: "))?;
    let (message, rest) = rest.split_once(": ")?;
    let (what, rest) = rest.split_once(" offset=")?;
    Some((what.to_owned(), number(rest), message.to_owned()))
}

/// `crc32c: verify failed at file PATH offset 4096, length 4096 (...)`, and others that say `at file PATH offset`
fn verify_error(line: &str, path: &str) -> Option<(String, u64, String)> {
    let (message, rest) = line.split_once(&format!(" at file {path} offset "))?;
    Some(("verify".to_owned(), number(rest), message.trim().to_owned()))
}

fn number(text: &str) -> u64 {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().unwrap_or(0)
}
