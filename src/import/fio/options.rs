//! Options of a fio job.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{DocumentContext, Job, Options};
use crate::{
    import::{direction, number::whole},
    record::ImportedLoad,
    units::{Caching, Direction},
};

pub(super) struct Known {
    pub load: ImportedLoad,
    /// Percentage of reads in a mixed load.
    pub share: Option<u8>,
    /// Key of equal options, if fio reports them.
    pub key: Option<String>,
}

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
        let has_options = job.options.is_some();
        let option = |name: &str| job.option(document, name);
        let share = option("rwmixread")
            .and_then(whole)
            .or_else(|| Some(100 - option("rwmixwrite").and_then(whole)?.min(100)));
        let percent = u8::try_from(share.unwrap_or(50).min(100)).unwrap_or(50);
        let rw = option("rw").or_else(|| option("readwrite")).or(has_options.then_some("read"));
        // `randread:8` skips between operations, which drivebench has no pattern for.
        let rw = rw.and_then(|rw| direction(rw, percent));
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
        let key = job.options.as_ref().map(|options| {
            format!("{tool} {global_crc32} {copies} {:?} {:?}", relevant(options), job.hostname)
        });
        let load = ImportedLoad {
            tool: tool.clone(),
            name: job.jobname.clone(),
            on,
            direction: rw.map(|(direction, _)| direction),
            pattern: rw.map(|(_, pattern)| pattern),
            block: has_options.then(|| block(&option)).flatten(),
            depth: number("iodepth"),
            jobs,
            caching: has_options.then(|| caching(&option)),
            sync: has_options.then(|| option("sync").is_some_and(|how| !matches!(how, "0" | "none"))),
            line: document.line,
            ..ImportedLoad::default()
        };
        let mix = rw.is_some_and(|(direction, _)| matches!(direction, Direction::Mixed { .. }));
        Self { load, share: mix.then_some(percent), key }
    }
}

/// Block size, if all operations have the same. `4ki` and `4kB` depend on `kb_base`, so only the suffixes k, m and g
/// are read.
fn block<'a>(option: &impl Fn(&str) -> Option<&'a str>) -> Option<u64> {
    let several = ["bsrange", "blocksize_range", "bssplit", "bs_unaligned", "kb_base"];
    if several.iter().any(|name| option(name).is_some()) {
        return None;
    }
    let Some(text) = option("bs").or_else(|| option("blocksize")) else { return Some(4096) };
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
