//! What a job's options tell of its loads.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Job, Options, Run};
use crate::{
    import::{direction, number::whole},
    record::Told,
    units::{Caching, Direction},
};

/// What a job's options tell of its loads.
pub(super) struct Known {
    pub load: Told,
    /// Percentage of reads, in a mix that was asked for.
    pub share: Option<u8>,
    /// All that was asked for, where the options are told.
    pub key: Option<String>,
}

/// Options that make no difference to what is measured.
const NAMES: [&str; 8] = [
    "name",
    "description",
    "new_group",
    "stonewall",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
    "group_reporting",
];

/// The options that make a difference.
pub(super) fn measured(options: &Options) -> BTreeMap<&String, &Value> {
    options.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())).collect()
}

impl Known {
    pub fn of(run: &Run<'_>, job: &Job, copies: usize) -> Self {
        let told = job.options.is_some();
        let option = |name: &str| job.option(run, name);
        let share = option("rwmixread")
            .and_then(whole)
            .or_else(|| Some(100 - option("rwmixwrite").and_then(whole)?.min(100)));
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
        let key = job.options.as_ref().map(|options| {
            format!("{} {} {copies} {:?} {:?}", run.tool, run.asked, measured(options), job.hostname)
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
    if ["bsrange", "blocksize_range", "bssplit", "bs_unaligned", "kb_base"]
        .iter()
        .any(|name| option(name).is_some())
    {
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
