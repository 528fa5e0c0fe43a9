//! The expected results from the models alone.

use drivebench_modelled::sim::{Model, Stalls, Zone};

use super::SMALL;
use crate::scenario::{Attach, Ceiling, SECTOR, Scenario};

/// The sustained results of a drive that runs alone.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveTruth {
    /// Its bay.
    pub bay: String,
    /// Its serial number.
    pub serial: String,
    /// Claimed sectors.
    pub sectors: u64,
    /// Size of the largest operation that reaches it, bytes; larger ones are split.
    pub large: u64,
    /// Reads.
    pub read: Speeds,
    /// Writes, with a full cache.
    pub write: Speeds,
    /// Its write cache.
    pub cache: Option<CacheTruth>,
    /// The bus it is on, as a position in the scenario's.
    pub bus: Option<usize>,
}

/// One direction of a drive, as sustained means: bytes per second, stalls included.
#[derive(Debug, Clone, PartialEq)]
pub struct Speeds {
    /// Large sequential operations at the start of the drive.
    pub large: f64,
    /// The same at its end.
    pub large_at_end: f64,
    /// Sequential operations of 4 KiB at depth 1, at its start.
    pub small: f64,
    /// Random operations of 4 KiB at depth 1.
    pub small_random: f64,
    /// Its stalls.
    pub stalls: Vec<StallTruth>,
}

/// Stalls of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StallTruth {
    /// Mean distance, bytes; between bursts if they come in bursts.
    pub every: f64,
    /// Mean length, s.
    pub seconds: f64,
    /// Mean number in a burst; 1 without bursts.
    pub burst: f64,
}

/// A write cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheTruth {
    /// Bytes written fast before the cliff, after the machine's start.
    pub free: f64,
    /// Its size, bytes.
    pub bytes: f64,
    /// Speed of large writes before the cliff, bytes per second.
    pub rate: f64,
    /// How fast it drains while idle, bytes per second.
    pub drain: f64,
}

/// The expected results of each drive of `scenario`.
pub fn drives(scenario: &Scenario) -> Vec<DriveTruth> {
    let board = scenario.board();
    let bus_of = |i: &usize| board.buses.iter().position(|b| b.drives.contains(i));
    let truth = |(i, model): (usize, &Model)| {
        let drive = &scenario.drives[i];
        let large = match drive.attach {
            // The maximum request size of the kernel for a stick, and of QEMU for any USB drive.
            Attach::UsbStorage if scenario.usb == 2 => 240 * SECTOR,
            Attach::UsbStorage | Attach::Uas => 128 << 10,
            Attach::Sata | Attach::Nvme | Attach::Sd => 512 << 10,
        };
        let bus = bus_of(&i);
        let ceiling = bus.map(|b| board.buses[b].rate);
        let speeds = |write| {
            let rate = |block, offset| block as f64 / mean_seconds(model, ceiling, write, offset, block);
            let small = rate(SMALL, 0);
            Speeds {
                large: rate(large, 0),
                large_at_end: rate(large, model.capacity.saturating_sub(large)),
                small: SMALL as f64 / (SMALL as f64 / small + model.round_trip_seconds),
                small_random: SMALL as f64
                    / (SMALL as f64 / small + model.round_trip_seconds + model.seek_seconds),
                stalls: stalls(model, write).map(of_stalls).collect(),
            }
        };
        DriveTruth {
            bay: drive.bay.clone(),
            serial: drive.serial.clone(),
            sectors: drive.sectors,
            large,
            read: speeds(false),
            write: speeds(true),
            cache: model.cache.map(|c| CacheTruth {
                free: c.bytes * c.free,
                bytes: c.bytes,
                rate: large as f64 / per_operation(model, ceiling, c.rate, large),
                drain: c.drain,
            }),
            bus,
        }
    };
    board.drives.iter().enumerate().map(truth).collect()
}

/// What all drives of each bus together would read and write with large operations without a ceiling: bytes per
/// second.
pub(super) fn sums<'a>(
    scenario: &'a Scenario,
    drives: &'a [DriveTruth],
) -> impl Iterator<Item = (&'a Ceiling, Vec<&'a DriveTruth>)> {
    let on = |bus| drives.iter().filter(move |d| d.bus == Some(bus)).collect();
    scenario.buses.iter().enumerate().map(move |(bus, ceiling)| (ceiling, on(bus)))
}

/// Mean seconds per operation in a long sequence at `offset`, stalls included, beyond its
/// cache, alone on its bus.
pub fn mean_seconds(model: &Model, ceiling: Option<f64>, write: bool, offset: u64, block: u64) -> f64 {
    let zones = if write { &model.write } else { &model.read };
    // Drift ends at a share of the speed. Each of two regimes has half of the bytes.
    let lasting = model.drift.map_or(1.0, |d| d.to);
    let regimes = |rate: f64| match model.regimes {
        Some(r) => {
            (per_operation(model, ceiling, rate, block) + per_operation(model, ceiling, rate * r.slow, block))
                / 2.0
        }
        None => per_operation(model, ceiling, rate, block),
    };
    let stalled: f64 = stalls(model, write).map(|s| of_stalls(s).per_byte()).sum();
    regimes(rate_at(zones, offset) * lasting) + stalled * block as f64
}

/// Seconds for an operation without stalls at `rate` of the medium.
fn per_operation(model: &Model, ceiling: Option<f64>, rate: f64, block: u64) -> f64 {
    let drive = model.operation_seconds + block as f64 / rate;
    ceiling.map_or(drive, |c| drive.max(block as f64 / c))
}

fn rate_at(zones: &[Zone], offset: u64) -> f64 {
    let zone = zones.iter().rev().find(|z| z.from <= offset).or(zones.first());
    zone.map_or(f64::NAN, |z| z.rate)
}

fn stalls(model: &Model, write: bool) -> impl Iterator<Item = &Stalls> {
    model.stalls.iter().filter(move |s| write || s.reads)
}

fn of_stalls(stalls: &Stalls) -> StallTruth {
    let burst = stalls.burst.map_or(1.0, |b| b.size);
    StallTruth { every: stalls.every, seconds: stalls.seconds, burst }
}

impl StallTruth {
    /// Seconds stalled for each byte moved.
    pub fn per_byte(&self) -> f64 {
        self.seconds * self.burst / self.every
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
        thread,
    };

    use drivebench::{
        engine::{Cancel, Engine, Flow, Job},
        units::{Caching, Content, Direction, Extent, Load, MIB, Pattern},
    };
    use drivebench_modelled::sim::{Board, Burst, Drift, Noise, Regimes, SharedBus, Sim};

    use super::*;

    /// Bytes per second that a simulation reaches after `warm` bytes.
    fn simulated(board: &Board, write: bool, offset: u64, block: u64, warm: u64, bytes: u64) -> f64 {
        let mut sim = Sim::new(board).unwrap();
        let length = (board.drives[0].capacity - offset).min(MIB * 1024) / block * block;
        let direction = if write { Direction::Write } else { Direction::Read };
        let job = |bytes| Job {
            begin: 0,
            target: 0,
            load: Load {
                content: Content::Zeros,
                ..Load::new(direction, Pattern::Sequential, block, Caching::Buffered, 1)
            },
            extent: Extent { offset, length },
            bytes,
            window: 1 << 40,
        };
        let mut run = |bytes| sim.run(&[job(bytes)], &Cancel::default(), &mut |_, _| Flow::Continue);
        if warm > 0 {
            run(warm).unwrap();
        }
        // Runs vary slightly.
        let seconds: f64 = (0..20).map(|_| run(bytes / 20).unwrap()[0].seconds).sum();
        bytes as f64 / seconds
    }

    fn alone(model: &Model, ceiling: Option<f64>) -> Board {
        let buses = ceiling.map(|rate| SharedBus { rate, drives: vec![0] });
        Board { drives: vec![model.clone()], buses: buses.into_iter().collect(), seed: 7 }
    }

    #[test]
    fn simulations_of_all_model_features_agree() {
        let rate = 20e6;
        let model = Model {
            operation_seconds: 1e-3,
            noise: Noise { variation: 0.1, memory: 0.5, run: 0.01 },
            stalls: vec![
                Stalls { every: 20e6, seconds: 0.3, ..Stalls::default() },
                Stalls {
                    every: 100e6,
                    every_variation: 0.5,
                    seconds: 0.1,
                    burst: Some(Burst { size: 10.0, gap: 1e6 }),
                    reads: true,
                    ..Stalls::default()
                },
            ],
            regimes: Some(Regimes { slow: 0.5, dwell: 50e6 }),
            drift: Some(Drift { to: 0.8, over: 1e8 }),
            ..Model::flat(64 << 30, rate)
        };
        for (write, block, ceiling) in
            [(true, MIB, None), (false, MIB, None), (false, 65_536, Some(9e6)), (true, 4096, Some(9e6))]
        {
            let truth = block as f64 / mean_seconds(&model, ceiling, write, 0, block);
            let board = alone(&model, ceiling);
            let seen =
                simulated(&board, write, 0, block, 1 << 30, if block < MIB { 8 << 30 } else { 64 << 30 });
            assert!((seen / truth - 1.0).abs() < 0.02, "{write} {block}: {seen} is not {truth}");
        }
    }

    #[test]
    fn simulations_of_all_shipped_scenarios_agree() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let mut paths: Vec<PathBuf> = fs::read_dir(&directory).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        let mut kinds = BTreeSet::new();
        thread::scope(|scope| {
            for path in &paths {
                let scenario = Scenario::read(path).unwrap();
                let board = scenario.board();
                for (truth, model) in drives(&scenario).into_iter().zip(board.drives) {
                    let Model { noise, stalls, cache, regimes, drift, read, write, .. } = &model;
                    let varies = (
                        noise.variation > 0.0,
                        stalls.len(),
                        cache.is_some(),
                        regimes.is_some(),
                        drift.is_some(),
                    );
                    // Less than what is read here has more than one zone in it.
                    if model.capacity < 2048 * MIB {
                        continue;
                    }
                    // One of each kind: many differ by their rates only.
                    if kinds.insert((truth.bus.is_some(), varies, read.len(), write.len())) {
                        let rate = truth.bus.map(|bus| board.buses[bus].rate);
                        scope.spawn(move || simulation_agrees(path, &truth, &model, rate));
                    }
                }
            }
        });
        assert!(kinds.len() > 3, "{} kinds in {}", kinds.len(), directory.display());
    }

    fn simulation_agrees(path: &Path, truth: &DriveTruth, model: &Model, rate: Option<f64>) {
        let mut model = model.clone();
        // If runs vary widely, many are needed to find their mean.
        model.noise.run = model.noise.run.min(0.01);
        let board = |model: &Model| alone(model, rate);
        let close = |what: &str, seen: f64, truth: f64| {
            let at = format!("{}: {what}", path.display());
            assert!((seen / truth - 1.0).abs() < 0.01, "{at} at {seen} B/s, not {truth}");
        };
        let (large, end) = (truth.large, model.capacity.saturating_sub(1024 * MIB));
        let fill = truth.cache.map_or(0, |c| c.bytes as u64);
        let rare = model.stalls.iter().any(|s| s.every > 1e9);
        let some = if rare { 100 << 30 } else { 20 << 30 };
        close("read", simulated(&board(&model), false, 0, large, 0, some), truth.read.large);
        close("write", simulated(&board(&model), true, 0, large, fill, some), truth.write.large);
        close("end", simulated(&board(&model), false, end, large, 0, some), truth.read.large_at_end);
        close("end", simulated(&board(&model), true, end, large, fill, some), truth.write.large_at_end);
        if let Some(cache) = truth.cache {
            let bytes = cache.free as u64 / 20 * 20;
            close("cached", simulated(&board(&model), true, 0, large, 0, bytes), cache.rate);
        }
        // Too rare for the number of small operations in a test.
        model.stalls.retain(|s| s.every < 1e9);
        let small = |write| {
            let ceiling = board(&model).buses.first().map(|b| b.rate);
            SMALL as f64 / mean_seconds(&model, ceiling, write, 0, SMALL)
        };
        let fill = fill.next_multiple_of(SMALL);
        // Stalls at random distances: a gigabyte has too few of them to find their mean within 1 %.
        let some = if model.stalls.is_empty() { 1 << 30 } else { 16 << 30 };
        close("read", simulated(&board(&model), false, 0, SMALL, 0, 1 << 30), small(false));
        close("write", simulated(&board(&model), true, 0, SMALL, fill, some), small(true));
    }
}
