//! Twelve kinds of modelled drives with known sustained throughput.

use drivebench::units::MIB;
use drivebench_modelled::sim::{Burst, Cache, Drift, Model, Noise, Regimes, Stalls, Zone};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const M: f64 = MIB as f64;
/// Capacity of every drive but the rotating ones: more than any load moves.
const CAPACITY: u64 = 1 << 40;

/// A modelled drive and its true throughput.
pub struct Subject {
    pub model: Model,
    /// Sustained throughput, bytes per second.
    pub truth: f64,
    pub rotates: bool,
}

/// Names of the table's rows; the first six have promised results.
pub const KINDS: [&str; 12] = [
    "steady, 0.3 %",
    "0.44 s stalls, regular",
    "0.44 s stalls, random",
    "2.6 s stalls",
    "write cache 200 MiB",
    "disk with zones",
    "both stalls",
    "cache + stalls",
    "bursts of stalls",
    "switching regimes",
    "thermal drift",
    "cliff at 1.5 GiB",
];

/// Draws drive `number` of a kind.
pub fn draw(kind: usize, number: u64, seed: u64) -> Subject {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ (kind as u64) << 32 ^ number << 40);
    let mut uniform = |low: f64, high: f64| random.random_range(low..high);
    let mut between = |low: f64, high: f64| uniform(low.ln(), high.ln()).exp();
    match kind {
        0 => {
            let rate = between(8.0, 90.0);
            subject(flat(rate), rate)
        }
        1 => stalling(between(16.0, 64.0), uniform(15.0, 40.0), 0.44, 0.2),
        2 => stalling(between(32.0, 128.0), uniform(15.0, 40.0), 0.44, 1.0),
        3 => stalling(between(128.0, 512.0), uniform(15.0, 40.0), 2.6, 0.5),
        4 => cached(200.0, false, uniform),
        5 => rotating(uniform),
        6 => {
            let (rate, often, seldom) = (uniform(15.0, 40.0), uniform(16.0, 48.0), uniform(200.0, 600.0));
            let stalls = vec![stalls(often, 0.3, 0.44), stalls(seldom, 0.6, 2.6)];
            subject(Model { stalls, ..flat(rate) }, 1.0 / (1.0 / rate + 0.44 / often + 2.6 / seldom))
        }
        7 => cached(200.0, true, uniform),
        8 => {
            let (rate, every) = (uniform(15.0, 40.0), uniform(100.0, 250.0));
            let burst = Some(Burst { size: 4.0, gap: 4.0 * M });
            let stalls = vec![Stalls { burst, ..stalls(every, 1.0, 0.44) }];
            subject(Model { stalls, ..flat(rate) }, 1.0 / (1.0 / rate + 4.0 * 0.44 / every))
        }
        9 => {
            let rate = uniform(15.0, 40.0);
            let regimes = Some(Regimes { slow: 0.6, dwell: 64.0 * M });
            subject(Model { regimes, ..flat(rate) }, 1.0 / (0.5 / rate + 0.5 / (0.6 * rate)))
        }
        10 => {
            let rate = uniform(15.0, 40.0);
            let drift = Some(Drift { to: 0.8, over: 600.0 * M });
            subject(Model { drift, ..flat(rate) }, 0.8 * rate)
        }
        _ => cached(1536.0, false, uniform),
    }
}

/// `mib_per_second` is the speed of the model; the true throughput is in MiB/s, too.
fn subject(model: Model, mib_per_second: f64) -> Subject {
    Subject { model, truth: mib_per_second * M, rotates: false }
}

fn flat(mib_per_second: f64) -> Model {
    let noise = Noise { variation: 0.03, memory: 0.6, run: 0.003 };
    Model { noise, ..Model::flat(CAPACITY, mib_per_second * M) }
}

fn stalls(every_mib: f64, every_variation: f64, seconds: f64) -> Stalls {
    Stalls { every: every_mib * M, every_variation, seconds, seconds_variation: 0.1, ..Stalls::default() }
}

fn stalling(every_mib: f64, rate: f64, seconds: f64, variation: f64) -> Subject {
    let stalls = vec![stalls(every_mib, variation, seconds)];
    subject(Model { stalls, ..flat(rate) }, 1.0 / (1.0 / rate + seconds / every_mib))
}

fn cached(mib: f64, stalling: bool, mut uniform: impl FnMut(f64, f64) -> f64) -> Subject {
    let bytes = (mib * uniform(0.8, 1.2)).floor() * M;
    let (fast, slow) = (20.0 * uniform(0.9, 1.1), 4.0 * uniform(0.9, 1.1));
    let cache = Some(Cache { bytes, free: 1.0, rate: fast * M, drain: 0.0 });
    let noise = Noise { variation: 0.05, memory: 0.7, run: 0.003 };
    let stalls =
        if stalling { vec![Stalls { spared_by_cache: true, ..stalls(32.0, 0.4, 0.44) }] } else { Vec::new() };
    let every = if stalling { 0.44 / 32.0 } else { 0.0 };
    subject(Model { cache, noise, stalls, ..flat(slow) }, 1.0 / (1.0 / slow + every))
}

fn rotating(mut uniform: impl FnMut(f64, f64) -> f64) -> Subject {
    let capacity = 500 * 1024 * MIB;
    let outer = uniform(150.0, 210.0);
    let inner = outer * uniform(0.45, 0.6);
    let count = uniform(12.0, 25.0) as usize;
    let mut edges: Vec<f64> = (1..count).map(|_| uniform(0.0, 1.0)).collect();
    edges.extend([0.0, 1.0]);
    edges.sort_by(f64::total_cmp);
    let zones: Vec<Zone> = edges
        .windows(2)
        .map(|e| Zone {
            from: (e[0] * capacity as f64) as u64,
            rate: (outer + (inner - outer) * (e[0] + e[1]) / 2.0) * M,
        })
        .collect();
    let seconds: f64 = edges.windows(2).zip(&zones).map(|(e, z)| (e[1] - e[0]) / z.rate).sum();
    let noise = Noise { variation: 0.02, memory: 0.3, run: 0.003 };
    let model =
        Model { read: zones.clone(), write: zones, noise, seek_seconds: 0.02, ..Model::flat(capacity, 1.0) };
    Subject { model, truth: 1.0 / seconds, rotates: true }
}
