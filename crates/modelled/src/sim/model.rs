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

    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, x: f64| match x {
            x if x.is_finite() && x > 0.0 => Ok(()),
            _ => Err(format!("{name} of a modelled drive must be above 0, not {x}")),
        };
        let between = |name: &str, x: f64, most: f64| match x {
            x if (0.0..=most).contains(&x) => Ok(()),
            _ => Err(format!("{name} of a modelled drive must be 0 to {most}, not {x}")),
        };
        if self.read.is_empty() || self.write.is_empty() {
            return Err("a modelled drive needs a read and a write speed".to_owned());
        }
        if ![&self.read, &self.write].iter().all(|zones| zones.is_sorted_by_key(|z| z.from)) {
            return Err("zones of a modelled drive must ascend".to_owned());
        }
        self.read.iter().chain(&self.write).try_for_each(|z| positive("rate", z.rate))?;
        between("operation_seconds", self.operation_seconds, 1e6)?;
        between("round_trip_seconds", self.round_trip_seconds, 1e6)?;
        between("seek_seconds", self.seek_seconds, 1e6)?;
        between("flush_seconds", self.flush_seconds, 1e6)?;
        between("noise.variation", self.noise.variation, 10.0)?;
        between("noise.memory", self.noise.memory, 0.9999)?;
        between("noise.run", self.noise.run, 0.1)?;
        between("faults.drops", self.faults.drops, 1.0)?;
        between("faults.flips", self.faults.flips, 1.0)?;
        for s in &self.stalls {
            positive("stalls.every", s.every)?;
            between("stalls.every_variation", s.every_variation, 10.0)?;
            between("stalls.seconds", s.seconds, 1e6)?;
            between("stalls.seconds_variation", s.seconds_variation, 10.0)?;
            if let Some(b) = &s.burst {
                between("stalls.burst.size", b.size - 1.0, 1e3)?;
                positive("stalls.burst.gap", b.gap)?;
            }
        }
        if let Some(c) = &self.cache {
            positive("cache.rate", c.rate)?;
            between("cache.bytes", c.bytes, f64::MAX)?;
            between("cache.free", c.free, 1.0)?;
            between("cache.drain", c.drain, f64::MAX)?;
        }
        if let Some(s) = &self.standby {
            positive("standby.after_seconds", s.after_seconds)?;
            between("standby.wake_seconds", s.wake_seconds, 1e6)?;
        }
        if let Some(r) = &self.regimes {
            positive("regimes.slow", r.slow)?;
            positive("regimes.dwell", r.dwell)?;
        }
        if let Some(d) = &self.drift {
            positive("drift.to", d.to)?;
            positive("drift.over", d.over)?;
        }
        Ok(())
    }
}
