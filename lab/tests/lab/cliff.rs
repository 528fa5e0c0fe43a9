//! `drivebench run cliff` in a machine of the lab, compared with the drive's ledger.

use drivebench_lab::{
    ledger::{Entry, Kind},
    oracle,
};

use super::{estimate, findings, scenario, start};

/// The size of a cache that fills in seconds.
const CACHE: f64 = 64.0 * 1_048_576.0;

/// A speed between the two, bytes per second.
const MIDDLE: f64 = 14e6;

/// Bytes written until the cache was full for the first time. The cache drains slightly between operations, so the ledger's
/// causes include it to the end. Durations of operations show when it is full.
fn fast_region(entries: &[Entry]) -> f64 {
    let slow = |e: &Entry| e.length as f64 / ((e.end_ns - e.start_ns) as f64 / 1e9) < MIDDLE;
    let full = entries.windows(8).position(|part| part.iter().all(slow)).expect("a cache that was filled");
    bytes(&entries[..full])
}

/// Speeds before and after this many bytes, bytes per second.
fn speeds(entries: &[Entry], at: f64) -> (f64, f64) {
    let split = (1..entries.len()).find(|&n| bytes(&entries[..n]) >= at).expect("as many bytes");
    let seconds = |from: u64, to: u64| (to - from) as f64 / 1e9;
    let (before, after) = entries.split_at(split);
    let (first, middle, last) = (before[0].start_ns, after[0].start_ns, after[after.len() - 1].end_ns);
    (bytes(before) / seconds(first, middle), bytes(after) / seconds(middle, last))
}

fn bytes(entries: &[Entry]) -> f64 {
    entries.iter().map(|e| e.length as f64).sum()
}

#[test]
fn cache_size_both_speeds_and_recovery_match_the_ledger() {
    let mut scenario = scenario("cliff");
    let cache = scenario.drives[0].model.cache.as_mut().expect("a cache");
    cache.bytes = CACHE;
    // Slower ones take longer until that is known.
    scenario.drives[0].model.write[0].rate = 8e6;
    let machine = start(&scenario);
    // Fourteen seconds at 5 MB/s restore all of it.
    let found = findings(&machine, "cliff /mnt/a --pause 17s --max-bytes 1GiB");
    let named = |name: &str| estimate(&found, name).value;

    // The filesystem's own writes are small, and some fall into the pause; the load's writes are two long runs.
    let load = |e: &Entry| e.kind == Kind::Write && e.length >= 65_536;
    let writes: Vec<Entry> = machine.ledger(0).expect("a ledger").into_iter().filter(load).collect();
    let mut runs = oracle::runs(&writes, Kind::Write, 6.0);
    runs.sort_by_key(|run| std::cmp::Reverse(run.bytes));
    runs.truncate(2);
    runs.sort_by_key(|run| run.from_ns);
    let pieces: Vec<Vec<Entry>> =
        runs.iter().map(|run| oracle::within(&writes, run.from_ns, run.to_ns)).collect();
    let [first, again] = &pieces[..] else { panic!("one run of writes; found: {found:#?}") };
    let close = |name: &str, truth: f64, share: f64| {
        let ratio = named(name) / truth;
        eprintln!("{name}: {:.0}, the drive did {truth:.0}, ratio {ratio:.3}", named(name));
        assert!((ratio - 1.0).abs() < share, "{name}: {}, not {truth}", named(name));
    };
    close("fast region", fast_region(first), 0.10);
    let (before, after) = speeds(first, named("fast region"));
    close("write throughput before", before, 0.05);
    close("write throughput after", after, 0.05);
    close("fast region after the pause", fast_region(again), 0.10);
    let left = machine.ask(&["ls", "-A", "/mnt/a"]).expect("lists");
    assert_eq!(left.trim(), "lost+found");
}
