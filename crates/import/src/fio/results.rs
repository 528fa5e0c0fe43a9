//! Results of one direction of a job, and the sum of parallel ones.

use super::{
    document::{DirectionStats, Latency},
    options::Known,
};
use crate::{
    note,
    record::{Imported, ImportedLoad},
    sane,
    units::rate,
};

/// A load from parts that ran at the same time: the sum of their bytes, and the longest time.
pub(super) fn load(known: &Known, ways: &[&DirectionStats], found: &mut Imported) -> Option<ImportedLoad> {
    let name = known.load.name.as_deref().unwrap_or_default();
    let parts: Vec<Part> = ways.iter().map(|way| Part::of(way)).collect::<Option<_>>()?;
    let [first, ..] = &parts[..] else { return None };
    let total = |of: fn(&Part) -> Option<f64>| -> Option<f64> { parts.iter().map(of).sum() };
    let seconds = parts.iter().try_fold(0.0, |longest: f64, part| Some(longest.max(part.seconds?)));
    let bytes = total(|p| p.bytes);
    let reported = total(|p| p.reported_speed);
    let computed = bytes.zip(seconds).map(|(bytes, seconds)| bytes / seconds);
    if let (Some(speed), Some(reported), 1) = (computed, reported, parts.len()) {
        // fio rounds to KiB/s. Clones that end at different times report a higher sum than they moved together.
        if (speed - reported).abs() > 0.1 * speed.max(reported) + 1024.0 {
            let (reported, speed) = (rate(reported), rate(speed));
            let why = format!("reports {reported}, but its bytes and time give {speed}, which is used");
            note(found, format!("Job '{name}' {why}."));
        }
    }
    // As the speed: all operations over the longest time.
    let operations = total(|p| Some(p.iops? * p.seconds?));
    let iops =
        if parts.len() == 1 { first.iops } else { operations.zip(seconds).map(|(n, seconds)| n / seconds) };
    let speed = computed.or(reported)?;
    if !sane(speed) || speed <= 0.0 {
        note(found, format!("Job '{name}' took less time than fio reports, so its speed is unknown."));
        return None;
    }
    Some(ImportedLoad {
        bytes: bytes.map(|b| b as u64),
        seconds,
        speed,
        iops: iops.filter(|x| sane(*x)),
        latencies: if parts.len() == 1 { first.latencies.clone() } else { Vec::new() },
        ..known.load.clone()
    })
}

/// Results of one direction of a job, in bytes and seconds.
struct Part {
    bytes: Option<f64>,
    seconds: Option<f64>,
    reported_speed: Option<f64>,
    iops: Option<f64>,
    latencies: Vec<(f64, f64)>,
}

impl Part {
    /// `None` if a number is invalid.
    fn of(way: &DirectionStats) -> Option<Self> {
        let all = [way.io_bytes, way.io_kbytes, way.bw, way.bw_bytes, way.iops, way.runtime];
        if !all.into_iter().flatten().all(sane) {
            return None;
        }
        let seconds = way.runtime.map(|ms| ms / 1000.0).filter(|s| *s > 0.0);
        let reported_speed = way.bw_bytes.or(way.bw.map(|kib| kib * 1024.0)).filter(|b| *b > 0.0);
        let ran = seconds.zip(reported_speed);
        let fits =
            |n: f64| ran.is_some_and(|(seconds, speed)| (n / seconds - speed).abs() <= 0.05 * speed + 1024.0);
        let bytes = match way.io_bytes {
            bytes if way.io_kbytes.is_some() || way.bw_bytes.is_some() => bytes,
            bytes => bytes.and_then(|n| [n * 1024.0, n].into_iter().find(|b| fits(*b))),
        };
        let percentiles = |latency: &Option<Latency>, unit: f64| {
            let percentiles = latency.as_ref().and_then(|l| l.percentile.as_ref())?;
            let pair = |(share, value): (&String, &f64)| {
                let share = share.parse::<f64>().ok()? / 100.0;
                ((0.0..=1.0).contains(&share) && share > 0.0 && sane(*value)).then_some((share, value * unit))
            };
            let mut pairs: Vec<(f64, f64)> = percentiles.iter().filter_map(pair).take(32).collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            // A table of zeros was never filled.
            pairs.iter().any(|(_, value)| *value > 0.0).then_some(pairs)
        };
        let sources = [(&way.clat_ns, 1e-9), (&way.lat_ns, 1e-9), (&way.clat, 1e-6), (&way.lat, 1e-6)];
        let latencies = sources.into_iter().find_map(|(latency, unit)| percentiles(latency, unit));
        let latencies = latencies.unwrap_or_default();
        Some(Self { bytes, seconds, reported_speed, iops: way.iops, latencies })
    }
}
