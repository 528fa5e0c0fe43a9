//! fio's JSON, of fio 2 and 3: `jobs`, or `client_stats` where clients measured, with any text around it.
//!
//! fio 3 tells bytes and nanoseconds, fio 2 KiB and microseconds by names that say so less clearly; `io_bytes` was in KiB up
//! to some fio 2, so its unit is known only by `bw` and `runtime`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::{ContentError, direction, number::whole, sane};
use crate::{
    record::{Half, Imported, Told},
    units::{Caching, Direction, count, rate},
};

/// What every document of fio holds.
const MARK: &str = "\"fio version\"";

/// Within so many bytes of its beginning a document says that it is fio's, unless its keys were sorted.
const NEAR: usize = 4096;

/// One document.
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: Option<String>,
    timestamp: Option<f64>,
    #[serde(rename = "global options", default)]
    global: Options,
    jobs: Option<Vec<Job>>,
    client_stats: Option<Vec<Job>>,
    disk_util: Option<Vec<Disk>>,
}

type Options = BTreeMap<String, Value>;

#[derive(Debug, Deserialize)]
struct Disk {
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Job {
    jobname: Option<String>,
    groupid: Option<f64>,
    error: Option<f64>,
    #[serde(rename = "job options", default)]
    options: Options,
    read: Option<Way>,
    write: Option<Way>,
    /// Of both, where `unified_rw_reporting` was asked for.
    mixed: Option<Way>,
    trim: Option<Way>,
    hostname: Option<String>,
}

/// One direction of a job.
#[derive(Debug, Default, Deserialize)]
struct Way {
    io_bytes: Option<f64>,
    io_kbytes: Option<f64>,
    bw_bytes: Option<f64>,
    /// KiB/s.
    bw: Option<f64>,
    iops: Option<f64>,
    /// ms.
    runtime: Option<f64>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
    clat: Option<Latency>,
    lat: Option<Latency>,
}

#[derive(Debug, Deserialize)]
struct Latency {
    percentile: Option<BTreeMap<String, f64>>,
}

/// What is common to the jobs of a document.
struct Run<'a> {
    tool: String,
    line: u64,
    global: &'a Options,
    several_hosts: bool,
}

/// Reads all documents, and gives the rest of the text, each line where it was.
pub(super) fn read(text: &str) -> Result<(Imported, String), ContentError> {
    let mut found = Imported::default();
    let mut rest = String::with_capacity(text.len());
    let mut same = Same::default();
    let (mut at, mut sorted) = (0, text.contains(MARK));
    while let Some(begin) = sorted_or_next(text, at, &mut sorted) {
        rest.push_str(&text[at..begin]);
        let line = lines(&text[..begin]) + 1;
        let (document, length) = document(&text[begin..], line, begin as u64)?;
        rest.extend(std::iter::repeat_n('\n', lines(&text[begin..begin + length]) as usize));
        at = begin + length;
        if let Some(document) = document {
            take(&document, line, &mut found, &mut same)?;
        }
    }
    rest.push_str(&text[at..]);
    same.settle(&mut found);
    Ok((found, rest))
}

fn lines(text: &str) -> u64 {
    text.bytes().filter(|b| *b == b'\n').count() as u64
}

/// Where the next document begins: at a brace that begins a line and has fio's mark near it. `sorted` allows the first
/// brace to have it anywhere.
fn sorted_or_next(text: &str, from: usize, sorted: &mut bool) -> Option<usize> {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        if !text[begin..].starts_with('{') {
            continue;
        }
        let near = text[begin..].char_indices().nth(NEAR).map_or(text.len(), |(end, _)| begin + end);
        if std::mem::take(sorted) || text[begin..near].contains(MARK) {
            return Some(begin);
        }
    }
    None
}

/// The document that `text` begins with, where it is fio's, and its length.
fn document(text: &str, line: u64, begin: u64) -> Result<(Option<Document>, usize), ContentError> {
    // Old versions print numbers that are none, which JSON doesn't have.
    let mended = mend(text);
    let mut stream = Deserializer::from_str(&mended).into_iter::<Document>();
    match stream.next() {
        Some(Ok(document)) => {
            let is = document.version.is_some() || document.jobs.is_some() || document.client_stats.is_some();
            Ok((is.then_some(document), stream.byte_offset()))
        }
        Some(Err(e)) if e.is_eof() => Err(ContentError::CutOff { line, at: begin + text.len() as u64 }),
        Some(Err(e)) => {
            let what = e.to_string();
            let what = what.split(" at line ").next().unwrap_or_default().to_owned();
            Err(ContentError::Json { line: line + (e.line() as u64).saturating_sub(1), column: e.column() as u64, what })
        }
        None => Err(ContentError::CutOff { line, at: begin + text.len() as u64 }),
    }
}

/// `: -nan,` becomes `: null,`, at the same length so that places stay what they are.
fn mend(text: &str) -> String {
    [(": -nan", ": null"), (": nan", ":null"), (": -inf", ": null"), (": inf", ":null")]
        .into_iter()
        .filter(|(none, _)| text.contains(none))
        .fold(text.to_owned(), |text, (none, null)| {
            let ends = [",", "\n", "\r", " ", "}"];
            ends.iter().fold(text, |text, end| text.replace(&format!("{none}{end}"), &format!("{null}{end}")))
        })
}

/// Takes what a document tells.
fn take(document: &Document, line: u64, found: &mut Imported, same: &mut Same) -> Result<(), ContentError> {
    let nothing = |why: String| ContentError::Nothing { line, why };
    let tool = match document.version.as_deref() {
        Some(version) => version.replacen("fio-", "fio ", 1),
        None => "fio".to_owned(),
    };
    let mut jobs: Vec<&Job> = document.jobs.iter().chain(&document.client_stats).flatten().collect();
    let sum = |job: &Job| job.jobname.as_deref() == Some("All clients");
    if !jobs.iter().all(|job| sum(job)) {
        jobs.retain(|job| !sum(job));
    }
    let hosts: BTreeSet<&str> = jobs.iter().filter_map(|job| job.hostname.as_deref()).collect();
    if let (Some(host), 1) = (hosts.first(), hosts.len()) {
        found.board.get_or_insert_with(|| (*host).to_owned());
    }
    if let Some([Disk { name: Some(name) }]) = document.disk_util.as_deref() {
        found.drive.get_or_insert_with(|| name.clone());
    }
    if let Some(at) = document.timestamp.filter(|at| (1.0..1e11).contains(at)) {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at as u64);
        found.measured.get_or_insert_with(|| humantime::format_rfc3339_seconds(at).to_string());
    }
    let run = Run { tool, line, global: &document.global, several_hosts: hosts.len() > 1 };
    let before = found.loads.len();
    same.document += 1;
    let mut at = 0;
    while at < jobs.len() {
        // Copies of a job, which numjobs made, are one load together.
        let copies = jobs[at..].iter().take_while(|job| is_copy(jobs[at], job)).count();
        job(&run, &jobs[at..at + copies], found, same);
        at += copies;
    }
    let groups: Vec<f64> = jobs.iter().filter_map(|job| job.groupid).collect();
    let names = |g: f64| jobs.iter().filter(move |j| j.groupid == Some(g)).map(|j| &j.jobname).collect::<BTreeSet<_>>();
    let crowded: BTreeSet<u64> = groups.iter().filter(|g| names(**g).len() > 1).map(|g| *g as u64).collect();
    if !crowded.is_empty() {
        let note = "Several jobs of a group ran at the same time: each speed is what one of them got.".to_owned();
        if !found.notes.contains(&note) {
            found.notes.push(note);
        }
    }
    match jobs.len() as u64 {
        0 => Err(nothing("it has no jobs".to_owned())),
        n if found.loads.len() == before => Err(nothing(format!("{} without one", count(n, "job")))),
        _ => Ok(()),
    }
}

fn is_copy(first: &Job, other: &Job) -> bool {
    let key = |job: &Job| (job.jobname.clone(), job.groupid.map(f64::to_bits), job.hostname.clone());
    std::ptr::eq(first, other) || first.groupid.is_some() && key(first) == key(other) && first.options == other.options
}

/// Takes a job, which may be several copies of it at the same time.
fn job(run: &Run<'_>, copies: &[&Job], found: &mut Imported, same: &mut Same) {
    let [first, ..] = copies else { return };
    let name = first.jobname.clone().unwrap_or_default();
    if let Some(error) = copies.iter().filter_map(|c| c.error).find(|e| *e != 0.0) {
        found.notes.push(format!("fio ended job '{name}' with error {error}: what it told may be a part only."));
    }
    if copies.iter().any(|c| c.trim.as_ref().and_then(|w| w.io_bytes).is_some_and(|b| b > 0.0)) {
        found.notes.push(format!("Job '{name}' also trimmed, which is left alone."));
    }
    let ways = |of: fn(&Job) -> Option<&Way>| -> Vec<&Way> {
        copies.iter().filter_map(|c| of(c)).filter(|w| w.io_bytes.is_some_and(|b| b > 0.0)).collect()
    };
    let (reads, writes) = (ways(|j| j.read.as_ref()), ways(|j| j.write.as_ref()));
    let mixed = ways(|j| j.mixed.as_ref());
    for sync in ["sync", "fsync", "fdatasync"] {
        let asked = first.options.get(sync).or_else(|| run.global.get(sync)).and_then(Value::as_str);
        if let Some(asked) = asked.filter(|v| !matches!(*v, "0" | "none")) {
            found.notes.push(format!("Job '{name}' synced while it ran ({sync}={asked}), which drivebench's loads don't."));
        }
    }
    let known = Known::of(run, first, copies.len());
    let mut add = |half: Option<Half>, ways: &[&Way], way: Option<Direction>| {
        let load = load(&known, ways, found, &name);
        let Some(mut load) = load else { return };
        load.half = half;
        load.direction = way.or(load.direction);
        same.job(found.loads.len(), &known.key, half, first.groupid);
        found.loads.push(load);
    };
    match (reads.is_empty(), writes.is_empty()) {
        (true, true) => {}
        (false, true) if known.share.is_none() => add(None, &reads, Some(Direction::Read)),
        (true, false) if known.share.is_none() => add(None, &writes, Some(Direction::Write)),
        _ => {
            let share = known.share.or_else(|| share(&reads, &writes));
            let way = share.map(|read_percent| Direction::Mixed { read_percent });
            let both: Vec<&Way> = reads.iter().chain(&writes).copied().collect();
            add(None, &both, way);
            add(Some(Half::Reads), &reads, way);
            add(Some(Half::Writes), &writes, way);
        }
    }
    add(None, &mixed, None);
}

/// The percentage of reads among the operations, where an older fio doesn't tell what was asked for.
fn share(reads: &[&Way], writes: &[&Way]) -> Option<u8> {
    let iops = |ways: &[&Way]| ways.iter().filter_map(|w| w.iops).filter(|x| sane(*x)).sum::<f64>();
    let (r, w) = (iops(reads), iops(writes));
    (r + w > 0.0).then(|| (100.0 * r / (r + w)).round() as u8)
}

/// What a job's options tell of its loads.
struct Known {
    load: Told,
    /// Percentage of reads, in a mix that was asked for.
    share: Option<u8>,
    /// All that was asked for, where the options are told.
    key: Option<String>,
}

/// Options that make no difference to what is measured.
const NAMES: [&str; 8] = [
    "name", "description", "new_group", "stonewall", "write_bw_log", "write_iops_log", "write_lat_log", "group_reporting",
];

impl Known {
    fn of(run: &Run<'_>, job: &Job, copies: usize) -> Self {
        let told = !job.options.is_empty() || !run.global.is_empty();
        let option = |name: &str| job.options.get(name).or_else(|| run.global.get(name)).and_then(Value::as_str);
        let share = option("rwmixread").and_then(whole).or_else(|| Some(100 - option("rwmixwrite").and_then(whole)?.min(100)));
        let percent = u8::try_from(share.unwrap_or(50).min(100)).unwrap_or(50);
        let rw = option("rw").or_else(|| option("readwrite")).or(told.then_some("read"));
        // `randread:8` skips between operations, which is no pattern of ours.
        let asked = rw.and_then(|rw| direction(rw, percent));
        let on = option("filename").or_else(|| option("directory")).map(str::to_owned);
        let on = match job.hostname.as_deref().filter(|_| run.several_hosts) {
            Some(host) => Some(on.map_or(host.to_owned(), |on| format!("{host}:{on}"))),
            None => on,
        };
        let number = |name: &str| match option(name) {
            Some(text) => whole(text).and_then(|n| u32::try_from(n).ok()),
            // fio's own default, where it tells what was asked for.
            None => told.then_some(1),
        };
        let jobs = if copies > 1 { u32::try_from(copies).ok() } else { number("numjobs") };
        let key = told.then(|| {
            let all = run.global.iter().chain(&job.options).filter(|(name, _)| !NAMES.contains(&name.as_str()));
            format!("{} {:?} {copies} {:?}", run.tool, all.collect::<BTreeMap<_, _>>(), job.hostname)
        });
        let load = Told {
            tool: run.tool.clone(),
            name: job.jobname.clone(),
            on,
            direction: asked.map(|(direction, _)| direction),
            pattern: asked.map(|(_, pattern)| pattern),
            block: if told { block(&option) } else { None },
            depth: number("iodepth"),
            jobs,
            caching: if told { Some(caching(&option)) } else { None },
            line: run.line,
            ..Told::default()
        };
        let mix = asked.is_some_and(|(direction, _)| matches!(direction, Direction::Mixed { .. }));
        Self { load, share: mix.then_some(percent), key }
    }
}

/// One size for all operations, or nothing. `4ki` and `4kB` mean one thing or another by `kb_base`, so only fio's usual
/// letters are read.
fn block<'a>(option: &impl Fn(&str) -> Option<&'a str>) -> Option<u64> {
    if ["bsrange", "blocksize_range", "bssplit", "bs_unaligned", "kb_base"].iter().any(|name| option(name).is_some()) {
        return None;
    }
    let Some(text) = option("bs").or_else(|| option("blocksize")) else { return Some(4096) };
    let (digits, factor) = match text.to_ascii_lowercase().strip_suffix(['k', 'm', 'g']) {
        Some(digits) => {
            let power = text.to_ascii_lowercase().chars().last().map_or(0, |c| match c {
                'k' => 10,
                'm' => 20,
                _ => 30,
            });
            (digits.to_owned(), 1u64 << power)
        }
        None => (text.to_owned(), 1),
    };
    whole(&digits)?.checked_mul(factor).filter(|b| *b > 0)
}

/// Past the page cache, or through it, which is what fio does unless told otherwise.
fn caching<'a>(option: &impl Fn(&str) -> Option<&'a str>) -> Caching {
    let on = |name: &str| option(name).map(|v| matches!(v, "1" | "true"));
    match (on("direct"), on("buffered")) {
        (Some(true), _) | (None, Some(false)) => Caching::Direct,
        _ if on("end_fsync") == Some(true) => Caching::BufferedFsync,
        _ => Caching::Buffered,
    }
}

/// A load from one or more parts that ran at the same time: its bytes are those of all, its time that of the longest.
fn load(known: &Known, ways: &[&Way], found: &mut Imported, name: &str) -> Option<Told> {
    let parts: Vec<Part> = ways.iter().map(|way| Part::of(way)).collect::<Option<_>>()?;
    let [first, ..] = &parts[..] else { return None };
    let total = |of: fn(&Part) -> Option<f64>| -> Option<f64> { parts.iter().map(of).sum() };
    let seconds = parts.iter().map(|p| p.seconds).collect::<Option<Vec<f64>>>().map(|s| s.into_iter().fold(0.0, f64::max));
    let bytes = total(|p| p.bytes);
    let told = total(|p| p.told);
    let speed = match (bytes.zip(seconds), told) {
        (Some((bytes, seconds)), Some(told)) => {
            let speed = bytes / seconds;
            // fio rounds to KiB/s; clones that ended at different times add up to more than they moved together.
            if parts.len() == 1 && (speed - told).abs() > 0.1 * speed.max(told) + 1024.0 {
                let (told, speed) = (rate(told), rate(speed));
                found.notes.push(format!("Job '{name}' tells {told}, but its bytes and its time make {speed}, which is kept."));
            }
            speed
        }
        (Some((bytes, seconds)), None) => bytes / seconds,
        (None, told) => told?,
    };
    if !sane(speed) || speed <= 0.0 {
        found.notes.push(format!("Job '{name}' took less time than fio tells, so it has no speed."));
        return None;
    }
    Some(Told {
        bytes: bytes.map(|b| b as u64),
        seconds,
        speed,
        iops: total(|p| p.iops).filter(|x| sane(*x)),
        latencies: if parts.len() == 1 { first.latencies.clone() } else { Vec::new() },
        ..known.load.clone()
    })
}

/// What one direction of a job tells, in bytes and seconds.
struct Part {
    bytes: Option<f64>,
    seconds: Option<f64>,
    told: Option<f64>,
    iops: Option<f64>,
    latencies: Vec<(f64, f64)>,
}

impl Part {
    /// `None` of numbers that none can be.
    fn of(way: &Way) -> Option<Self> {
        let all = [way.io_bytes, way.io_kbytes, way.bw, way.bw_bytes, way.iops, way.runtime];
        if !all.into_iter().flatten().all(sane) {
            return None;
        }
        let seconds = way.runtime.map(|ms| ms / 1000.0).filter(|s| *s > 0.0);
        let told = way.bw_bytes.or(way.bw.map(|kib| kib * 1024.0)).filter(|b| *b > 0.0);
        let fits = |bytes: f64| match seconds.zip(told) {
            Some((seconds, told)) => (bytes / seconds - told).abs() <= 0.05 * told + 1024.0,
            None => false,
        };
        let bytes = match way.io_bytes {
            bytes if way.io_kbytes.is_some() || way.bw_bytes.is_some() => bytes,
            bytes => bytes.and_then(|n| [n * 1024.0, n].into_iter().find(|b| fits(*b))),
        };
        let percentiles = |latency: &Option<Latency>, unit: f64| {
            let told = latency.as_ref().and_then(|l| l.percentile.as_ref())?;
            let pair = |(share, value): (&String, &f64)| {
                let share = share.parse::<f64>().ok()? / 100.0;
                ((0.0..=1.0).contains(&share) && share > 0.0 && sane(*value)).then_some((share, value * unit))
            };
            let mut told: Vec<(f64, f64)> = told.iter().filter_map(pair).take(32).collect();
            told.sort_by(|a, b| a.0.total_cmp(&b.0));
            // Such a table was never filled.
            told.iter().any(|(_, value)| *value > 0.0).then_some(told)
        };
        let latencies = percentiles(&way.clat_ns, 1e-9)
            .or_else(|| percentiles(&way.lat_ns, 1e-9))
            .or_else(|| percentiles(&way.clat, 1e-6))
            .or_else(|| percentiles(&way.lat, 1e-6));
        Some(Self { bytes, seconds, told, iops: way.iops, latencies: latencies.unwrap_or_default() })
    }
}

/// Which loads are one load again: the same options, each in a document or group of its own, which fio runs one after
/// the other.
#[derive(Default)]
struct Same {
    document: u64,
    kinds: BTreeMap<(String, u8), Vec<(usize, (u64, u64))>>,
}

impl Same {
    fn job(&mut self, at: usize, key: &Option<String>, half: Option<Half>, group: Option<f64>) {
        let half = match half {
            None => 0,
            Some(Half::Reads) => 1,
            Some(Half::Writes) => 2,
        };
        if let (Some(key), Some(group)) = (key, group) {
            self.kinds.entry((key.clone(), half)).or_default().push((at, (self.document, group.to_bits())));
        }
    }

    fn settle(self, found: &mut Imported) {
        for (number, all) in (0..).zip(self.kinds.into_values()) {
            let places: BTreeSet<_> = all.iter().map(|(_, place)| place).collect();
            if places.len() == all.len() {
                for (at, _) in all {
                    if let Some(load) = found.loads.get_mut(at) {
                        load.same_as = Some(number);
                    }
                }
            }
        }
    }
}
