//! fio's normal output, fio 2 and 3, as it is pasted into posts.
//!
//! It has the results of each job, but few options: those of the line that fio prints at the start. Sizes and speeds
//! are rounded, to four digits in fio 3.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    ContentError, Documents, MOST,
    document::{DirectionStats, Document, Job, Latency, Options},
};
use crate::number::{leading, unit, whole};

/// Reads all results. Returns the text with the lines that were used emptied.
pub(super) fn read(text: &str, documents: &mut Documents) -> Result<String, ContentError> {
    if !text.contains("): err=") {
        return Ok(text.to_owned());
    }
    let mut page = Page::default();
    let mut rest = String::with_capacity(text.len());
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if page.line(line, number, documents)? {
            rest.extend(line.ends_with('\n').then_some('\n'));
        } else {
            rest.push_str(line);
        }
    }
    page.end(documents)?;
    Ok(rest)
}

/// The line of a job at the start: `name: (g=0): rw=randread, bs=4K-4K/4K-4K, ioengine=libaio, iodepth=1`.
#[derive(Debug)]
struct Header {
    name: String,
    group: u64,
    options: Options,
}

/// What identifies a job's process: its name, group and pid.
type Process = (String, u64, Option<u64>);

/// The output of one run, up to the current line.
#[derive(Debug, Default)]
struct Page {
    headers: Vec<Header>,
    version: Option<String>,
    line: u64,
    jobs: Vec<Job>,
    /// The process of each job.
    processes: Vec<Process>,
    /// The job that the next lines are about.
    current: usize,
    /// The sums after the jobs were printed.
    summed: bool,
    /// Indented lines are about the last line that was not.
    inside: bool,
    /// The direction that the next lines are about, and the unit of its percentiles in ns.
    place: Option<(Way, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Read,
    Write,
}

impl Page {
    /// Reads a line; false for those that are not fio's.
    fn line(&mut self, line: &str, number: u64, documents: &mut Documents) -> Result<bool, ContentError> {
        // Quotes of mails and comments.
        let line = line.trim_start_matches(['>', '#']);
        let (text, is_indented) = (line.trim(), line.starts_with("  "));
        if let Some((process, job)) = result(text) {
            self.result(process, job, number, documents)?;
        } else if let Some(header) = header(text) {
            self.begin(documents)?;
            self.headers.push(header);
        } else if let Some(version) = version(text) {
            self.begin(documents)?;
            self.version = Some(version);
        } else {
            return Ok(self.detail(text, is_indented));
        }
        Ok(true)
    }

    /// What is printed before the results belongs to the next run.
    fn begin(&mut self, documents: &mut Documents) -> Result<(), ContentError> {
        if !self.jobs.is_empty() {
            self.end(documents)?;
            *self = Self::default();
        }
        Ok(())
    }

    /// Adds the results so far.
    fn end(&mut self, documents: &mut Documents) -> Result<(), ContentError> {
        let jobs = std::mem::take(&mut self.jobs);
        if jobs.is_empty() {
            return Ok(());
        }
        let version = self.version.clone();
        documents.add(self.line, Document { version, jobs: Some(jobs), ..Document::default() })
    }

    fn result(
        &mut self,
        process: Process,
        mut job: Job,
        number: u64,
        documents: &mut Documents,
    ) -> Result<(), ContentError> {
        if self.jobs.len().max(self.headers.len()) > MOST {
            return Err(ContentError::TooMany);
        }
        self.describe(&mut job);
        // Another report on a process, as --status-interval prints them, has all figures since its start.
        if let Some(at) = self.processes.iter().position(|known| *known == process) {
            documents.replaced += u64::from(at == 0);
            self.jobs[at] = job;
            self.current = at;
        } else {
            if self.summed {
                self.begin(documents)?;
            }
            if self.jobs.is_empty() {
                self.line = number;
            }
            self.current = self.jobs.len();
            self.processes.push(process);
            self.jobs.push(job);
        }
        (self.summed, self.inside, self.place) = (false, true, None);
        Ok(())
    }

    /// Adds the options that are known of a job.
    fn describe(&self, job: &mut Job) {
        let own = job.options.take().unwrap_or_default();
        let several = own.get("numjobs").is_some_and(|n| n != "1");
        // With group_reporting, the sum over a group has the name of its first job.
        let is_theirs = |h: &&Header| {
            Some(h.group as f64) == job.groupid && (several || Some(&h.name) == job.jobname.as_ref())
        };
        let theirs: Vec<&Header> = self.headers.iter().filter(is_theirs).collect();
        let mut options = Options::new();
        if let Some((first, others)) = theirs.split_first() {
            let shared =
                |(key, value): &(&String, &Value)| others.iter().all(|h| h.options.get(*key) == Some(value));
            options.extend(first.options.iter().filter(shared).map(|(k, v)| (k.clone(), v.clone())));
        }
        options.extend(own);
        job.options = Some(options);
    }

    /// A line between the first header and the end of a run; false if it is none.
    fn detail(&mut self, text: &str, is_indented: bool) -> bool {
        if self.jobs.is_empty() {
            let starts = ["...", "Starting ", "Jobs: "];
            return !self.headers.is_empty() && starts.iter().any(|start| text.starts_with(start));
        }
        if text.starts_with("Run status group ") || text.starts_with("Disk stats") {
            (self.summed, self.inside, self.place) = (true, true, None);
            return true;
        }
        self.inside &= is_indented && !text.is_empty();
        let Some(job) = self.jobs.get_mut(self.current).filter(|_| self.inside) else { return false };
        if let Some((way, stats)) = direction(text) {
            *side(job, way) = Some(stats);
            self.place = Some((way, 0.0));
        } else if let (Some(unit), Some((way, _))) = (percentiles_of(text), self.place) {
            self.place = Some((way, unit));
        } else if let (true, Some((way, unit @ 1.0..))) = (text.starts_with('|'), self.place) {
            if let Some(stats) = side(job, way) {
                let table = stats.clat_ns.get_or_insert(Latency { percentile: None });
                let table = table.percentile.get_or_insert_default();
                // Of the kinds of latency, the first one counts.
                for (share, value) in percentiles(text, unit) {
                    table.entry(share).or_insert(value);
                }
            }
        }
        true
    }
}

/// The figures of one direction of a job.
fn side(job: &mut Job, way: Way) -> &mut Option<DirectionStats> {
    match way {
        Way::Read => &mut job.read,
        Way::Write => &mut job.write,
    }
}

/// `name: (groupid=0, jobs=1): err= 0: pid=1297: Tue Feb  8 02:49:53 2022`.
fn result(text: &str) -> Option<(Process, Job)> {
    let (name, rest) = text.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (jobs, rest) = rest.split_once("): err=")?;
    let (error, rest) = rest.split_once(": pid=")?;
    let (group, jobs) = (whole(group)?, whole(jobs)?);
    let digits = |text: &str| whole(&text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]);
    let job = Job {
        jobname: Some(name.to_owned()),
        groupid: Some(group as f64),
        error: digits(error.trim_start()).map(|n| n as f64),
        options: Some(BTreeMap::from([("numjobs".to_owned(), Value::from(jobs.to_string()))])),
        partial: true,
        ..Job::default()
    };
    Some(((name.to_owned(), group, digits(rest)), job))
}

fn header(text: &str) -> Option<Header> {
    let (name, rest) = text.split_once(": (g=")?;
    let (group, rest) = rest.split_once("): rw=")?;
    let (rw, rest) = rest.split_once(',').unwrap_or((rest, ""));
    let mut options = Options::from([("rw".to_owned(), Value::from(rw))]);
    for option in ["ioengine", "iodepth"] {
        let value =
            rest.split_once(&format!("{option}=")).and_then(|(_, value)| value.split([',', ' ']).next());
        options.extend(value.filter(|v| !v.is_empty()).map(|value| (option.to_owned(), Value::from(value))));
    }
    match rest.split_once("bs=").and_then(|(_, sizes)| block(sizes)) {
        Some(bytes) => options.insert("bs".to_owned(), Value::from(bytes.to_string())),
        // Its operations have several sizes.
        None => options.insert("bsrange".to_owned(), Value::from("")),
    };
    Some(Header { name: name.to_owned(), group: whole(group)?, options })
}

/// The block of `(R) 4096B-4096B, (W) 4096B-4096B, (T) ...`, or `4K-4K/4K-4K/4K-4K`, where all are equal.
fn block(sizes: &str) -> Option<u64> {
    let sizes = sizes.split(", ioengine").next()?;
    let mut sizes =
        sizes.split([' ', ',', '/', '-']).filter(|size| size.starts_with(|c: char| c.is_ascii_digit()));
    let first = sizes.next().filter(|first| sizes.all(|size| size == *first))?;
    let bytes = amount(first, 1024.0).or_else(|| amount(&format!("{first}B"), 1024.0))?;
    (bytes >= 1.0).then_some(bytes as u64)
}

/// `fio-3.25` alone on its line.
fn version(text: &str) -> Option<String> {
    let number = text.strip_prefix("fio-")?;
    let is = number.len() < 40
        && number.starts_with(|c: char| c.is_ascii_digit())
        && !number.contains([' ', ':', ';']);
    is.then(|| text.to_owned())
}

/// `read: IOPS=35.6k, BW=139MiB/s (146MB/s)(1392MiB/10001msec)`, or `read : io=1024.0MB, bw=61460KB/s, iops=15365, runt= 17061msec`.
fn direction(text: &str) -> Option<(Way, DirectionStats)> {
    let (way, rest) = text.split_once(':')?;
    let way = match way.trim_end() {
        "read" => Way::Read,
        "write" => Way::Write,
        _ => return None,
    };
    let stats = fio_3(rest.trim_start()).or_else(|| fio_2(rest))?;
    Some((way, stats))
}

fn fio_3(text: &str) -> Option<DirectionStats> {
    let (iops, rest) = text.strip_prefix("IOPS=")?.split_once(", BW=")?;
    let (speed, rest) = rest.split_once(" (")?;
    let (bytes, rest) = rest.split_once(")(")?.1.split_once('/')?;
    stats(
        number(iops)?,
        amount(speed.strip_suffix("/s")?, 1000.0)?,
        amount(bytes, 1000.0)?,
        rest.split_once("msec")?.0,
    )
}

/// In fio 2, KB are KiB.
fn fio_2(text: &str) -> Option<DirectionStats> {
    let field = |name: &str| {
        let value =
            text.split(", ").find_map(|field| field.trim_start().strip_prefix(name)?.strip_prefix('='));
        value.map(str::trim)
    };
    let speed = amount(field("bw")?.strip_suffix("/s")?, 1024.0)?;
    stats(number(field("iops")?)?, speed, amount(field("io")?, 1024.0)?, field("runt")?.strip_suffix("msec")?)
}

fn stats(iops: f64, speed: f64, bytes: f64, runtime: &str) -> Option<DirectionStats> {
    Some(DirectionStats {
        iops: Some(iops),
        bw_bytes: Some(speed),
        io_bytes: Some(bytes),
        runtime: Some(whole(runtime.trim())? as f64),
        ..DirectionStats::default()
    })
}

/// A number of bytes. fio prints no decimal commas.
fn amount(text: &str, kilo: f64) -> Option<f64> {
    let (number, name) = leading(text.trim()).filter(|_| !text.contains(','))?;
    Some(number * unit(name.trim(), kilo)?)
}

/// A number with a decimal prefix: `35.6k`.
fn number(text: &str) -> Option<f64> {
    amount(&format!("{}B", text.trim()), 1000.0)
}

/// `clat percentiles (usec):`: their unit in ns; 0 for percentiles of something else.
fn percentiles_of(text: &str) -> Option<f64> {
    let (kind, unit) = text.strip_suffix("):")?.split_once(" percentiles (")?;
    Some(match (kind, unit) {
        ("clat" | "lat", "nsec") => 1.0,
        ("clat" | "lat", "usec") => 1e3,
        ("clat" | "lat", "msec") => 1e6,
        _ => 0.0,
    })
}

/// `|  1.00th=[   33],  5.00th=[   42],`
fn percentiles(text: &str, unit: f64) -> impl Iterator<Item = (String, f64)> {
    text.trim_start_matches('|').split(',').filter_map(move |pair| {
        let (share, value) = pair.trim().strip_suffix(']')?.split_once("th=[")?;
        Some((share.to_owned(), whole(value.trim())? as f64 * unit))
    })
}
