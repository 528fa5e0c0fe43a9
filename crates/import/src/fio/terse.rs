//! fio's terse output (--minimal), versions 2 to 5: one line per job, fields between semicolons.

use super::document::{DirectionStats, Job, Latency};
use crate::number::{decimal, whole};

/// Places of a direction's fields: KiB, KiB/s, IOPS and ms; then latencies, of which the percentiles are `99.000000%=1234`, us.
const PERCENTILES: std::ops::Range<usize> = 12..32;

/// The job of a line, and the version of fio if the line has it.
pub(super) fn job(line: &str) -> Option<(Option<String>, Job)> {
    if !line.starts_with(|c: char| ('2'..='5').contains(&c)) || line.as_bytes().get(1) != Some(&b';') {
        return None;
    }
    let fields: Vec<&str> = line.split(';').take(200).collect();
    let (head, length) = match fields[0] {
        "2" => (4, 41),
        "3" | "4" => (5, 41),
        _ => (5, 47),
    };
    let [name, group, error] = fields.get(head - 3..head)? else { return None };
    let job = Job {
        jobname: Some((*name).to_owned()),
        groupid: Some(whole(group)? as f64),
        error: Some(decimal(error)?),
        read: Some(direction(fields.get(head..head + length)?)?),
        write: Some(direction(fields.get(head + length..head + 2 * length)?)?),
        ..Job::default()
    };
    Some(((head == 5).then(|| format!("fio-{}", fields[1].trim_start_matches("fio-"))), job))
}

fn direction(fields: &[&str]) -> Option<DirectionStats> {
    let number = |at: usize| whole(fields[at]).map(|n| n as f64);
    let pair = |field: &&str| {
        let (share, value) = field.split_once("%=")?;
        Some((share.to_owned(), whole(value)? as f64))
    };
    let percentiles = fields[PERCENTILES].iter().map(pair).collect::<Option<Vec<_>>>()?;
    Some(DirectionStats {
        io_bytes: Some(number(0)? * 1024.0),
        bw_bytes: Some(number(1)? * 1024.0),
        iops: Some(number(2)?),
        runtime: Some(number(3)?),
        clat: Some(Latency { percentile: Some(percentiles.into_iter().collect()) }),
        ..DirectionStats::default()
    })
}
