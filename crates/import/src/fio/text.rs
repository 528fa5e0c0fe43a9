//! fio's normal output, fio 2 and 3, as it is pasted into posts, and its terse output.
//!
//! Both have the results of each job, but few options: those of the line that fio prints at the start, and all if the log
//! has a command line that defines this job and no other. Sizes and speeds are rounded, to four digits in fio 3.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    ContentError, Documents, MOST,
    document::{DirectionStats, Disk, Document, Job, Latency, Options},
    terse,
};
use crate::number::{leading, unit, whole};

/// Reads all results. Returns the text with the lines that were used emptied.
pub(super) fn read(text: &str, documents: &mut Documents) -> Result<String, ContentError> {
    if !text.contains("): err=") && !text.contains("%=") {
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
    /// A command line that goes on in the next line.
    unfinished: Option<String>,
    /// The job that the command line defines, and its options.
    command: Option<(String, Options)>,
    headers: Vec<Header>,
    version: Option<String>,
    line: u64,
    jobs: Vec<Job>,
    processes: Vec<Process>,
    /// Those of the report before, if this is another one on the same run.
    earlier: Option<Vec<Process>>,
    disks: Vec<Disk>,
    part: Part,
}

#[derive(Debug, Default, PartialEq)]
enum Part {
    #[default]
    Start,
    /// Below a job's result, outside of the directions.
    Job,
    Direction(Way),
    /// Percentiles of a direction, and their unit in ns.
    Percentiles(Way, f64),
    /// Sums of groups, after the jobs.
    Sums,
    Disks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Read,
    Write,
    Mixed,
}

impl Way {
    fn of(self, job: &mut Job) -> &mut Option<DirectionStats> {
        match self {
            Self::Read => &mut job.read,
            Self::Write => &mut job.write,
            Self::Mixed => &mut job.mixed,
        }
    }
}

impl Page {
    fn line(&mut self, line: &str, number: u64, documents: &mut Documents) -> Result<bool, ContentError> {
        // Quotes of mails and comments.
        let text = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '#')).trim_end();
        documents.of_clients |= text.starts_with("hostname=");
        if let Some((process, job)) = result(text) {
            self.result(process, job, number, documents)?;
        } else if let Some((version, job)) = terse::job(text) {
            self.terse(version, job, number, documents)?;
        } else if let Some(command) = self.whole_command(text) {
            self.begin(documents)?;
            self.command = command;
        } else if let Some(header) = header(text) {
            self.begin(documents)?;
            self.headers.push(header);
        } else if let Some(version) = version(text) {
            self.begin(documents)?;
            self.version = Some(version);
        } else {
            return Ok(self.detail(text));
        }
        Ok(true)
    }

    /// What is printed before the results belongs to the next run.
    fn begin(&mut self, documents: &mut Documents) -> Result<(), ContentError> {
        if self.jobs.is_empty() && self.earlier.is_none() {
            return Ok(());
        }
        self.end(documents)?;
        *self = Self::default();
        Ok(())
    }

    /// Adds the results so far.
    fn end(&mut self, documents: &mut Documents) -> Result<(), ContentError> {
        let jobs = std::mem::take(&mut self.jobs);
        if jobs.is_empty() {
            return Ok(());
        }
        let document = Document {
            version: self.version.clone(),
            jobs: Some(jobs),
            disk_util: Some(std::mem::take(&mut self.disks)).filter(|_| !documents.of_clients),
            continues: Some(self.earlier.is_some()),
            ..Document::default()
        };
        self.earlier = None;
        documents.add(self.line, document)
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
        if matches!(self.part, Part::Sums | Part::Disks) || self.processes.contains(&process) {
            // Another report on these processes, or the results of another run.
            let again = self.processes.contains(&process);
            self.end(documents)?;
            let earlier = std::mem::take(&mut self.processes);
            if again {
                self.earlier = Some(earlier);
            } else {
                *self = Self::default();
            }
        }
        if self.part == Part::Start {
            // Terse output of the same run.
            self.jobs.clear();
        }
        if self.jobs.is_empty() {
            self.line = number;
        }
        self.describe(&mut job);
        self.processes.push(process);
        self.jobs.push(job);
        self.part = Part::Job;
        Ok(())
    }

    /// A line of terse output. Lines of one job may be copies, repetitions or reports, so each is a run of its own.
    fn terse(
        &mut self,
        version: Option<String>,
        mut job: Job,
        number: u64,
        documents: &mut Documents,
    ) -> Result<(), ContentError> {
        let same = |other: &Job| (&other.jobname, other.groupid) == (&job.jobname, job.groupid);
        let known = self.jobs.iter().any(same);
        if known && self.part != Part::Start {
            // It is in normal output, too.
            return Ok(());
        }
        if known || self.part != Part::Start || version.is_some() && version != self.version {
            self.end(documents)?;
            self.part = Part::Start;
        }
        if self.jobs.is_empty() {
            self.line = number;
        }
        self.version = version.or(self.version.take());
        self.describe(&mut job);
        self.jobs.push(job);
        Ok(())
    }

    /// Adds the options that are known of a job.
    fn describe(&self, job: &mut Job) {
        let name = job.jobname.as_deref().unwrap_or_default();
        let own = job.options.take().unwrap_or_default();
        let several = own.get("numjobs").is_some_and(|n| n != "1");
        let of_group: Vec<&Header> =
            self.headers.iter().filter(|h| Some(h.group as f64) == job.groupid).collect();
        // With group_reporting, the sum over a group has the name of its first job.
        let theirs: Vec<&Header> = of_group.iter().filter(|h| several || h.name == name).copied().collect();
        let mut options = Options::new();
        if let Some((first, others)) = theirs.split_first() {
            let shared =
                |(key, value): &(&String, &Value)| others.iter().all(|h| h.options.get(*key) == Some(value));
            options.extend(first.options.iter().filter(shared).map(|(k, v)| (k.clone(), v.clone())));
        }
        let command = self.command.as_ref().filter(|(of, _)| of == name);
        job.partial = command.is_none();
        let all = command.map(|(_, options)| options.clone()).unwrap_or_default();
        let all: Options = all.into_iter().chain(options).chain(own).collect();
        job.options = (!all.is_empty()).then_some(all);
    }

    /// A command line, also if it goes on over several lines; `None` inside if it defines no job or several.
    fn whole_command(&mut self, text: &str) -> Option<Option<(String, Options)>> {
        let text = match self.unfinished.take() {
            Some(begin) => format!("{begin} {text}"),
            None => text.to_owned(),
        };
        if let Some(begin) = text.strip_suffix('\\').filter(|begin| is_command(begin) && begin.len() < 4096) {
            self.unfinished = Some(begin.to_owned());
            return Some(None);
        }
        is_command(&text).then(|| command(&text))
    }

    /// A line below a result; false if it is none.
    fn detail(&mut self, text: &str) -> bool {
        let Some(job) = self.jobs.last_mut().filter(|_| self.part != Part::Start) else {
            return !self.headers.is_empty()
                && ["...", "Starting ", "Jobs: "].iter().any(|s| text.starts_with(s));
        };
        if text.is_empty() {
            return false;
        }
        if text.starts_with("Run status group ") {
            self.part = Part::Sums;
            return true;
        }
        if text.starts_with("Disk stats (read/write)") {
            self.part = Part::Disks;
            return true;
        }
        if let Some((name, figures)) = text.split_once(": ios=").filter(|_| self.part == Part::Disks) {
            self.disks.push(Disk::of_text(name, figures));
            return true;
        }
        if self.part == Part::Sums || self.part == Part::Disks {
            return SUMS.iter().any(|sum| text.starts_with(sum));
        }
        if let Some((way, stats)) = direction(text) {
            *way.of(job) = Some(stats);
            self.part = Part::Direction(way);
            return true;
        }
        // Neither moves data.
        if text.starts_with("fsync/") || text.starts_with("trim:") {
            self.part = Part::Job;
            return true;
        }
        if let (Some((kind, unit)), &(Part::Direction(way) | Part::Percentiles(way, _))) =
            (percentiles_of(text), &self.part)
        {
            self.part = if kind == "clat" || kind == "lat" {
                Part::Percentiles(way, unit)
            } else {
                Part::Direction(way)
            };
            return true;
        }
        if let (true, &Part::Percentiles(way, unit)) = (text.starts_with('|'), &self.part) {
            if let Some(stats) = way.of(job) {
                let table = stats.clat_ns.get_or_insert(Latency { percentile: None });
                let table = table.percentile.get_or_insert_default();
                // Of the kinds of latency, the first one counts.
                for (share, value) in percentiles(text, unit) {
                    table.entry(share).or_insert(value);
                }
            }
            return true;
        }
        text.starts_with('|') || DETAILS.iter().any(|detail| text.starts_with(detail))
    }
}

/// Other lines below a result, and below the sums of groups.
const DETAILS: [&str; 13] = [
    "slat ",
    "clat ",
    "lat ",
    "bw ",
    "iops ",
    "cpu ",
    "IO depths ",
    "submit ",
    "complete ",
    "issued ",
    "latency ",
    "Description ",
    "steadystate ",
];
const SUMS: [&str; 4] = ["READ:", "WRITE:", "TRIM:", "MIXED:"];

/// `name: (groupid=0, jobs=1): err= 0: pid=1297: Tue Feb  8 02:49:53 2022`; with clients after `<host> `.
fn result(text: &str) -> Option<(Process, Job)> {
    let (name, rest) = text.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (jobs, rest) = rest.split_once("): err=")?;
    let (error, rest) = rest.split_once(": pid=")?;
    let (group, jobs) = (whole(group)?, whole(jobs)?);
    let digits = |text: &str| whole(&text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]);
    let client = name.strip_prefix('<').and_then(|name| name.split_once("> "));
    let (hostname, name) = client.map_or((None, name), |(host, name)| (Some(host.to_owned()), name));
    let job = Job {
        jobname: Some(name.to_owned()),
        groupid: Some(group as f64),
        error: digits(error.trim_start()).map(|n| n as f64),
        hostname,
        options: Some(BTreeMap::from([("numjobs".to_owned(), Value::from(jobs.to_string()))])),
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

/// The block of reads and writes, if they have the same: `(R) 4096B-4096B, (W) 4096B-4096B, (T) ...`, or `4K-4K/4K-4K/4K-4K`.
fn block(sizes: &str) -> Option<u64> {
    let sizes = sizes.split(", ioengine").next()?;
    let bytes = |part: &str| {
        let part = part.trim().trim_start_matches(['(', 'R', 'W', 'T', ')', ' ']);
        let (low, high) = part.split_once('-')?;
        let size = |text: &str| amount(text, 1024.0).or_else(|| amount(&format!("{text}B"), 1024.0));
        (low == high).then(|| size(low))?
    };
    let both: Vec<f64> = sizes.split(['/', ',']).take(2).map(bytes).collect::<Option<_>>()?;
    let [read, write] = both[..] else { return None };
    (read == write && read >= 1.0).then_some(read as u64)
}

/// `fio-3.25` alone on its line.
fn version(text: &str) -> Option<String> {
    let number = text.strip_prefix("fio-")?;
    let is = number.len() < 40
        && number.starts_with(|c: char| c.is_ascii_digit())
        && !number.contains([' ', ':', ';']);
    is.then(|| text.to_owned())
}

/// Whether a line runs fio: the word itself, and options behind it.
fn is_command(text: &str) -> bool {
    let mut words =
        text.split_whitespace().take(64).skip_while(|word| word.rsplit('/').next() != Some("fio"));
    words.next().is_some() && words.any(|word| word.starts_with('-'))
}

/// The job that a command line defines, and its options; `None` for job files and several jobs.
fn command(text: &str) -> Option<(String, Options)> {
    let words =
        text.split_whitespace().take(256).skip_while(|word| word.rsplit('/').next() != Some("fio")).skip(1);
    let mut options = Options::new();
    for word in words {
        let word = word.strip_prefix('-')?;
        let (name, value) =
            word.trim_start_matches('-').split_once('=').unwrap_or((word.trim_start_matches('-'), "1"));
        let value = value.trim_matches(['"', '\'']);
        // A value that the shell fills in is unknown, and a second name begins a second job.
        if value.contains(['$', '"', '\'']) || name == "name" && options.contains_key("name") {
            return None;
        }
        options.insert(name.to_owned(), Value::from(value));
    }
    let name = options.get("name")?.as_str()?.to_owned();
    Some((name, options))
}

/// `read: IOPS=35.6k, BW=139MiB/s (146MB/s)(1392MiB/10001msec)`, or `read : io=1024.0MB, bw=61460KB/s, iops=15365, runt= 17061msec`.
fn direction(text: &str) -> Option<(Way, DirectionStats)> {
    let (way, rest) = text.split_once(':')?;
    let way = match way.trim_end() {
        "read" => Way::Read,
        "write" => Way::Write,
        "mixed" => Way::Mixed,
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

/// `clat percentiles (usec):`: of what, and the unit in ns.
fn percentiles_of(text: &str) -> Option<(&str, f64)> {
    let (kind, unit) = text.strip_suffix("):")?.split_once(" percentiles (")?;
    let unit = match unit {
        "nsec" => 1.0,
        "usec" => 1e3,
        "msec" => 1e6,
        _ => return None,
    };
    Some((kind, unit))
}

/// `|  1.00th=[   33],  5.00th=[   42],`
fn percentiles(text: &str, unit: f64) -> impl Iterator<Item = (String, f64)> {
    text.trim_start_matches('|').split(',').filter_map(move |pair| {
        let (share, value) = pair.trim().strip_suffix(']')?.split_once("th=[")?;
        Some((share.to_owned(), whole(value.trim())? as f64 * unit))
    })
}
