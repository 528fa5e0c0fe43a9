//! Options of a fio job.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{DocumentContext, Job, Options};
use crate::{
    direction,
    number::whole,
    record::ImportedLoad,
    units::{Caching, Content},
};

pub(super) struct Known {
    pub load: ImportedLoad,
    /// Percentage of reads in a mixed load.
    pub share: Option<u8>,
    /// Key of equal options, if fio reports all of them.
    pub key: Option<String>,
    /// Notes on options that make the job do more, or less, than move bytes at full speed.
    pub notes: Vec<String>,
}

/// Engines with one operation in flight, whatever `iodepth` is.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", MAPPED];

/// Engines that move nothing to or from a drive.
const IDLE: [&str; 9] =
    ["null", "cpuio", "exec", "net", "netsplice", "falloc", "ftruncate", "filecreate", "filestat"];

/// What is said of a load that was held back.
const NOT_COMPARED: &str = "its speed is not that of the drive, and is not compared";

const MAPPED: &str = "mmap";
const ZEROS: &str = "zero_buffers";

/// Values of an option that is not in use.
const OFF: [&str; 5] = ["0", "none", "null", "off", "false"];

/// Options that hold a job back.
pub(super) const BRAKES: [&str; 4] = ["rate", "rate_iops", "thinktime", "latency_target"];

/// Options that change the order of offsets, each with the start of the value that leaves it as `rw` says.
const ORDER: [(&str, &str); 4] = [
    ("percentage_random", "100"),
    ("random_distribution", "random"),
    ("zonemode", "none"),
    ("read_iolog", "none"),
];

/// Options that don't affect results.
const IGNORED: [&str; 8] = [
    "name",
    "description",
    "new_group",
    "stonewall",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
    "group_reporting",
];

pub(super) fn relevant(options: &Options) -> BTreeMap<&String, &Value> {
    options.iter().filter(|(name, _)| !IGNORED.contains(&name.as_str())).collect()
}

impl Known {
    pub fn of(document: &DocumentContext<'_>, job: &Job, copies: usize) -> Self {
        // Options that are not listed have fio's defaults, if fio lists all that were set.
        let unlike = job.is_of_unlike_jobs();
        let has_options = job.options.is_some() && !job.partial && !unlike;
        let option = |name: &str| job.option(document, name);
        let share = option("rwmixread")
            .and_then(whole)
            .or_else(|| Some(100 - option("rwmixwrite").and_then(whole)?.min(100)))
            .or(has_options.then_some(50));
        let percent = share.map(|share| u8::try_from(share.min(100)).unwrap_or(50));
        let rw = option("rw").or_else(|| option("readwrite")).or(has_options.then_some("read"));
        // `randread:8` skips between operations, which drivebench has no pattern for.
        let rw = rw.and_then(|rw| direction(rw, percent.unwrap_or(50)));
        let on = option("filename").or_else(|| option("directory")).map(str::to_owned);
        let on = match job.hostname.as_deref().filter(|_| document.several_hosts) {
            Some(host) => Some(on.map_or(host.to_owned(), |on| format!("{host}:{on}"))),
            None => on,
        };
        let number = |name: &str| match option(name) {
            Some(text) => whole(text).and_then(|n| u32::try_from(n).ok()),
            // fio's default, if it reports options.
            None => has_options.then_some(1),
        };
        let jobs = if copies > 1 { u32::try_from(copies).ok() } else { number("numjobs") };
        let DocumentContext { tool, global_crc32, .. } = document;
        let key = job.options.as_ref().filter(|_| has_options).map(|options| {
            format!("{tool} {global_crc32} {copies} {:?} {:?}", relevant(options), job.hostname)
        });
        let engine = option("ioengine").or(has_options.then_some("psync"));
        let (asked, set) =
            (number("iodepth"), |name: &str| option(name).filter(|value| !OFF.contains(value)));
        // The default engine of other systems than Linux is another one.
        let one_at_a_time = engine.is_some_and(|engine| SYNCHRONOUS.contains(&engine))
            && (option("ioengine").is_some() || job.ran_at_depth_1());
        let order = ORDER.iter().filter_map(|(name, usual)| {
            let how = option(name).filter(|how| !how.starts_with(usual))?;
            Some(format!("{name}={how}"))
        });
        let order: Vec<String> = order.collect();
        let mut notes = peculiarities(engine, &set);
        if unlike {
            let what = "was summed with jobs that have other options: its load is unknown";
            notes.push(what.to_owned());
        }
        notes.extend(order.iter().map(|how| format!("changed the order of its offsets ({how})")));
        if let (true, Some(depth @ 2..), Some(engine)) = (one_at_a_time, asked, engine) {
            notes.push(format!(
                "has iodepth={depth}, but its engine {engine} has one operation in flight: depth 1"
            ));
        }
        let idle = engine.is_some_and(|engine| IDLE.contains(&engine));
        let mapped = engine == Some(MAPPED);
        let load = ImportedLoad {
            tool: tool.clone(),
            name: job.jobname.clone(),
            on,
            direction: rw.map(|(direction, _)| direction),
            pattern: rw.map(|(_, pattern)| pattern).filter(|_| order.is_empty()),
            block: block(&option, has_options),
            depth: if one_at_a_time { Some(1) } else { asked },
            jobs,
            caching: if mapped { Some(Caching::Buffered) } else { has_options.then(|| caching(&option)) },
            content: set(ZEROS).map(|_| Content::Zeros),
            limited: idle || BRAKES.iter().any(|name| set(name).is_some()),
            sync: has_options.then(|| option("sync").is_some_and(|how| !matches!(how, "0" | "none"))),
            line: document.line,
            ..ImportedLoad::default()
        };
        Self { load, share: percent, key, notes }
    }
}

/// Options that make a job do more, or less, than move bytes at full speed, as notes.
fn peculiarities<'a>(engine: Option<&str>, set: &impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let of_engine = match engine {
        Some(MAPPED) => Some("used mmap: it went through the page cache, whatever 'direct' says".to_owned()),
        Some(engine) if IDLE.contains(&engine) => {
            Some(format!("used the engine {engine}, which moves no data to or from a drive: {NOT_COMPARED}"))
        }
        _ => None,
    };
    let set = |(name, what): &(&str, String)| Some(format!("{what} ({name}={})", set(name)?));
    let compressible = "wrote data that compresses or deduplicates";
    let options = [
        (ZEROS, compressible),
        ("buffer_compress_percentage", compressible),
        ("dedupe_percentage", compressible),
        ("buffer_pattern", compressible),
        ("verify", "wrote and verified checksums, which takes time"),
        ("fsync", "synced while it ran; drivebench's loads don't"),
        ("fdatasync", "synced while it ran; drivebench's loads don't"),
    ];
    let options = options.map(|(name, what)| (name, what.to_owned()));
    let brakes = BRAKES.map(|name| (name, format!("was held back: {NOT_COMPARED}")));
    of_engine.into_iter().chain(brakes.iter().chain(&options).filter_map(set)).collect()
}

/// Block size, if all operations have the same. `4ki` and `4kB` depend on `kb_base`, so only the suffixes k, m and g
/// are read.
fn block<'a>(option: &impl Fn(&str) -> Option<&'a str>, has_options: bool) -> Option<u64> {
    let several = ["bsrange", "blocksize_range", "bssplit", "bs_unaligned", "kb_base"];
    if several.iter().any(|name| option(name).is_some()) {
        return None;
    }
    let Some(text) = option("bs").or_else(|| option("blocksize")) else { return has_options.then_some(4096) };
    let suffixes = [('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30)];
    let text = text.to_ascii_lowercase();
    let scaled = |(suffix, factor)| Some((text.strip_suffix(suffix)?, factor));
    let (digits, factor): (&str, u64) = suffixes.into_iter().find_map(scaled).unwrap_or((&text, 1));
    whole(digits)?.checked_mul(factor).filter(|b| *b > 0)
}

/// Direct or buffered; buffered is fio's default.
fn caching<'a>(option: &impl Fn(&str) -> Option<&'a str>) -> Caching {
    let on = |name: &str| option(name).map(|v| matches!(v, "1" | "true"));
    match (on("direct"), on("buffered")) {
        (Some(true), _) | (None, Some(false)) => Caching::Direct,
        _ if on("end_fsync") == Some(true) => Caching::BufferedFsync,
        _ => Caching::Buffered,
    }
}
