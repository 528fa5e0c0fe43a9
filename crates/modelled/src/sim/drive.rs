//! A running modelled drive: a state machine without a clock.

use rand::Rng;
use rand_distr::{Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

use super::{
    model::{Cache, Model},
    random::{Factors, Random, Schedule, seeded},
};
use crate::units::{Extent, MIB};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveOp {
    pub write: bool,
    pub offset: u64,
    pub length: u64,
}

/// The main part of an operation's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The medium, at its sustained speed.
    Medium,
    Cache,
    Stall,
    /// A spin-up from standby.
    Wake,
    /// Other transfers on the same bus.
    Bus,
    Flush,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The medium failed (EIO).
    Medium,
    /// It reaches beyond the capacity (ENOSPC).
    Capacity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpTiming {
    pub start_ns: u64,
    /// When the drive was ready for the next.
    pub end_ns: u64,
    pub cause: Cause,
    pub fault: Option<Fault>,
}

/// A link shared by several drives; one transfer at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    pub rate: f64,
    free_ns: u64,
}

impl Link {
    pub fn new(rate: f64) -> Self {
        Self { rate, free_ns: 0 }
    }
}

/// A running modelled drive. It has no clock: the caller passes the time. The same seed and operations give the same times.
#[derive(Debug, Clone)]
pub struct SimDrive {
    model: Model,
    random: Random,
    factors: Factors,
    schedules: Vec<Schedule>,
    efficiency: f64,
    /// Time per byte relative to the nominal one, for this MiB.
    slowness: f64,
    moved: u64,
    written: u64,
    cache_free: f64,
    slow_regime: bool,
    /// MiB left in this regime.
    turn: f64,
    free_ns: u64,
    /// Where the last operation ended.
    head: u64,
    unflushed: bool,
    dead: bool,
}

impl SimDrive {
    pub fn new(model: &Model, seed: u64) -> Self {
        let mut random = seeded(seed, 0);
        let factors = Factors::new(&model.noise, &mut random);
        let schedules = model.stalls.iter().map(|s| Schedule::new(s, &mut random)).collect();
        let slow_regime = random.random();
        let mut drive = Self {
            model: model.clone(),
            random,
            factors,
            schedules,
            efficiency: 1.0,
            slowness: 1.0,
            moved: 0,
            written: 0,
            cache_free: model.cache.map_or(0.0, |c| (c.bytes * c.free).floor()),
            slow_regime,
            turn: 0.0,
            free_ns: 0,
            head: 0,
            unflushed: false,
            dead: false,
        };
        drive.turn = drive.dwell();
        drive.begin_run();
        drive
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Begins another run: the speed varies slightly from run to run.
    pub fn begin_run(&mut self) {
        let fresh: f64 = self.random.sample(StandardNormal);
        self.efficiency = (1.0 + self.model.noise.run * fresh).max(0.1);
    }

    /// Performs `op`, which reached the drive at `now_ns`. Operations are performed one after the other, in the order of calls.
    pub fn service(&mut self, now_ns: u64, op: DriveOp, link: Option<&mut Link>) -> OpTiming {
        let start_ns = now_ns.max(self.free_ns);
        let wake_seconds = self.begin(start_ns);
        let fault = self.fault(op);
        let mut seconds = self.model.operation_seconds + wake_seconds;
        if op.offset != self.head {
            seconds += self.model.seek_seconds;
        }
        let mut cause = if wake_seconds > 0.0 { Cause::Wake } else { Cause::Medium };
        if fault.is_none() {
            self.head = op.offset.saturating_add(op.length);
            let cached = op.write && self.cache_free > 0.0;
            seconds += self.transfer(op);
            if cached && cause == Cause::Medium {
                cause = Cause::Cache;
            }
            let stalled = self.stalled(op.write, cached);
            if stalled > seconds {
                cause = Cause::Stall;
            }
            seconds += stalled;
        }
        let mut end_ns = start_ns.saturating_add((seconds * 1e9).round() as u64);
        if let (Some(link), None) = (link, fault) {
            let occupied = (op.length as f64 / link.rate * 1e9).round() as u64;
            link.free_ns = link.free_ns.max(start_ns).saturating_add(occupied);
            if link.free_ns > end_ns {
                (end_ns, cause) = (link.free_ns, Cause::Bus);
            }
        }
        self.free_ns = end_ns;
        OpTiming { start_ns, end_ns, cause, fault }
    }

    /// Flushes written data, in turn with other operations. Without data it takes no time and does not wake the drive.
    pub fn flush(&mut self, now_ns: u64) -> OpTiming {
        let start_ns = now_ns.max(self.free_ns);
        let mut end_ns = start_ns;
        if std::mem::take(&mut self.unflushed) {
            let seconds = self.begin(start_ns) + self.model.flush_seconds;
            end_ns = start_ns.saturating_add((seconds * 1e9).round() as u64);
            self.free_ns = end_ns;
        }
        let fault = self.dead.then_some(Fault::Medium);
        OpTiming { start_ns, end_ns, cause: Cause::Flush, fault }
    }

    /// Ends an idle period; returns the spin-up time, s.
    fn begin(&mut self, start_ns: u64) -> f64 {
        let rested = (start_ns - self.free_ns) as f64 / 1e9;
        if let Some(cache) = &self.model.cache {
            self.cache_free = (self.cache_free + rested * cache.drain).min(cache.bytes);
        }
        let slept = self.model.standby.filter(|s| rested >= s.after_seconds);
        slept.map_or(0.0, |s| s.wake_seconds)
    }

    /// Whether `op` would read back correct data from this drive.
    pub fn faithful(&self, op: DriveOp) -> bool {
        let real = self.model.real_capacity.unwrap_or(u64::MAX);
        op.offset.saturating_add(op.length) <= real && !touches(&self.model.faults.corrupt, op)
    }

    fn fault(&mut self, op: DriveOp) -> Option<Fault> {
        if op.offset.saturating_add(op.length) > self.model.capacity {
            return Some(Fault::Capacity);
        }
        let faults = &self.model.faults;
        self.dead |= faults.dies_after.is_some_and(|most| self.moved.saturating_add(op.length) > most);
        let extents = if op.write { &faults.unwritable } else { &faults.unreadable };
        let failed = self.dead || touches(extents, op);
        failed.then_some(Fault::Medium)
    }

    /// Seconds that moving the bytes takes, MiB by MiB.
    fn transfer(&mut self, op: DriveOp) -> f64 {
        let zones = if op.write { &self.model.write } else { &self.model.read };
        let zone = zones.partition_point(|z| z.from <= op.offset).saturating_sub(1);
        let sustained = zones.get(zone).map_or(f64::INFINITY, |z| z.rate);
        let mut seconds = 0.0;
        let mut left = op.length;
        while left > 0 {
            let within = self.moved % MIB;
            if within == 0 {
                self.next_mib();
            }
            let mut part = left.min(MIB - within);
            let mut speed = sustained;
            if let Some(Cache { rate, .. }) = self.model.cache {
                if op.write && self.cache_free >= 1.0 {
                    part = part.min(self.cache_free as u64);
                    self.cache_free -= part as f64;
                    speed = rate;
                }
            }
            seconds += part as f64 / speed * self.slowness;
            self.moved += part;
            left -= part;
        }
        if op.write {
            self.written += op.length;
            self.unflushed = true;
        }
        seconds
    }

    fn next_mib(&mut self) {
        let mut speed = self.efficiency;
        if let Some(drift) = &self.model.drift {
            speed *= drift.to + (1.0 - drift.to) * (-(self.moved as f64) / drift.over).exp();
        }
        if let Some(slow) = self.model.regimes.map(|r| r.slow) {
            if self.turn <= 0.0 {
                self.slow_regime = !self.slow_regime;
                self.turn = self.dwell();
            }
            self.turn -= 1.0;
            if self.slow_regime {
                speed *= slow;
            }
        }
        self.slowness = self.factors.next(&mut self.random) / speed;
    }

    /// The length of a regime in whole MiB.
    fn dwell(&mut self) -> f64 {
        let drawn: f64 = self.random.sample(Exp1);
        self.model.regimes.map_or(0.0, |r| (drawn * r.dwell / MIB as f64).ceil())
    }

    fn stalled(&mut self, write: bool, cached: bool) -> f64 {
        let mut seconds = 0.0;
        for (kind, schedule) in self.model.stalls.iter().zip(&mut self.schedules) {
            if write || kind.reads {
                let position = if kind.reads { self.moved } else { self.written };
                let due = schedule.until(position as f64, &mut self.random);
                if !(kind.spared_by_cache && cached) {
                    seconds += due;
                }
            }
        }
        seconds
    }
}

fn touches(extents: &[Extent], op: DriveOp) -> bool {
    let end = op.offset.saturating_add(op.length);
    extents.iter().any(|e| e.offset < end && op.offset < e.offset.saturating_add(e.length))
}
