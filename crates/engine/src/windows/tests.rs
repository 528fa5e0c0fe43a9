use super::*;
use crate::testing::job;

/// Passes operations with these latencies to a recorder and its collector, one after the other.
fn feed(job: &Job, latencies: impl IntoIterator<Item = u64>) -> (Vec<Window>, Outcome) {
    let (mut recorder, mut collector) = (Recorder::new(job), Collector::new(job));
    let mut windows = Vec::new();
    let mut now = 1000;
    recorder.begin(now);
    for (latency, number) in latencies.into_iter().zip(0u64..) {
        now += latency;
        let read = job.load.reads() && number % 2 == 0;
        windows.extend(recorder.done(now, latency, job.load.block, read).and_then(|b| collector.take(b)));
    }
    windows.extend(recorder.finish(None).and_then(|b| collector.take(b)));
    (windows, recorder.moved())
}

#[test]
fn windows_follow_each_other_and_sum_to_the_totals() {
    let job = job(64, 64 * 100_000);
    let (windows, totals) = feed(&job, (0..100_000).map(|i| 100 + i % 900));
    assert_eq!(windows.iter().map(|w| w.ops).sum::<u64>(), totals.ops);
    assert_eq!(windows.iter().map(|w| w.bytes).sum::<u64>(), totals.bytes_written);
    assert_eq!(windows.iter().map(|w| w.latency.count()).sum::<u64>(), totals.ops);
    assert_eq!(windows.iter().map(|w| w.to_ns - w.from_ns).sum::<u64>() as f64 / 1e9, totals.seconds);
    assert!(windows.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
    assert_eq!(windows[0].from_ns, 1000);
    assert!(windows.iter().all(|w| w.reads.is_none() && w.slow.len() <= 64));
}

#[test]
fn windows_of_fast_drives_grow_once() {
    for (latency, growth) in [(10_000, 2), (2_000, 8), (250, 64), (100, 256), (20_000, 1), (500_000, 1)] {
        let job = Job { window: 256 * 4096, ..job(4096, 4096 * 256 * 400) };
        let (windows, _) = feed(&job, (0..256 * 400).map(|_| latency));
        let sizes: Vec<u64> = windows.iter().map(|w| w.bytes / job.window).collect();
        assert!(sizes[..64].iter().all(|&n| n == 1));
        assert!(sizes[64..sizes.len() - 1].iter().all(|&n| n == growth), "{latency} ns: {sizes:?}");
    }
}

#[test]
fn operations_that_complete_in_batches_do_not_make_windows_large() {
    // 32 at a time every 20 ms, as random reads of a stick at depth 32.
    let job = Job { window: 1, ..job(4096, 4096 * 2000) };
    let (windows, _) = feed(&job, (0..2000).map(|i| if i % 32 == 0 { 20_000_000 } else { 100 }));
    assert!(windows[100].ops <= 32, "{}", windows[100].ops);
}

#[test]
fn one_stall_in_the_pilot_does_not_keep_windows_small() {
    let job = Job { window: 256 * 4096, ..job(4096, 4096 * 256 * 200) };
    let (windows, _) = feed(&job, (0..256 * 200).map(|i| if i == 5000 { 2_600_000_000 } else { 2_000 }));
    assert_eq!(windows[70].bytes, 8 * job.window);
}

#[test]
fn slow_operations_are_those_beyond_all_before() {
    let mut job = job(4096, 4096 * 20_000);
    job.window = 256 * 4096;
    let stalls = [700, 9_000, 9_001, 15_000];
    let (windows, _) = feed(
        &job,
        (0..20_000).map(|i| if stalls.contains(&i) { 442_000_000 } else { 5_000_000 + i * 7919 % 1000 }),
    );
    let slow: Vec<SlowOp> = windows.iter().skip(2).flat_map(|w| w.slow.clone()).collect();
    for number in stalls {
        assert!(slow.contains(&SlowOp(number, 442_000_000)), "operation {number} is missing from {slow:?}");
    }
    assert!(slow.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order");
    assert_eq!(windows[0].slow.len(), 3, "the slowest 1 % of 256 operations");
    let plain: usize = windows.iter().map(|w| w.slow.len()).sum();
    assert!(plain < 20_000 / 50, "{plain} operations were called slow");
}

#[test]
fn mixed_loads_record_reads_separately() {
    let mut job = job(4096, 4096 * 1000);
    job.load.direction = Direction::Mixed { read_percent: 50 };
    let (windows, totals) = feed(&job, (0..1000).map(|i| if i % 2 == 0 { 1_000 } else { 9_000 }));
    let reads: u64 = windows.iter().map(|w| w.reads.as_ref().map_or(0, Histogram::count)).sum();
    assert_eq!((reads, totals.bytes_read, totals.bytes_written), (500, 500 * 4096, 500 * 4096));
    assert!(windows.iter().flat_map(|w| &w.reads).all(|h| h.max() == Some(1_000)));
}

#[test]
fn a_large_window_passes_in_pieces() {
    let mut job = job(64, 64 * 10_000);
    job.window = u64::MAX;
    let mut recorder = Recorder::new(&job);
    recorder.begin(0);
    let batches: Vec<Batch> = (0..10_000).filter_map(|i| recorder.done(i * 10, 10, 64, false)).collect();
    assert_eq!(batches.len(), 10_000 / BATCH);
    assert!(batches.iter().all(|b| b.closes.is_none() && b.latencies.len() == BATCH));
}

#[test]
fn an_fsync_belongs_to_the_last_window() {
    let job = Job { window: 4096, ..job(4096, 8192) };
    let (mut recorder, mut collector) = (Recorder::new(&job), Collector::new(&job));
    recorder.begin(0);
    let first = recorder.done(100, 100, 4096, false).and_then(|b| collector.take(b)).expect("a window");
    assert!(recorder.done(200, 100, 4096, false).and_then(|b| collector.take(b)).is_none());
    let last = recorder.finish(Some(1_000_000)).and_then(|b| collector.take(b)).expect("a window");
    assert_eq!((first.to_ns, last.from_ns, last.to_ns), (100, 100, 1_000_000));
    assert_eq!(recorder.moved().seconds, 1e-3);
}
