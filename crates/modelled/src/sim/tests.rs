//! Tests of `sim` as an engine, and of modelled drives.

use super::*;
use crate::{
    engine::{Ended, Flow, Outcome},
    units::{Caching, Direction, Extent, Load, MIB, Pattern, Window},
};

const GIB: u64 = 1024 * MIB;

fn load(direction: Direction, block: u64, depth: u32) -> Load {
    Load { depth, ..Load::new(direction, Pattern::Sequential, block, Caching::Direct, 1) }
}

fn job(load: Load, bytes: u64) -> Job {
    Job { target: 0, load, extent: Extent { offset: 0, length: GIB }, begin: 0, bytes, window: MIB }
}

fn one(model: Model) -> Sim {
    Sim::new(&Board { drives: vec![model], seed: 1, ..Board::default() }).expect("a sound model")
}

/// Runs `jobs` to their end and keeps each one's windows.
fn run(sim: &mut Sim, jobs: &[Job]) -> (Vec<Outcome>, Vec<Vec<Window>>) {
    let mut windows = vec![Vec::new(); jobs.len()];
    let outcomes = sim.run(jobs, &Cancel::default(), &mut |i, w| {
        windows[i].push(w.clone());
        Flow::Continue
    });
    (outcomes.expect("runs"), windows)
}

fn drive() -> Model {
    Model { operation_seconds: 1e-4, ..Model::flat(8 * GIB, 20e6) }
}

#[test]
fn exact_bytes_operations_and_windows() {
    for (direction, block, depth, bytes) in [
        (Direction::Write, 4096, 1, 10 * MIB),
        (Direction::Read, 65_536, 8, 10 * MIB + 1),
        (Direction::Mixed { read_percent: 70 }, 4096, 32, 3 * MIB),
        (Direction::Write, 3 * MIB, 2, 10 * MIB),
        (Direction::Write, 64, 256, 64),
    ] {
        let (outcomes, windows) = run(&mut one(drive()), &[job(load(direction, block, depth), bytes)]);
        let blocks = bytes.div_ceil(block);
        let o = &outcomes[0];
        assert_eq!((o.ended.clone(), o.ops), (Ended::Finished, blocks), "{direction:?} {block}");
        assert_eq!(o.bytes_read + o.bytes_written, blocks * block);
        match direction {
            Direction::Read => assert_eq!(o.bytes_written, 0),
            Direction::Write => assert_eq!(o.bytes_read, 0),
            Direction::Mixed { .. } => {
                let share = o.bytes_read as f64 / (o.bytes_read + o.bytes_written) as f64;
                assert!((share - 0.7).abs() < 0.06, "{share}");
                let reads: u64 = windows[0].iter().flat_map(|w| &w.reads).map(|r| r.count()).sum();
                assert_eq!(reads * block, o.bytes_read);
            }
        }
        assert_eq!(windows[0].iter().map(|w| w.bytes).sum::<u64>(), blocks * block);
        assert!(windows[0].iter().all(|w| w.ops == w.latency.count() && w.ops * block == w.bytes));
        let mut at = 0;
        for w in &windows[0] {
            assert!(w.from_ns == at && w.to_ns > at, "windows follow each other");
            at = w.to_ns;
        }
        assert!((o.seconds - at as f64 / 1e9).abs() < 1e-9);
        assert!(
            windows[0].iter().rev().skip(1).all(|w| w.bytes >= MIB && w.bytes < MIB + block.max(MIB) * 2)
        );
    }
}

#[test]
fn speed_and_latency_are_those_of_the_model() {
    let (outcomes, windows) = run(
        &mut one(drive()),
        &[job(load(Direction::Write, 4096, 1), 4 * MIB), job(load(Direction::Read, 4096, 1), 0)],
    );
    let operation = 1e-4 + 4096.0 / 20e6;
    assert!((outcomes[0].seconds / (1024.0 * operation) - 1.0).abs() < 1e-4, "{}", outcomes[0].seconds);
    let median = windows[0][0].latency.quantile(0.5).expect("operations") as f64 / 1e9;
    assert!((median / operation - 1.0).abs() < 1e-3);
    assert_eq!((outcomes[1].ended.clone(), outcomes[1].ops), (Ended::Finished, 0));

    let deep = run(&mut one(drive()), &[job(load(Direction::Write, 4096, 16), 4 * MIB)]);
    assert!((deep.0[0].seconds / outcomes[0].seconds - 1.0).abs() < 1e-3, "one operation after the other");
    let median = deep.1[0][2].latency.quantile(0.5).expect("operations") as f64 / 1e9;
    assert!((median / (16.0 * operation) - 1.0).abs() < 1e-3, "sixteen operations queue");
}

#[test]
fn depth_hides_the_round_trip() {
    let far = Model { round_trip_seconds: 1e-3, ..Model::flat(GIB, 100e6) };
    let (shallow, _) = run(&mut one(far.clone()), &[job(load(Direction::Read, 4096, 1), MIB)]);
    let (deep, _) = run(&mut one(far), &[job(load(Direction::Read, 4096, 64), MIB)]);
    assert!((shallow[0].seconds - 256.0 * (1e-3 + 4096.0 / 100e6)).abs() < 1e-4);
    assert!((deep[0].seconds - (1e-3 + 1_048_576.0 / 100e6)).abs() < 1e-4, "{}", deep[0].seconds);
}

#[test]
fn windows_of_fast_drives_grow_once() {
    let (_, windows) = run(&mut one(Model::flat(8 * GIB, 3e9)), &[job(load(Direction::Read, MIB, 4), GIB)]);
    let sizes: Vec<u64> = windows[0].iter().map(|w| w.bytes / MIB).collect();
    // 1 MiB takes 0.35 ms, 16 MiB take 5.6 ms.
    assert_eq!(sizes[..64], [1; 64]);
    assert_eq!(sizes[64..], [16; 60]);
}

#[test]
fn a_sequential_load_starts_again_at_the_extents_end() {
    let corrupt = vec![Extent { offset: 3 * MIB, length: 1 }];
    let model = Model { faults: Faults { unreadable: corrupt, ..Faults::default() }, ..drive() };
    let small = |length| Job {
        extent: Extent { offset: 0, length },
        bytes: 10 * MIB,
        ..job(load(Direction::Read, MIB, 1), 0)
    };
    // The fault is in the fourth block: reached with four blocks, but not with three and a partial one.
    let (wrapped, _) = run(&mut one(model.clone()), &[small(3 * MIB + MIB / 2)]);
    assert_eq!((wrapped[0].ended.clone(), wrapped[0].bytes_read), (Ended::Finished, 10 * MIB));
    let (reached, _) = run(&mut one(model), &[small(4 * MIB)]);
    assert!(matches!(reached[0].ended, Ended::Failed { offset, .. } if offset == 3 * MIB));
}

#[test]
fn stops_at_a_window() {
    for depth in [1, 8] {
        let mut seen = 0;
        let jobs = [job(load(Direction::Write, 65_536, depth), 100 * MIB)];
        let outcomes = one(drive()).run(&jobs, &Cancel::default(), &mut |_, _| {
            seen += 1;
            if seen == 5 { Flow::Stop } else { Flow::Continue }
        });
        let o = &outcomes.expect("runs")[0];
        assert_eq!((o.ended.clone(), seen), (Ended::Stopped, 5));
        assert_eq!(
            o.bytes_written,
            5 * MIB + u64::from(depth - 1) * 65_536,
            "what was in flight still counts"
        );
    }
}

#[test]
fn cancels() {
    let cancel = Cancel::default();
    let jobs = [
        job(load(Direction::Write, 4096, 4), GIB),
        Job { bytes: MIB, ..job(load(Direction::Read, 4096, 1), 0) },
    ];
    let mut seen = 0;
    let outcomes = one(drive()).run(&jobs, &cancel, &mut |_, w| {
        seen += w.bytes;
        if seen >= 9 * MIB {
            cancel.set();
        }
        Flow::Continue
    });
    let outcomes = outcomes.expect("runs");
    assert_eq!((outcomes[0].ended.clone(), outcomes[1].ended.clone()), (Ended::Cancelled, Ended::Finished));
    assert!(outcomes[0].bytes_written >= 8 * MIB && outcomes[0].bytes_written <= 9 * MIB + 4096);
}

#[test]
fn an_error_ends_only_its_job() {
    let model = Model {
        faults: Faults {
            unreadable: vec![Extent { offset: 5 * MIB + 512, length: 512 }],
            corrupt: vec![Extent { offset: 2 * MIB, length: 1 }],
            ..Faults::default()
        },
        ..Model::flat(10 * MIB, 20e6)
    };
    let failed = |load: Load| {
        let other = Job { target: 1, ..job(load.clone(), 20 * MIB) };
        let board = Board { drives: vec![model.clone(), drive()], ..Board::default() };
        let (outcomes, windows) = run(&mut Sim::new(&board).expect("sound"), &[job(load, 20 * MIB), other]);
        assert_eq!((outcomes[1].ended.clone(), outcomes[1].ops), (Ended::Finished, 5120));
        let errors: u64 = windows[0].iter().map(|w| w.errors).sum();
        let moved = outcomes[0].bytes_read + outcomes[0].bytes_written;
        assert_eq!((errors, windows[0].iter().map(|w| w.bytes).sum()), (1, moved));
        match outcomes[0].ended.clone() {
            Ended::Failed { what, offset, errno, .. } => (what, offset, errno, moved),
            other => panic!("{other:?}"),
        }
    };
    let said = |what: &str, at: u64, errno| (what.to_owned(), at, errno, at);
    assert_eq!(failed(load(Direction::Write, 4096, 1)), said("write", 10 * MIB, Some(28)));
    assert_eq!(failed(load(Direction::Read, 4096, 1)), said("read", 5 * MIB, Some(5)));
    let verified = Load { verify: true, ..load(Direction::Read, 4096, 1) };
    assert_eq!(failed(verified), said("verify", 2 * MIB, None));
}

#[test]
fn writes_beyond_a_false_capacity_are_lost() {
    let mut sim = one(Model { real_capacity: Some(4 * MIB), ..drive() });
    let verify = |direction| Load { verify: true, ..load(direction, 65_536, 1) };
    let (outcomes, _) = run(&mut sim, &[job(verify(Direction::Write), 8 * MIB)]);
    assert_eq!(outcomes[0].ended, Ended::Finished);
    let (outcomes, _) = run(&mut sim, &[job(verify(Direction::Read), 8 * MIB)]);
    assert!(matches!(outcomes[0].ended, Ended::Failed { offset, .. } if offset == 4 * MIB));
}

#[test]
fn a_failed_drive_stops_its_job() {
    let faults = Faults { dies_after: Some(3 * MIB), ..Faults::default() };
    let (outcomes, _) =
        run(&mut one(Model { faults, ..drive() }), &[job(load(Direction::Write, MIB, 1), 8 * MIB)]);
    assert!(matches!(outcomes[0].ended, Ended::Failed { errno: Some(5), .. }) && outcomes[0].ops == 3);
}

#[test]
fn a_flush_takes_time_only_after_writes_and_a_dead_drive_stays_dead() {
    let standby = Some(Standby { after_seconds: 10.0, wake_seconds: 3.0 });
    let faults = Faults { dies_after: Some(3 * MIB), ..Faults::default() };
    let mut drive = SimDrive::new(&Model { flush_seconds: 0.5, standby, faults, ..Model::flat(GIB, 1e6) }, 1);
    let op = |write, length| DriveOp { write, offset: 0, length };
    let flush = |drive: &mut SimDrive, at| {
        let done = drive.flush(at);
        (done.start_ns, (done.end_ns - done.start_ns) as f64 / 1e9, done.fault)
    };
    drive.service(0, op(false, MIB), None);
    let written = drive.service(0, op(true, MIB), None);
    assert_eq!(flush(&mut drive, 0), (written.end_ns, 0.5, None));
    assert_eq!(flush(&mut drive, 0).1, 0.0);
    // The flush without data to flush did not wake it.
    assert_eq!(flush(&mut drive, 20_000_000_000).1, 0.0);
    assert_eq!(drive.service(21_000_000_000, op(true, 512), None).cause, Cause::Wake);
    assert_eq!(flush(&mut drive, 60_000_000_000).1, 3.5);
    assert_eq!(drive.service(60_000_000_000, op(true, MIB), None).fault, Some(Fault::Medium));
    assert_eq!(drive.service(60_000_000_000, op(true, 512), None).fault, Some(Fault::Medium));
    assert_eq!(flush(&mut drive, 60_000_000_000).2, Some(Fault::Medium));
}

#[test]
fn impossible_models_are_refused() {
    let refused =
        |job: Job| one(drive()).run(&[job], &Cancel::default(), &mut |_, _| Flow::Continue).is_err();
    let good = job(load(Direction::Write, 4096, 1), MIB);
    assert!(!refused(good.clone()));
    assert!(refused(Job { target: 1, ..good.clone() }));
    assert!(refused(Job { extent: Extent { offset: 100, length: GIB }, ..good.clone() }));
    assert!(refused(Job { extent: Extent { offset: 0, length: 4095 }, ..good.clone() }));
    assert!(refused(Job { load: load(Direction::Write, 4096, 0), ..good }));
    for bad in [Model::default(), Model::flat(GIB, 0.0), Model::flat(GIB, f64::NAN)] {
        assert!(Sim::new(&Board { drives: vec![bad], ..Board::default() }).is_err());
    }
    let bus =
        |rate, drives| Board { drives: vec![drive()], buses: vec![SharedBus { rate, drives }], seed: 0 };
    assert!(Sim::new(&bus(1e6, vec![1])).is_err() && Sim::new(&bus(0.0, vec![0])).is_err());
    assert!(Sim::new(&bus(1e6, vec![0, 0])).is_err());
}

#[test]
fn drives_share_a_bus_and_its_ceiling() {
    let rates = |n: usize| {
        let board = Board {
            drives: vec![Model::flat(GIB, 20e6); 4],
            buses: vec![SharedBus { rate: 50e6, drives: vec![0, 1, 2, 3] }],
            seed: 1,
        };
        let jobs: Vec<Job> =
            (0..n).map(|target| Job { target, ..job(load(Direction::Read, 65_536, 4), 64 * MIB) }).collect();
        let (outcomes, _) = run(&mut Sim::new(&board).expect("sound"), &jobs);
        outcomes.iter().map(|o| o.bytes_read as f64 / o.seconds / 1e6).collect::<Vec<f64>>()
    };
    for (n, each) in [(1, 20.0), (2, 20.0), (4, 12.5)] {
        for rate in rates(n) {
            assert!((rate / each - 1.0).abs() < 0.02, "{n} drives: {rate} MB/s each, not {each}");
        }
    }
}

#[test]
fn a_write_cache_fills_and_drains() {
    let cache = Cache { bytes: 100.0 * MIB as f64, free: 1.0, rate: 80e6, drain: MIB as f64 };
    let mut sim = one(Model { cache: Some(cache), ..Model::flat(GIB, 20e6) });
    let mut seconds = |bytes| run(&mut sim, &[job(load(Direction::Write, MIB, 1), bytes)]).0[0].seconds;
    let expected = |fast: f64, slow: f64| (fast / 80.0 + slow / 20.0) * 1.048_576;
    assert!((seconds(150 * MIB) - expected(100.0, 50.0)).abs() < 1e-6);
    assert!((seconds(50 * MIB) - expected(0.0, 50.0)).abs() < 1e-6, "no rest, no room");
    sim.rest(30.0);
    let (outcomes, _) = run(&mut sim, &[job(load(Direction::Write, MIB, 1), 50 * MIB)]);
    assert!((outcomes[0].seconds - expected(30.0, 20.0)).abs() < 1e-6);
}

#[test]
fn stalls_noise_and_regimes_have_their_configured_means() {
    let stalls = |burst| Stalls {
        every: 64.0 * MIB as f64,
        every_variation: 0.8,
        seconds: 0.44,
        seconds_variation: 0.1,
        burst,
        ..Stalls::default()
    };
    let noise = Noise { variation: 0.2, memory: 0.6, run: 0.0 };
    let flat = Model { noise, ..Model::flat(GIB, 20.0 * MIB as f64) };
    let burst = Some(Burst { size: 4.0, gap: 4.0 * MIB as f64 });
    let regimes = Some(Regimes { slow: 0.5, dwell: 64.0 * MIB as f64 });
    for (model, seconds_per_mib) in [
        (flat.clone(), 0.05),
        (Model { stalls: vec![stalls(None)], ..flat.clone() }, 0.05 + 0.44 / 64.0),
        (Model { stalls: vec![stalls(burst)], ..flat.clone() }, 0.05 + 4.0 * 0.44 / 64.0),
        (Model { regimes, ..flat }, 0.075),
    ] {
        let (outcomes, _) = run(&mut one(model.clone()), &[job(load(Direction::Write, MIB, 1), 64 * GIB)]);
        let seen = outcomes[0].seconds / 65_536.0;
        assert!((seen / seconds_per_mib - 1.0).abs() < 0.03, "{seen} s per MiB of {model:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_windows() {
    let model = Model {
        noise: Noise { variation: 0.03, memory: 0.6, run: 0.003 },
        stalls: vec![Stalls {
            every: 1e7,
            every_variation: 1.0,
            seconds: 0.4,
            seconds_variation: 0.1,
            ..Stalls::default()
        }],
        ..drive()
    };
    let windows = |seed| {
        let board = Board { drives: vec![model.clone()], seed, ..Board::default() };
        let random = Load { pattern: Pattern::Random, ..load(Direction::Write, 4096, 4) };
        run(&mut Sim::new(&board).expect("sound"), &[job(random, 64 * MIB)]).1
    };
    assert_eq!(windows(7), windows(7));
    assert_ne!(windows(7), windows(8));
    assert!(windows(7)[0].iter().any(|w| !w.slow.is_empty()), "stalls are among the slow operations");
}

#[test]
fn zones_slow_down_and_seeks_take_time() {
    let zones = vec![Zone { from: 0, rate: 200e6 }, Zone { from: 4 * GIB, rate: 100e6 }];
    let model = Model { read: zones.clone(), write: zones, seek_seconds: 0.02, ..Model::flat(8 * GIB, 1.0) };
    let at = |offset| Job {
        extent: Extent { offset, length: GIB },
        ..job(load(Direction::Read, MIB, 1), 32 * MIB)
    };
    let mut sim = one(model);
    let (outer, _) = run(&mut sim, &[at(0)]);
    let (inner, _) = run(&mut sim, &[at(6 * GIB)]);
    assert!((outer[0].seconds - 32.0 * MIB as f64 / 200e6).abs() < 1e-6);
    assert!((inner[0].seconds - 32.0 * MIB as f64 / 100e6 - 0.02).abs() < 1e-6);
}

#[test]
fn a_board_is_a_value() {
    let text = r#"{"drives":[{"capacity":1000,"read":[{"from":0,"rate":5.0}],"write":[{"from":0,"rate":5.0}]}],"seed":3}"#;
    let board: Board = serde_json::from_str(text).expect("reads");
    assert_eq!(board.drives, [Model::flat(1000, 5.0)]);
    let again = serde_json::to_string(&board).expect("writes");
    assert_eq!(serde_json::from_str::<Board>(&again).expect("reads"), board);
    assert!(serde_json::from_str::<Board>(r#"{"drivs":[]}"#).is_err());
}
