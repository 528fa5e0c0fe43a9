//! The conformance suite of engines with real I/O. Each test runs on each engine.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use drivebench::{
    engine::{Cancel, Ended, Engine, EngineError, FileTarget, Flow, Job, Outcome, open},
    units::{Caching, Content, Direction, Extent, Load, MIB, Pattern, Window},
};

use crate::support::faultfs::FaultFs;

const ENGINES: [&str; 3] = ["psync", "uring", "fio"];
/// Engines with windows of the requested size, which also stop after any window.
const OWN: [&str; 2] = ["psync", "uring"];

fn load(direction: Direction, block: u64, caching: Caching, depth: u32) -> Load {
    let (pattern, content) = (Pattern::Sequential, Content::Random);
    Load { depth, content, ..Load::new(direction, pattern, block, caching, 7) }
}

fn job(load: Load, extent: Extent, bytes: u64) -> Job {
    Job { target: 0, load, extent, begin: 0, bytes, window: MIB }
}

fn extent(offset: u64, length: u64) -> Extent {
    Extent { offset, length }
}

/// A file without a name in the temporary directory of the build.
fn scratch() -> Arc<File> {
    Arc::new(tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch file"))
}

/// A file on the filesystem with faults.
fn faulty(fs: &FaultFs, size: u64) -> Arc<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(fs.file("scratch"));
    let file = file.expect("a scratch file");
    file.set_len(size).expect("resizes");
    Arc::new(file)
}

fn engine(name: &str, files: &[Arc<File>]) -> Box<dyn Engine> {
    let targets = files.iter().map(|file| FileTarget::new(file.clone(), "scratch")).collect();
    let load = load(Direction::Read, 4096, Caching::Buffered, 1);
    open(Some(name), &load, targets).expect("all engines can be used where tests run; fio: apt install fio")
}

fn run(engine: &mut dyn Engine, jobs: &[Job]) -> (Vec<Outcome>, Vec<Vec<Window>>) {
    let mut windows = vec![Vec::new(); jobs.len()];
    let outcomes = engine
        .run(jobs, &Cancel::default(), &mut |job, window| {
            windows[job].push(window.clone());
            Flow::Continue
        })
        .expect("runs");
    (outcomes, windows)
}

/// Runs one job to its end and checks its outcome and windows.
fn finish(name: &str, engine: &mut dyn Engine, job: &Job) -> (Outcome, Vec<Window>) {
    let (mut outcomes, mut windows) = run(engine, std::slice::from_ref(job));
    let (outcome, windows) = (outcomes.remove(0), windows.remove(0));
    let case = format!("{name}, {}", job.load.short_name());
    let ops = job.bytes.div_ceil(job.load.block);
    assert_eq!(outcome.ended, Ended::Finished, "{case}");
    assert_eq!(outcome.ops, ops, "{case}");
    assert_eq!(outcome.bytes_read + outcome.bytes_written, ops * job.load.block, "{case}");
    if !job.load.reads() {
        assert_eq!(outcome.bytes_read, 0, "{case}");
    }
    if !job.load.writes() {
        assert_eq!(outcome.bytes_written, 0, "{case}");
    }
    adds_up(&case, &outcome, &windows);
    (outcome, windows)
}

fn adds_up(case: &str, outcome: &Outcome, windows: &[Window]) {
    assert_eq!(windows.iter().map(|w| w.ops).sum::<u64>(), outcome.ops, "{case}");
    let bytes: u64 = windows.iter().map(|w| w.bytes).sum();
    assert_eq!(bytes, outcome.bytes_read + outcome.bytes_written, "{case}");
    assert_eq!(windows.iter().map(|w| w.latency.count()).sum::<u64>(), outcome.ops, "{case}");
    assert!(
        windows.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns),
        "{case}: windows follow each other"
    );
    let seconds: f64 = windows.iter().map(Window::seconds).sum();
    assert!(
        (seconds - outcome.seconds).abs() < 1e-6,
        "{case}: {seconds} s in windows of {} s",
        outcome.seconds
    );
    assert!(outcome.fsync_seconds <= outcome.seconds, "{case}");
}

/// The bytes of a scratch file, read through a new open without the engine's flags.
fn stored(file: &File, offset: u64, len: usize) -> Vec<u8> {
    use std::os::fd::AsRawFd;
    let again = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("opens again");
    let mut bytes = vec![0; len];
    again.read_exact_at(&mut bytes, offset).expect("reads");
    bytes
}

fn compressed(bytes: &[u8]) -> usize {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("compresses").len()
}

fn failed(outcome: &Outcome) -> (&str, u64, Option<i32>, &str) {
    match &outcome.ended {
        Ended::Failed { what, offset, errno, message } => (what, *offset, *errno, message),
        other => panic!("it ended with {other:?}"),
    }
}

#[test]
fn moves_exactly_the_requested_bytes_in_all_sizes_and_depths() {
    for name in ENGINES {
        let file = scratch();
        let mut engine = engine(name, &[file]);
        // Reads need the whole file.
        let fill = load(Direction::Write, 1 << 20, Caching::Direct, 1);
        finish(name, engine.as_mut(), &job(fill, extent(1 << 20, 32 << 20), 32 << 20));
        for (block, caching, depth, bytes) in [
            (64, Caching::Buffered, 1, 64 * 1001),
            (512, Caching::Direct, 1, 100_000),
            (1000, Caching::Buffered, 4, 1 << 20),
            (4096, Caching::Direct, 256, 8 << 20),
            (4096, Caching::BufferedFsync, 2, (4 << 20) + 1),
            (128 << 10, Caching::Direct, 64, 24 << 20),
            (1 << 20, Caching::Direct, 1, 8 << 20),
            (16 << 20, Caching::Direct, 4, 64 << 20),
        ] {
            let read = Direction::Mixed { read_percent: 30 };
            for direction in [Direction::Write, Direction::Read, read] {
                let job = job(load(direction, block, caching, depth), extent(1 << 20, 32 << 20), bytes);
                finish(name, engine.as_mut(), &job);
            }
        }
    }
}

#[test]
fn random_loads_stay_in_their_extent() {
    for name in ENGINES {
        let file = scratch();
        file.set_len(4 << 20).expect("resizes");
        let mut load = load(Direction::Write, 4096, Caching::Direct, 8);
        load.pattern = Pattern::Random;
        finish(
            name,
            engine(name, std::slice::from_ref(&file)).as_mut(),
            &job(load, extent(1 << 20, 1 << 20), 8 << 20),
        );
        let bytes = stored(&file, 0, 4 << 20);
        let zero = |range: std::ops::Range<usize>| bytes[range].iter().all(|&byte| byte == 0);
        assert!(zero(0..1 << 20) && zero(2 << 20..4 << 20), "{name} wrote outside");
        assert!(
            bytes[1 << 20..2 << 20].chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)),
            "{name}"
        );
    }
}

#[test]
fn written_data_is_on_the_disk_and_is_incompressible() {
    for name in OWN {
        for (block, caching, depth) in [
            (64, Caching::Buffered, 1),
            (4096, Caching::Direct, 1),
            (4096, Caching::Direct, 32),
            (96 << 10, Caching::BufferedFsync, 3),
            (1 << 20, Caching::Direct, 4),
        ] {
            let file = scratch();
            let load = load(Direction::Write, block, caching, depth);
            let total = (6 << 20) / block * block;
            finish(
                name,
                engine(name, std::slice::from_ref(&file)).as_mut(),
                &job(load, extent(0, 8 << 20), total),
            );
            assert_eq!(file.metadata().expect("metadata").len(), total);
            let bytes = stored(&file, 0, total as usize);
            assert!(
                compressed(&bytes) >= bytes.len(),
                "{name} wrote compressible data, in blocks of {block} B"
            );
            // Data may repeat after 256 KiB at the earliest, which is more than the window of compressors.
            for piece in bytes.chunks(256 << 10) {
                let mut heads: Vec<&[u8]> = piece.chunks_exact(512).collect();
                heads.sort_unstable();
                assert!(
                    heads.windows(2).all(|pair| pair[0] != pair[1]),
                    "{name} repeats its data, in blocks of {block} B"
                );
            }
        }
    }
}

#[test]
fn zeros_are_written_if_requested() {
    for name in ENGINES {
        let file = scratch();
        file.write_all_at(&vec![1; 1 << 20], 0).expect("writes");
        let mut load = load(Direction::Write, 4096, Caching::Buffered, 1);
        load.content = Content::Zeros;
        finish(
            name,
            engine(name, std::slice::from_ref(&file)).as_mut(),
            &job(load, extent(0, 1 << 20), 1 << 20),
        );
        assert!(stored(&file, 0, 1 << 20).iter().all(|&byte| byte == 0), "{name}");
    }
}

#[test]
fn no_target_waits_for_another() {
    for name in ENGINES {
        let fs = [FaultFs::mount(), FaultFs::mount()];
        let files = [faulty(&fs[0], 4 << 20), faulty(&fs[1], 4 << 20)];
        let write = load(Direction::Write, 64 << 10, Caching::Direct, 2);
        let first = job(write, extent(0, 4 << 20), 1 << 40);
        let jobs = [first.clone(), Job { target: 1, ..first }];
        let cancel = Cancel::default();
        thread::scope(|scope| {
            let running = scope.spawn(|| {
                engine(name, &files).run(&jobs, &cancel, &mut |job, _| {
                    fs[job].set(|faults| faults.hold = true);
                    Flow::Continue
                })
            });
            // Each target hangs after its first window: the other one got so far meanwhile.
            fs.iter().for_each(|fs| fs.wait_until_held(1));
            cancel.set();
            fs.iter().for_each(FaultFs::release);
            let outcomes = running.join().expect("returns").expect("runs");
            assert!(outcomes.iter().all(|o| o.ended == Ended::Cancelled && o.bytes_written > 0), "{name}");
        });
    }
}

#[test]
fn stops_at_a_window() {
    for name in OWN {
        for depth in [1, 16] {
            let files = [scratch(), scratch()];
            let mut engine = engine(name, &files);
            let write = load(Direction::Write, 4096, Caching::Direct, depth);
            let first = job(write, extent(0, 1 << 30), 1 << 30);
            let second = Job { target: 1, bytes: 6 << 20, extent: extent(0, 64 << 20), ..first.clone() };
            let mut shown = [0, 0];
            let outcomes = engine
                .run(&[first, second], &Cancel::default(), &mut |job, _| {
                    shown[job] += 1;
                    if (job, shown[0]) == (0, 3) { Flow::Stop } else { Flow::Continue }
                })
                .expect("runs");
            assert_eq!((&outcomes[0].ended, shown[0]), (&Ended::Stopped, 3), "{name}");
            assert!((3 << 20..1 << 30).contains(&outcomes[0].bytes_written), "{name}: {outcomes:?}");
            assert_eq!(outcomes[0].bytes_written, outcomes[0].ops * 4096);
            assert_eq!(
                (&outcomes[1].ended, outcomes[1].bytes_written),
                (&Ended::Finished, 6 << 20),
                "{name}"
            );
        }
    }
}

#[test]
fn fio_stops_too() {
    let mut engine = engine("fio", &[scratch()]);
    let job = job(load(Direction::Write, 4096, Caching::Direct, 1), extent(0, 64 << 20), 1 << 40);
    let mut shown = 0;
    let outcomes = engine.run(&[job], &Cancel::default(), &mut |_, _| {
        shown += 1;
        Flow::Stop
    });
    let outcome = outcomes.expect("runs").remove(0);
    assert_eq!((outcome.ended, shown), (Ended::Stopped, 1));
    assert_eq!((outcome.bytes_read, outcome.bytes_written), (0, outcome.ops * 4096));
}

#[test]
fn cancelling_returns_while_the_drive_hangs() {
    for name in ENGINES {
        for (depth, caching) in [(1, Caching::Direct), (4, Caching::Direct), (2, Caching::Buffered)] {
            for direction in [Direction::Read, Direction::Write] {
                let fs = FaultFs::mount();
                let file = faulty(&fs, 4 << 20);
                // In the load itself, not in the probe: after its first window.
                let job = job(load(direction, 64 << 10, caching, depth), extent(0, 4 << 20), 1 << 40);
                let cancel = Cancel::default();
                let (ended, end) = mpsc::channel();
                let watched = cancel.clone();
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let outcomes = engine(name, &[file]).run(&[job], &watched, &mut |_, _| {
                            fs.set(|faults| faults.hold = true);
                            Flow::Continue
                        });
                        ended.send(outcomes).expect("received");
                    });
                    // Buffered reads come from memory, so they don't hang; only cancellation is tested.
                    if direction == Direction::Write || caching == Caching::Direct {
                        fs.wait_until_held(1);
                    }
                    cancel.set();
                    // It must return while the drive still hangs. The limit is generous; only a hang exceeds it.
                    let outcomes = end.recv_timeout(Duration::from_secs(20));
                    let held = fs.held();
                    fs.release();
                    let outcome =
                        outcomes.unwrap_or_else(|_| panic!("{name} hangs")).expect("runs").remove(0);
                    assert_eq!(outcome.ended, Ended::Cancelled, "{name}");
                    if name != "fio" && caching == Caching::Direct {
                        assert!(held > 0, "{name}: nothing was still hanging");
                        assert!(
                            outcome.ops > 0
                                && outcome.ops * (64 << 10) == outcome.bytes_read + outcome.bytes_written
                        );
                    }
                });
            }
        }
    }
}

#[test]
fn cancelling_returns_while_the_first_direct_transfer_hangs() {
    for name in ENGINES {
        let fs = FaultFs::mount();
        let file = faulty(&fs, 1 << 20);
        fs.set(|faults| faults.hold = true);
        let cancel = Cancel::default();
        let job = job(load(Direction::Read, 4096, Caching::Direct, 1), extent(0, 1 << 20), 1 << 20);
        thread::scope(|scope| {
            let running =
                scope.spawn(|| engine(name, &[file]).run(&[job], &cancel, &mut |_, _| Flow::Continue));
            fs.wait_until_held(1);
            cancel.set();
            let outcome = running.join().expect("returns").expect("runs").remove(0);
            assert_eq!((outcome.ended, outcome.ops, fs.held()), (Ended::Cancelled, 0, 1), "{name}");
        });
    }
}

#[test]
fn short_transfers_are_continued() {
    for name in OWN {
        for depth in [1, 8] {
            let fs = FaultFs::mount();
            fs.set(|faults| (faults.short, faults.uncached) = (Some(512 * 7), name == "psync"));
            let file = faulty(&fs, 4 << 20);
            let mut engine = engine(name, &[file]);
            for verify in [false, true] {
                for direction in [Direction::Write, Direction::Read] {
                    let load = Load { verify, ..load(direction, 16 << 10, Caching::Direct, depth) };
                    let (outcome, _) =
                        finish(name, engine.as_mut(), &job(load, extent(4096, 2 << 20), 2 << 20));
                    assert_eq!(outcome.ops, 128);
                }
            }
        }
    }
}

#[test]
fn an_io_error_ends_the_job_with_its_offset() {
    for name in ENGINES {
        for (direction, what) in [(Direction::Read, "read"), (Direction::Write, "write")] {
            for depth in [1, 8] {
                let fs = FaultFs::mount();
                let file = faulty(&fs, 8 << 20);
                let bad = (5 << 20) + 8192..(5 << 20) + 8193;
                fs.set(|faults| (faults.eio_reads, faults.eio_writes) = (Some(bad.clone()), Some(bad)));
                let job = job(load(direction, 4096, Caching::Direct, depth), extent(0, 8 << 20), 8 << 20);
                let (outcomes, windows) = run(engine(name, &[file]).as_mut(), &[job]);
                let (operation, offset, errno, message) = failed(&outcomes[0]);
                assert_eq!((operation, offset, errno), (what, (5 << 20) + 8192, Some(5)), "{name}");
                assert_eq!(message, "Input/output error", "{name}");
                // All earlier operations completed; others in flight may have.
                let (before, ops) = ((5 << 8) + 2, outcomes[0].ops);
                assert!(
                    ops == before || depth > 1 && ops > before - 8 && ops < 8 << 8,
                    "{name}: {outcomes:?}"
                );
                assert_eq!(
                    outcomes[0].bytes_read + outcomes[0].bytes_written,
                    outcomes[0].ops * 4096,
                    "{name}"
                );
                assert_eq!(windows[0].iter().map(|w| w.ops).sum::<u64>(), outcomes[0].ops, "{name}");
                if name != "fio" {
                    assert_eq!(windows[0].iter().map(|w| w.errors).sum::<u64>(), 1, "{name}");
                }
            }
        }
    }
}

#[test]
fn a_full_filesystem_ends_the_job() {
    for name in ENGINES {
        for caching in [Caching::Direct, Caching::Buffered] {
            let fs = FaultFs::mount();
            let file = faulty(&fs, 0);
            fs.set(|faults| faults.space = Some((3 << 20) + 4096));
            let job = job(load(Direction::Write, 64 << 10, caching, 1), extent(0, 8 << 20), 8 << 20);
            let (outcomes, _) = run(engine(name, &[file]).as_mut(), &[job]);
            let (what, offset, errno, message) = failed(&outcomes[0]);
            // 4 KiB of the block still fitted, so the error is after them.
            assert_eq!((what, errno), ("write", Some(28)), "{name}");
            assert!((3 << 20..(3 << 20) + (64 << 10)).contains(&offset), "{name} failed at {offset}");
            assert_eq!(message, "No space left on device", "{name}");
            assert_eq!(outcomes[0].bytes_written / (64 << 10), 48, "{name}");
        }
    }
}

#[test]
fn a_failing_fsync_ends_the_job() {
    for name in OWN {
        let fs = FaultFs::mount();
        let file = faulty(&fs, 0);
        fs.set(|faults| faults.eio_fsync = true);
        let job =
            job(load(Direction::Write, 64 << 10, Caching::BufferedFsync, 1), extent(0, 2 << 20), 2 << 20);
        let (outcomes, windows) = run(engine(name, &[file]).as_mut(), &[job]);
        assert_eq!(failed(&outcomes[0]), ("fsync", 0, Some(5), "Input/output error"), "{name}");
        assert_eq!(outcomes[0].bytes_written, 2 << 20);
        adds_up(name, &outcomes[0], &windows[0]);
    }
}

#[test]
fn a_target_that_ends_early_is_an_error() {
    let file = scratch();
    file.set_len((1 << 20) + 100).expect("resizes");
    let job = job(load(Direction::Read, 4096, Caching::Buffered, 1), extent(0, 2 << 20), 2 << 20);
    for name in OWN {
        let (outcomes, _) =
            run(engine(name, std::slice::from_ref(&file)).as_mut(), std::slice::from_ref(&job));
        assert_eq!(failed(&outcomes[0]), ("read", 1 << 20, None, "the target ended early"), "{name}");
        assert_eq!(outcomes[0].ops, 256, "{name}");
    }
    // fio would extend the file itself, so it is left out.
    let refused = engine("fio", &[file]).run(&[job], &Cancel::default(), &mut |_, _| Flow::Continue);
    assert!(refused.expect_err("refused").to_string().contains("ends early"));
}

#[test]
fn direct_io_that_is_refused_is_named_before_anything_moves() {
    for name in ENGINES {
        let fs = FaultFs::mount();
        let file = faulty(&fs, 0);
        fs.set(|faults| faults.no_direct = true);
        let mut engine = engine(name, std::slice::from_ref(&file));
        for direction in [Direction::Read, Direction::Write] {
            file.set_len(if direction == Direction::Read { 1 << 20 } else { 0 }).expect("resizes");
            let job = job(load(direction, 4096, Caching::Direct, 1), extent(0, 1 << 20), 1 << 20);
            let refused =
                engine.run(std::slice::from_ref(&job), &Cancel::default(), &mut |_, _| Flow::Continue);
            assert!(matches!(refused, Err(EngineError::NoDirect(_))), "{name}: {refused:?}");
            let buffered = Load { caching: Caching::Buffered, ..job.load.clone() };
            finish(name, engine.as_mut(), &Job { load: buffered, ..job });
        }
    }
}

#[test]
fn misalignment_is_an_error_with_the_required_unit() {
    for name in ENGINES {
        let mut engine = engine(name, &[scratch()]);
        for (block, offset, expected) in [(1000, 0, "direct blocks"), (4096, 1000, "direct offsets")] {
            let job =
                job(load(Direction::Write, block, Caching::Direct, 1), extent(offset, 1 << 20), 1 << 20);
            let refused = engine.run(&[job], &Cancel::default(), &mut |_, _| Flow::Continue);
            let error = refused.expect_err("refused").to_string();
            assert!(error.contains(expected) && error.contains("multiples of"), "{name}: {error}");
        }
        let mut nowhere = job(load(Direction::Write, 4096, Caching::Direct, 1), extent(0, 1 << 20), 4096);
        nowhere.target = 1;
        assert!(engine.run(&[nowhere], &Cancel::default(), &mut |_, _| Flow::Continue).is_err(), "{name}");
    }
}

/// A drive that acknowledges all writes, and does something else with one of them.
#[test]
fn verify_finds_what_a_drive_did_instead() {
    const BLOCK: u64 = 4096;
    const AT: u64 = 5 * BLOCK;
    for (name, depth) in [("psync", 1), ("psync", 4), ("uring", 8)] {
        let file = scratch();
        let mut engine = engine(name, std::slice::from_ref(&file));
        let load = |direction| Load { verify: true, ..load(direction, BLOCK, Caching::Direct, depth) };
        let write = job(load(Direction::Write), extent(0, 1 << 20), 1 << 20);
        let read = Job { load: load(Direction::Read), ..write.clone() };
        finish(name, engine.as_mut(), &write);
        let earlier = stored(&file, AT, BLOCK as usize);
        finish(name, engine.as_mut(), &write);
        finish(name, engine.as_mut(), &read);
        let whole = stored(&file, AT, BLOCK as usize);
        let mut flipped = whole.clone();
        flipped[4000] ^= 1;
        for (lie, block, why) in [
            ("lost", vec![0; BLOCK as usize], "all zeros"),
            ("lost over an earlier one, or stale", earlier.clone(), "an earlier write"),
            ("misplaced", stored(&file, AT + BLOCK, BLOCK as usize), "belongs to offset 24576"),
            ("torn", [&whole[..2048], &earlier[2048..]].concat(), "only a part was written"),
            ("flipped", flipped, "its bytes changed"),
        ] {
            let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&*file));
            let again = OpenOptions::new().write(true).open(again).expect("opens again");
            again.write_all_at(&block, AT).expect("writes");
            again.sync_all().expect("syncs");
            let (outcomes, _) = run(engine.as_mut(), std::slice::from_ref(&read));
            let (what, offset, errno, said) = failed(&outcomes[0]);
            assert_eq!((what, offset, errno), ("verify", AT, None), "{name}, {lie}");
            assert!(said.contains(why), "{name}, {lie}: {said}");
            again.write_all_at(&whole, AT).expect("writes");
            again.sync_all().expect("syncs");
        }
        finish(name, engine.as_mut(), &read);
    }
}

#[test]
fn verify_finds_one_flipped_byte() {
    for name in ENGINES {
        for (block, caching, depth) in [
            (64, Caching::Buffered, 1),
            (4096, Caching::Direct, 1),
            (4096, Caching::Direct, 16),
            (1 << 20, Caching::Direct, 2),
        ] {
            // fio needs space for its own stamp.
            let block = if name == "fio" { block.max(512) } else { block };
            let file = scratch();
            let mut engine = engine(name, std::slice::from_ref(&file));
            let load = |direction| Load { verify: true, ..load(direction, block, caching, depth) };
            let write = job(load(Direction::Write), extent(0, 2 << 20), 2 << 20);
            let read = Job { load: load(Direction::Read), ..write.clone() };
            finish(name, engine.as_mut(), &write);
            finish(name, engine.as_mut(), &read);

            let at = (1 << 20) + 63;
            let byte = stored(&file, at, 1)[0];
            let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&*file));
            let again = OpenOptions::new().write(true).open(again).expect("opens again");
            again.write_all_at(&[byte ^ 1], at).expect("writes");
            again.sync_all().expect("syncs");
            let (outcomes, _) = run(engine.as_mut(), &[read]);
            let (what, offset, errno, _) = failed(&outcomes[0]);
            assert_eq!((what, offset, errno), ("verify", at / block * block, None), "{name}, {block} B");
        }
    }
}

#[test]
fn mixed_loads_record_reads_separately() {
    for name in ENGINES {
        let file = scratch();
        let mut engine = engine(name, &[file]);
        let fill = load(Direction::Write, 1 << 20, Caching::Direct, 1);
        finish(name, engine.as_mut(), &job(fill, extent(0, 4 << 20), 4 << 20));
        let mut load = load(Direction::Mixed { read_percent: 70 }, 4096, Caching::Direct, 8);
        load.pattern = Pattern::Random;
        let (outcome, windows) = finish(name, engine.as_mut(), &job(load, extent(0, 4 << 20), 16 << 20));
        let share = outcome.bytes_read as f64 / (16 << 20) as f64;
        assert!((0.65..0.75).contains(&share), "{name} read {share}");
        let reads: u64 = windows.iter().flat_map(|w| &w.reads).map(|h| h.count()).sum();
        assert_eq!(reads * 4096, outcome.bytes_read, "{name}");
    }
}

#[test]
fn a_missing_fio_names_its_package_and_unknown_engines_are_named() {
    let load = load(Direction::Read, 4096, Caching::Buffered, 1);
    let error = open(Some("dd"), &load, Vec::new()).err().expect("refused").to_string();
    assert_eq!(error, "no engine is named 'dd'; the engines are psync, uring and fio");
    let choice = |depth| open(None, &Load { depth, ..load.clone() }, Vec::new()).expect("opens").info().name;
    assert_eq!((choice(1), choice(2)), ("psync".to_owned(), "uring".to_owned()));
    assert!(Path::new("/dev/fuse").exists(), "these tests need FUSE: apt install fuse3");
}

/// The watcher is busy, the queue of batches is full, and then the load is cancelled.
#[test]
fn cancelling_behind_a_slow_watcher_ends() {
    for name in OWN {
        let (file, (done, ended)) = (scratch(), mpsc::channel());
        let written = file.clone();
        thread::spawn(move || {
            let cancel = Cancel::default();
            let job =
                job(load(Direction::Write, 4096, Caching::Buffered, 1), extent(0, 512 * MIB), 512 * MIB);
            let outcomes = engine(name, std::slice::from_ref(&file)).run(&[job], &cancel, &mut |_, _| {
                // More than the queue holds, so the load waits for this watcher now.
                while written.metadata().expect("a file").len() < 65 * MIB {
                    thread::yield_now();
                }
                cancel.set();
                Flow::Continue
            });
            done.send(outcomes.expect("runs")).expect("somebody waits");
        });
        let outcomes = ended.recv_timeout(Duration::from_secs(30)).expect("it ends");
        assert_eq!(outcomes[0].ended, Ended::Cancelled, "{name}");
    }
}
