//! fio's JSON as values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::options::BRAKES;

/// The least share of operations at the requested depth, percent.
const AT_ITS_DEPTH: f64 = 75.0;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Document {
    #[serde(rename = "fio version")]
    pub version: Option<String>,
    /// s.
    pub timestamp: Option<f64>,
    #[serde(rename = "global options", default)]
    pub global: Options,
    pub jobs: Option<Vec<Job>>,
}

pub(super) type Options = BTreeMap<String, Value>;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Job {
    pub jobname: Option<String>,
    pub groupid: Option<f64>,
    pub error: Option<f64>,
    /// Since fio 3.36; 0 before the start.
    pub job_start: Option<f64>,
    /// Time since the start of the run, s.
    pub elapsed: Option<f64>,
    /// Missing in old versions.
    #[serde(rename = "job options")]
    pub options: Option<Options>,
    /// Options that are not reported may have any value: text has only some.
    #[serde(skip)]
    pub partial: bool,
    /// The share of each depth among the operations, percent.
    pub iodepth_level: Option<Value>,
    pub read: Option<DirectionStats>,
    pub write: Option<DirectionStats>,
}

impl Document {
    pub fn all_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().flatten()
    }

    /// Whether `later` reports on the same run, with all figures since its start, as --status-interval prints them.
    pub fn is_continued_by(&self, later: &Self) -> bool {
        let jobs = |document: &Self| -> Vec<_> {
            let key = |job: &Job| (job.jobname.clone(), job.groupid.map(f64::to_bits));
            document.all_jobs().map(key).collect()
        };
        let start = |document: &Self| document.all_jobs().filter_map(|job| job.job_start).reduce(f64::max);
        let elapsed = |document: &Self| document.all_jobs().filter_map(|job| job.elapsed).reduce(f64::max);
        let by_clock = || {
            let (before, after) = (elapsed(self)?, elapsed(later)?);
            let (began, begins) = (self.timestamp? - before, later.timestamp? - after);
            Some(after > before && (begins - began).abs() <= 1.0)
        };
        let is_one = match start(self).zip(start(later)) {
            Some((began, begins)) => began == begins,
            None => by_clock() == Some(true),
        };
        is_one && self.version == later.version && jobs(self) == jobs(later)
    }
}

impl Job {
    /// Whether one operation at a time was in flight, as far as fio reports it.
    pub fn ran_at_depth_1(&self) -> bool {
        let share = self.iodepth_level.as_ref().and_then(|levels| levels["1"].as_f64());
        share.is_none_or(|percent| percent > 99.0)
    }

    /// Whether these figures are of several jobs with other options: with `group_reporting`, fio gives the name of the first job, and the
    /// options of the last.
    pub fn is_of_unlike_jobs(&self) -> bool {
        let option = |name: &str| self.options.as_ref()?.get(name)?.as_str();
        let is_of_another = option("name").zip(self.jobname.as_deref()).is_some_and(|(of, name)| of != name);
        let several = option("numjobs").is_some_and(|n| n != "1");
        let depth: u32 = option("iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(1).max(1);
        let bin = if depth < 64 { (1 << depth.ilog2()).to_string() } else { ">=64".to_owned() };
        let share = self.iodepth_level.as_ref().and_then(|levels| levels[bin.as_str()].as_f64());
        // Synchronous engines and brakes keep the depth low, too.
        let is_held_back = BRAKES.iter().any(|brake| option(brake).is_some()) || self.ran_at_depth_1();
        let is_low = share.is_some_and(|percent| percent < AT_ITS_DEPTH) && !is_held_back;
        is_of_another || several && depth > 1 && is_low
    }

    /// An option of the job or of the document, if fio reports options.
    pub fn option<'a>(&'a self, document: &DocumentContext<'a>, name: &str) -> Option<&'a str> {
        let own = self.options.as_ref()?.get(name).filter(|_| !self.is_of_unlike_jobs());
        own.or_else(|| document.global.get(name)).and_then(Value::as_str)
    }
}

pub(super) struct DocumentContext<'a> {
    pub tool: String,
    pub line: u64,
    pub global: &'a Options,
    /// CRC-32 of the relevant global options.
    pub global_crc32: u32,
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
