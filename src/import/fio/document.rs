//! fio's JSON as values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(super) struct Document {
    #[serde(rename = "fio version")]
    pub version: Option<String>,
    pub timestamp: Option<f64>,
    #[serde(rename = "global options", default)]
    pub global: Options,
    pub jobs: Option<Vec<Job>>,
    pub client_stats: Option<Vec<Job>>,
    pub disk_util: Option<Vec<Disk>>,
}

pub(super) type Options = BTreeMap<String, Value>;

#[derive(Debug, Deserialize)]
pub(super) struct Disk {
    pub name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Job {
    pub jobname: Option<String>,
    pub groupid: Option<f64>,
    pub error: Option<f64>,
    /// Missing in old versions and in sums over clients.
    #[serde(rename = "job options")]
    pub options: Option<Options>,
    pub read: Option<DirectionStats>,
    pub write: Option<DirectionStats>,
    /// Both directions, with `unified_rw_reporting`.
    pub mixed: Option<DirectionStats>,
    pub trim: Option<DirectionStats>,
    pub hostname: Option<String>,
}

impl Job {
    /// An option of the job or of the document, if fio reports options.
    pub fn option<'a>(&'a self, document: &DocumentContext<'a>, name: &str) -> Option<&'a str> {
        self.options.as_ref()?.get(name).or_else(|| document.global.get(name)).and_then(Value::as_str)
    }
}

pub(super) struct DocumentContext<'a> {
    pub tool: String,
    pub line: u64,
    pub global: &'a Options,
    /// CRC-32 of the relevant global options.
    pub global_crc32: u32,
    pub several_hosts: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct DirectionStats {
    pub io_bytes: Option<f64>,
    pub io_kbytes: Option<f64>,
    pub bw_bytes: Option<f64>,
    /// KiB/s.
    pub bw: Option<f64>,
    pub iops: Option<f64>,
    /// ms.
    pub runtime: Option<f64>,
    pub clat_ns: Option<Latency>,
    pub lat_ns: Option<Latency>,
    pub clat: Option<Latency>,
    pub lat: Option<Latency>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Latency {
    pub percentile: Option<BTreeMap<String, f64>>,
}
