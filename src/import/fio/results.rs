//! What one direction of a job tells, and what several of them at the same time are together.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::options::Known;
use crate::{
    import::{note, sane},
    record::{Imported, Told},
    units::rate,
};

/// One direction of a job.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Way {
    pub io_bytes: Option<f64>,
    io_kbytes: Option<f64>,
    bw_bytes: Option<f64>,
    /// KiB/s.
    bw: Option<f64>,
    pub iops: Option<f64>,
    /// ms.
    runtime: Option<f64>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
    clat: Option<Latency>,
    lat: Option<Latency>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Latency {
    percentile: Option<BTreeMap<String, f64>>,
}

/// A load from one or more parts that ran at the same time: its bytes are those of all, its time that of the longest.
pub(super) fn load(known: &Known, ways: &[&Way], found: &mut Imported, name: &str) -> Option<Told> {
    let parts: Vec<Part> = ways.iter().map(|way| Part::of(way)).collect::<Option<_>>()?;
    let [first, ..] = &parts[..] else { return None };
    let total = |of: fn(&Part) -> Option<f64>| -> Option<f64> { parts.iter().map(of).sum() };
    let seconds = parts
        .iter()
        .map(|p| p.seconds)
        .collect::<Option<Vec<f64>>>()
        .map(|s| s.into_iter().fold(0.0, f64::max));
    let bytes = total(|p| p.bytes);
    let told = total(|p| p.told);
    let speed = match (bytes.zip(seconds), told) {
        (Some((bytes, seconds)), Some(told)) => {
            let speed = bytes / seconds;
            // fio rounds to KiB/s; clones that ended at different times add up to more than they moved together.
            if parts.len() == 1 && (speed - told).abs() > 0.1 * speed.max(told) + 1024.0 {
                let (told, speed) = (rate(told), rate(speed));
                note(
                    found,
                    format!(
                        "Job '{name}' tells {told}, but its bytes and its time make {speed}, which is kept."
                    ),
                );
            }
            speed
        }
        (Some((bytes, seconds)), None) => bytes / seconds,
        (None, told) => told?,
    };
    if !sane(speed) || speed <= 0.0 {
        note(found, format!("Job '{name}' took less time than fio tells, so it has no speed."));
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
