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
    pub client_stats: Option<Vec<Job>>,
    pub disk_util: Option<Vec<Disk>>,
    /// For text only: whether it is a later report on the run of the document before it.
    #[serde(skip)]
    pub continues: Option<bool>,
}

pub(super) type Options = BTreeMap<String, Value>;

#[derive(Debug, Deserialize)]
pub(super) struct Disk {
    pub name: Option<String>,
    pub read_ios: Option<f64>,
    pub write_ios: Option<f64>,
    /// The share of the time in which it worked, percent.
    pub util: Option<f64>,
}

impl Disk {
    /// `2/0, merge=0/0, ticks=24/0, in_queue=24, util=0.12%`.
    pub fn of_text(name: &str, figures: &str) -> Self {
        let ios = figures.split(',').next().and_then(|ios| ios.split_once('/'));
        Self {
            name: Some(name.to_owned()),
            read_ios: ios.and_then(|(reads, _)| reads.parse().ok()),
            write_ios: ios.and_then(|(_, writes)| writes.parse().ok()),
            util: figures.rsplit_once("util=").and_then(|(_, util)| util.trim_end_matches('%').parse().ok()),
        }
    }

    /// Whether it had far fewer requests than jobs had operations, and little to do.
    pub fn was_idle(&self, ops: f64) -> bool {
        const LITTLE: f64 = 0.05;
        let requests = self.read_ios.zip(self.write_ios).map(|(reads, writes)| reads + writes);
        requests.is_some_and(|requests| requests < LITTLE * ops)
            && self.util.is_some_and(|util| util < 100.0 * LITTLE)
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Job {
    pub jobname: Option<String>,
    pub groupid: Option<f64>,
    pub error: Option<f64>,
    /// Time since the start of the run, s.
    pub elapsed: Option<f64>,
    /// Missing in old versions and in sums over clients.
    #[serde(rename = "job options")]
    pub options: Option<Options>,
    /// Options that are not reported may have any value: text has only some.
    #[serde(skip)]
    pub partial: bool,
    /// The share of each depth among the operations, percent.
    pub iodepth_level: Option<Value>,
    pub read: Option<DirectionStats>,
    pub write: Option<DirectionStats>,
    /// Both directions, with `unified_rw_reporting`.
    pub mixed: Option<DirectionStats>,
    pub hostname: Option<String>,
}

impl Document {
    pub fn all_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().chain(&self.client_stats).flatten()
    }

    /// Whether `text` has the same results as this JSON, as --output-format=json,normal prints them.
    pub fn is_printed_as(&self, text: &Self) -> bool {
        let times = |job: &Job| {
            [&job.read, &job.write].map(|way| way.as_ref().and_then(|way| way.runtime).unwrap_or_default())
        };
        let key =
            |job: &Job| (job.jobname.clone(), job.groupid.map(f64::to_bits), times(job).map(f64::to_bits));
        let has = |job: &Job| self.all_jobs().any(|own| key(own) == key(job));
        self.continues.is_none() && text.continues.is_some() && text.all_jobs().all(has)
    }

    /// Whether `later` reports on the same run, with all figures since its start, as --status-interval prints them.
    pub fn is_continued_by(&self, later: &Self) -> bool {
        if let Some(continues) = later.continues {
            return continues;
        }
        let by_clock = || {
            let elapsed =
                |document: &Self| document.all_jobs().filter_map(|job| job.elapsed).reduce(f64::max);
            let (before, after) = (elapsed(self)?, elapsed(later)?);
            let (began, begins) = (self.timestamp? - before, later.timestamp? - after);
            Some(after > before && (begins - began).abs() <= 1.0)
        };
        let has_later = |job: &Job| later.all_jobs().any(|other| job.is_continued_by(other));
        self.version == later.version
            && self.all_jobs().next().is_some()
            && self.all_jobs().all(has_later)
            && by_clock() == Some(true)
    }
}

impl Job {
    fn is_continued_by(&self, later: &Self) -> bool {
        let grown = |of: fn(&Self) -> &Option<DirectionStats>| {
            let figures = |job: &Self| {
                of(job)
                    .as_ref()
                    .map(|way| (way.io_bytes.unwrap_or_default(), way.runtime.unwrap_or_default()))
            };
            let [(bytes, ran), (more, longer)] = [self, later].map(|job| figures(job).unwrap_or_default());
            (more, longer) == (bytes, ran) || more > bytes && longer >= ran
        };
        (&self.jobname, &self.hostname, &self.options, self.groupid)
            == (&later.jobname, &later.hostname, &later.options, later.groupid)
            && grown(|job| &job.read)
            && grown(|job| &job.write)
            && grown(|job| &job.mixed)
    }

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
        let depth = option("iodepth").and_then(|depth| depth.parse::<u32>().ok()).unwrap_or(1);
        let bins = [1, 2, 4, 8, 16, 32].map(|bin: u32| (bin, bin.to_string())).into_iter();
        let (_, bin) =
            bins.chain([(64, ">=64".to_owned())]).rfind(|(bin, _)| *bin <= depth).unwrap_or_default();
        let share = self.iodepth_level.as_ref().and_then(|levels| levels[bin.as_str()].as_f64());
        // Synchronous engines and brakes keep the depth low, too.
        let is_held_back = BRAKES.iter().any(|brake| option(brake).is_some());
        let is_low =
            share.is_some_and(|percent| percent < AT_ITS_DEPTH) && !is_held_back && !self.ran_at_depth_1();
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
