//! `drivebench run cliff` in a machine of the lab, compared with the drive's ledger.

use drivebench_lab::{
    ledger::{Entry, Kind},
    oracle,
};

use super::{estimate, findings, scenario, start, turn};

/// The size of a cache that fills in seconds.
const CACHE: f64 = 96.0 * 1_048_576.0;

/// A speed between the two, bytes per second.
const MIDDLE: f64 = 22e6;

/// Bytes written until the cache was full for the first time, and both speeds, bytes per second. The cache drains slightly
/// between operations, so the ledger's causes include it to the end. Durations of operations show when it is full.
fn truth_of(entries: &[Entry]) -> (f64, f64, f64) {
    let (first, last) = (entries.first().expect("writes"), entries.last().expect("writes"));
    let slow = |e: &Entry| e.length as f64 / ((e.end_ns - e.start_ns) as f64 / 1e9) < MIDDLE;
    let full = entries.windows(8).position(|part| part.iter().all(slow)).expect("a cache that was filled");
    let full_ns = entries[full].start_ns;
    let bytes = |part: &[Entry]| part.iter().map(|e| e.length as f64).sum::<f64>();
    let seconds = |from: u64, to: u64| (to - from) as f64 / 1e9;
    let (before, after) = (bytes(&entries[..full]), bytes(&entries[full..]));
    (before, before / seconds(first.start_ns, full_ns), after / seconds(full_ns, last.end_ns))
}

#[test]
fn cache_size_both_speeds_and_recovery_match_the_ledger() {
    let _turn = turn();
    let mut scenario = scenario("cliff").faster(2.0);
    let cache = scenario.drives[0].model.cache.as_mut().expect("a cache");
    cache.bytes = CACHE;
    let machine = start(&scenario);
    // Ten seconds at 10 MB/s restore all of it.
    let found = findings(&machine, "cliff /mnt/a --pause 12s --max-bytes 2GiB");
    let named = |name: &str| estimate(&found, name).value;

    let entries = machine.ledger(0).expect("a ledger");
    // The filesystem's own writes are small; the load's writes are two long runs.
    let mut runs = oracle::runs(&entries, Kind::Write, 6.0);
    runs.sort_by_key(|run| std::cmp::Reverse(run.bytes));
    let writes: Vec<Entry> =
        entries.into_iter().filter(|e| e.kind == Kind::Write && e.length >= 65_536).collect();
    let of = |run: &oracle::Run| truth_of(&oracle::within(&writes, run.from_ns, run.to_ns));
    let mut pieces: Vec<&oracle::Run> = runs.iter().take(2).collect();
    pieces.sort_by_key(|run| run.from_ns);
    let [first, again] = pieces[..] else { panic!("two pieces: {}", runs.len()) };
    let (took, before, after) = of(first);
    let close = |name: &str, truth: f64, share: f64| {
        let ratio = named(name) / truth;
        eprintln!("{name}: {:.0}, the drive did {truth:.0}, ratio {ratio:.3}", named(name));
        assert!((ratio - 1.0).abs() < share, "{name}: {}, not {truth}", named(name));
    };
    close("fast region", took, 0.10);
    close("write throughput before", before, 0.05);
    close("write throughput after", after, 0.05);
    close("fast region after the pause", of(again).0, 0.10);
    let left = machine.ask(&["ls", "-A", "/mnt/a"]).expect("lists");
    assert_eq!(left.trim(), "lost+found");
}
