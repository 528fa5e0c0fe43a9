//! The model of a drive: its properties, not its state.

use serde::{Deserialize, Serialize};

use crate::units::Extent;

/// A modelled drive. All properties but speed and capacity are off by default. In all parts, sizes and distances are
/// in bytes, times in s, rates in bytes per second, variations are standard deviations as a share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// Claimed capacity; operations beyond it fail.
    pub capacity: u64,
    /// If smaller than claimed: writes beyond it are lost without an error.
    pub real_capacity: Option<u64>,
    pub read: Vec<Zone>,
    pub write: Vec<Zone>,
    /// Time per operation inside the drive.
    pub operation_seconds: f64,
    /// Time per operation outside the drive; hidden if other operations are in flight.
    pub round_trip_seconds: f64,
    /// Additional time of an operation that does not continue at the end of the last one.
    pub seek_seconds: f64,
    pub flush_seconds: f64,
    pub noise: Noise,
    pub stalls: Vec<Stalls>,
    pub cache: Option<Cache>,
    pub regimes: Option<Regimes>,
    pub drift: Option<Drift>,
    pub standby: Option<Standby>,
    pub faults: Faults,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// The first zone also covers everything before it.
    pub from: u64,
    pub rate: f64,
}

/// Lognormal noise on the time per MiB, and variation from run to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// Of the time of one MiB.
    pub variation: f64,
    /// Correlation from one MiB to the next, 0 to below 1.
    pub memory: f64,
    /// Of a whole run's speed.
    pub run: f64,
}

/// A renewal process of stalls: distances and lengths are gamma distributed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stalls {
    /// Mean distance.
    pub every: f64,
    pub every_variation: f64,
    /// Mean length.
    pub seconds: f64,
    pub seconds_variation: f64,
    pub burst: Option<Burst>,
    /// Reads count and stall, too.
    pub reads: bool,
    /// No stalls while the write cache takes the writes.
    pub spared_by_cache: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Mean number of stalls, 1 or more; geometrically distributed.
    pub size: f64,
    pub gap: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    pub bytes: f64,
    /// Its initially free share, 0 to 1.
    pub free: f64,
    /// While it takes writes.
    pub rate: f64,
    /// While the drive is idle.
    pub drain: f64,
}

/// Two alternating speeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regimes {
    /// The lower speed as a share of the full one.
    pub slow: f64,
    /// Mean length of a regime; exponentially distributed.
    pub dwell: f64,
}

/// The speed falls towards a final share of itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    pub to: f64,
    /// Bytes after which the remaining difference is 1/e.
    pub over: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standby {
    pub after_seconds: f64,
    /// Delays the next operation.
    pub wake_seconds: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Reads that touch these fail.
    pub unreadable: Vec<Extent>,
    /// Reads of these return wrong data.
    pub corrupt: Vec<Extent>,
    /// Total bytes after which every operation fails.
    pub dies_after: Option<u64>,
    /// Writes that touch these fail.
    pub unwritable: Vec<Extent>,
    /// So many bytes of writes, the last ones, are in a memory that a power cut empties, whatever it was told to flush.
    pub volatile: Option<u64>,
    /// The share of writes that it acknowledges and forgets.
    pub drops: f64,
    /// The share of reads in which one bit is wrong.
    pub flips: f64,
    /// Addresses are taken modulo so many bytes.
    pub wraps: Option<u64>,
}

impl Model {
    pub fn flat(capacity: u64, rate: f64) -> Self {
        let zones = vec![Zone { from: 0, rate }];
        Self { capacity, read: zones.clone(), write: zones, ..Self::default() }
    }

    /// The same drive with all times divided by `factor`.
    #[must_use]
    pub fn faster(&self, factor: f64) -> Self {
        let mut model = self.clone();
        model.read.iter_mut().chain(&mut model.write).for_each(|zone| zone.rate *= factor);
        for seconds in [
            &mut model.operation_seconds,
            &mut model.round_trip_seconds,
            &mut model.seek_seconds,
            &mut model.flush_seconds,
        ] {
            *seconds /= factor;
        }
        model.stalls.iter_mut().for_each(|stalls| stalls.seconds /= factor);
        if let Some(cache) = &mut model.cache {
            cache.rate *= factor;
            cache.drain *= factor;
        }
        if let Some(standby) = &mut model.standby {
            standby.after_seconds /= factor;
            standby.wake_seconds /= factor;
        }
        model
    }

    /// Refuses a model without speeds, and one with numbers that no drive has.
    pub fn check(&self) -> Result<(), String> {
        let (zones, noise, faults) = (|| self.read.iter().chain(&self.write), &self.noise, &self.faults);
        if self.read.is_empty() || self.write.is_empty() {
            return Err("a modelled drive needs a read and a write speed".to_owned());
        }
        if ![&self.read, &self.write].iter().all(|zones| zones.is_sorted_by_key(|z| z.from)) {
            return Err("zones of a modelled drive must ascend".to_owned());
        }
        let mut above_zero: Vec<f64> = zones().map(|zone| zone.rate).collect();
        above_zero.extend(self.stalls.iter().map(|stalls| stalls.every));
        above_zero.extend(self.cache.map(|cache| cache.rate));
        above_zero.extend(self.regimes.iter().flat_map(|regimes| [regimes.slow, regimes.dwell]));
        above_zero.extend(self.drift.iter().flat_map(|drift| [drift.to, drift.over]));
        let mut others = vec![self.operation_seconds, self.round_trip_seconds, self.seek_seconds];
        others.extend([
            self.flush_seconds,
            noise.variation,
            noise.memory,
            noise.run,
            faults.drops,
            faults.flips,
        ]);
        others.extend(self.stalls.iter().flat_map(|s| [s.every_variation, s.seconds, s.seconds_variation]));
        others.extend(
            self.stalls.iter().filter_map(|s| s.burst).flat_map(|burst| [burst.size - 1.0, burst.gap]),
        );
        others.extend(self.cache.iter().flat_map(|cache| [cache.bytes, cache.free, cache.drain]));
        others.extend(self.standby.iter().flat_map(|s| [s.after_seconds, s.wake_seconds]));
        let fits = above_zero.iter().all(|x| *x > 0.0) && others.iter().all(|x| *x >= 0.0);
        if !fits || !above_zero.iter().chain(&others).all(|x| x.is_finite()) || noise.memory >= 1.0 {
            return Err("rates and distances of a modelled drive must be above 0, other numbers at least 0"
                .to_owned());
        }
        Ok(())
    }
}
