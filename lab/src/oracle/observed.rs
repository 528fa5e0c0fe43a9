//! Results from a ledger.

use drivebench_modelled::sim::Cause;

use crate::ledger::{Entry, Kind};

/// Consecutive operations of one kind without a long pause.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The kind of operation.
    pub kind: Kind,
    /// When the drive began the first, ns on the host's clock.
    pub from_ns: u64,
    /// When the drive finished the last.
    pub to_ns: u64,
    /// Operations that did not fail.
    pub operations: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Busy time of the drive, s.
    pub busy_seconds: f64,
    /// Latencies of all operations, ns, ascending: from the arrival of each, or from when the drive began it if that was
    /// earlier, until the drive finished it.
    pub latencies_ns: Vec<u64>,
    /// Stalls and spin-ups.
    pub stalls: Vec<Stall>,
    /// What limited it.
    pub limit: Limit,
}

/// An operation that took long because of a stall or spin-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// When it began, ns on the host's clock.
    pub at_ns: u64,
    /// How long the operation took, s.
    pub seconds: f64,
    /// Where, bytes.
    pub offset: u64,
    /// [`Cause::Stall`] or [`Cause::Wake`].
    pub cause: Cause,
}

/// What limited a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// The drive: the main part of its time.
    Drive(Cause),
    /// The caller: the drive was idle for at least 10 % of the time.
    Asker,
}

impl Run {
    /// Seconds from the first operation's start to the last one's end.
    pub fn seconds(&self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / 1e9
    }

    /// Bytes per second.
    pub fn throughput(&self) -> f64 {
        self.bytes as f64 / self.seconds()
    }

    /// The latency, ns, that a share `p` of all operations did not exceed.
    pub fn latency_ns(&self, p: f64) -> u64 {
        let rank = (p * self.latencies_ns.len() as f64).ceil() as usize;
        self.latencies_ns.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// The entries of operations that the drive began at or after `from_ns` and finished before `to_ns`.
pub fn within(entries: &[Entry], from_ns: u64, to_ns: u64) -> Vec<Entry> {
    entries.iter().filter(|e| e.start_ns >= from_ns && e.end_ns <= to_ns).copied().collect()
}

/// The runs of operations of one kind. A new run begins after a pause of more than `pause_seconds`.
pub fn runs(entries: &[Entry], kind: Kind, pause_seconds: f64) -> Vec<Run> {
    let mut entries: Vec<&Entry> = entries.iter().filter(|e| e.kind == kind).collect();
    entries.sort_by_key(|e| (e.start_ns, e.end_ns));
    let pause = |a: &Entry, b: &Entry| b.start_ns.saturating_sub(a.end_ns) as f64 / 1e9 > pause_seconds;
    entries.chunk_by(|a, b| !pause(a, b)).filter_map(run).collect()
}

fn run(entries: &[&Entry]) -> Option<Run> {
    let (first, last) = (entries.first()?, entries.last()?);
    let done: Vec<&&Entry> = entries.iter().filter(|e| !e.failed).collect();
    let seconds = |e: &Entry| (e.end_ns - e.start_ns) as f64 / 1e9;
    let mut latencies_ns: Vec<u64> = entries.iter().map(|e| e.end_ns - e.start_ns.min(e.asked_ns)).collect();
    latencies_ns.sort_unstable();
    let busy_seconds = entries.iter().map(|e| seconds(e)).sum();
    let slow = |e: &&&Entry| matches!(e.cause, Cause::Stall | Cause::Wake);
    let stall =
        |e: &&Entry| Stall { at_ns: e.start_ns, seconds: seconds(e), offset: e.offset, cause: e.cause };
    let span = (last.end_ns - first.start_ns) as f64 / 1e9;
    let took = |cause| -> f64 { entries.iter().filter(|e| e.cause == cause).map(|e| seconds(e)).sum() };
    let causes = [Cause::Medium, Cause::Cache, Cause::Stall, Cause::Wake, Cause::Bus, Cause::Flush];
    let most = causes.into_iter().max_by(|a, b| took(*a).total_cmp(&took(*b)));
    Some(Run {
        kind: first.kind,
        from_ns: first.start_ns,
        to_ns: last.end_ns,
        operations: done.len() as u64,
        failed: (entries.len() - done.len()) as u64,
        bytes: done.iter().map(|e| e.length).sum(),
        busy_seconds,
        latencies_ns,
        stalls: entries.iter().filter(slow).map(stall).collect(),
        limit: most.filter(|_| busy_seconds >= 0.9 * span).map_or(Limit::Asker, Limit::Drive),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn entry(kind: Kind, start_ms: u64, took_ms: u64) -> Entry {
        let (start_ns, end_ns) = (start_ms * MS, (start_ms + took_ms) * MS);
        Entry {
            asked_ns: start_ns + MS / 10,
            start_ns,
            end_ns,
            answered_ns: end_ns + MS / 20,
            kind,
            offset: start_ms * 4096,
            length: 4096,
            cause: Cause::Medium,
            failed: false,
        }
    }

    /// A hundred writes of 2 ms one after the other, the 41st of them a stall of 400 ms; a minute later 10 reads that
    /// are asked for every 4 ms, and take 1.
    fn ledger() -> Vec<Entry> {
        let mut at = 1000;
        let mut entries = Vec::new();
        for i in 0..100 {
            let took = if i == 40 { 400 } else { 2 };
            entries.push(entry(Kind::Write, at, took));
            at += took;
        }
        entries[40].cause = Cause::Stall;
        entries.extend((0..10).map(|i| entry(Kind::Read, at + 60_000 + 4 * i, 1)));
        entries
    }

    #[test]
    fn operations_of_a_run_are_summed() {
        let runs = runs(&ledger(), Kind::Write, 1.0);
        assert_eq!(runs.len(), 1);
        let run = &runs[0];
        assert_eq!((run.operations, run.failed, run.bytes), (100, 0, 409_600));
        assert!((run.seconds() - 0.598).abs() < 1e-9 && (run.busy_seconds - 0.598).abs() < 1e-9);
        assert!((run.throughput() - 409_600.0 / 0.598).abs() < 1e-6);
        assert_eq!([0.5, 0.99, 0.9999].map(|p| run.latency_ns(p)), [2 * MS, 2 * MS, 400 * MS]);
        let stall = Stall { at_ns: 1080 * MS, seconds: 0.4, offset: 1080 * 4096, cause: Cause::Stall };
        assert_eq!(run.stalls, [stall]);
        assert_eq!(run.limit, Limit::Drive(Cause::Stall));
    }

    #[test]
    fn pauses_separate_runs_and_slow_callers_are_the_limit() {
        let entries = ledger();
        let reads = runs(&entries, Kind::Read, 1.0);
        assert_eq!((reads.len(), reads[0].operations, reads[0].limit), (1, 10, Limit::Asker));
        assert!((reads[0].busy_seconds - 0.010).abs() < 1e-9 && (reads[0].seconds() - 0.037).abs() < 1e-9);
        assert_eq!(runs(&entries, Kind::Read, 0.002).len(), 10);
        assert_eq!(runs(&entries, Kind::Flush, 1.0), []);
        // Operations of another kind in between do not split a run.
        let mixed: Vec<Entry> = entries.iter().flat_map(|e| [*e, entry(Kind::Flush, 1100, 1)]).collect();
        assert_eq!(runs(&mixed, Kind::Write, 1.0), runs(&entries, Kind::Write, 1.0));
    }

    #[test]
    fn an_interval_has_operations_that_began_and_ended_in_it() {
        let entries = ledger();
        let some = within(&entries, 1002 * MS, 1010 * MS);
        assert_eq!((some.len(), some[0].start_ns), (4, 1002 * MS));
        assert_eq!(within(&entries, 0, u64::MAX), entries);
    }

    #[test]
    fn failed_operations_count_no_bytes() {
        let mut entries = ledger();
        entries.iter_mut().take(10).for_each(|e| e.failed = true);
        let run = &runs(&entries, Kind::Write, 1.0)[0];
        assert_eq!((run.operations, run.failed, run.bytes), (90, 10, 90 * 4096));
    }
}
