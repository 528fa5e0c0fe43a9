//! Notices when this process did not run: it was stopped (SIGSTOP, Ctrl-Z, a frozen container), or the machine slept or
//! was paused. What was timed across such a gap is not the drive's time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// How often the clocks are read.
const BEAT: Duration = Duration::from_millis(20);
/// A shorter gap may be other programs' turn on the processor.
const GAP: u64 = 250_000_000;
/// The two clocks of the kernel are read one after the other.
const SLEPT: u64 = 50_000_000;

/// A time without the process, in ns since the start of the pulse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    from_ns: u64,
    to_ns: u64,
    /// Time asleep, which the monotonic clock does not count.
    slept_ns: u64,
}

#[derive(Debug, Default)]
struct Beats {
    last_ns: u64,
    asleep_ns: u64,
    gaps: Vec<Gap>,
}

impl Beats {
    /// `asleep_ns` is what the clock that counts sleep is ahead of the one that does not.
    fn beat(&mut self, now_ns: u64, asleep_ns: u64) {
        let slept_ns = asleep_ns.saturating_sub(self.asleep_ns);
        let slept_ns = if slept_ns >= SLEPT { slept_ns } else { 0 };
        if slept_ns > 0 || now_ns.saturating_sub(self.last_ns) >= GAP {
            self.gaps.push(Gap { from_ns: self.last_ns, to_ns: now_ns, slept_ns });
        }
        if slept_ns > 0 || self.asleep_ns == 0 {
            self.asleep_ns = asleep_ns;
        }
        self.last_ns = self.last_ns.max(now_ns);
    }

    /// ns of gaps between two moments, with the time asleep.
    fn missed(&self, from_ns: u64, to_ns: u64) -> u64 {
        let over = self.gaps.iter().filter(|gap| gap.from_ns < to_ns && from_ns < gap.to_ns);
        over.map(|gap| gap.to_ns - gap.from_ns + gap.slept_ns).sum()
    }
}

/// A thread that reads the clocks as long as this value lives.
#[derive(Debug)]
pub struct Pulse {
    since: Instant,
    /// None without a thread: then nothing is noticed.
    beats: Option<Arc<Mutex<Beats>>>,
}

impl Pulse {
    /// Times are counted from `since`.
    pub fn since(since: Instant) -> Self {
        let first = Beats { last_ns: nanoseconds(since.elapsed()), asleep_ns: asleep(), gaps: Vec::new() };
        let beats = Arc::new(Mutex::new(first));
        let weak = Arc::downgrade(&beats);
        let beat = move || {
            while let Some(beats) = weak.upgrade() {
                drop(look(&beats, since));
                drop(beats);
                thread::sleep(BEAT);
            }
        };
        let spawned = thread::Builder::new().stack_size(64 << 10).spawn(beat).is_ok();
        Self { since, beats: spawned.then_some(beats) }
    }

    /// For how long this process did not run between two moments, ns; all of a gap counts if a part of it does.
    pub fn missed(&self, from_ns: u64, to_ns: u64) -> u64 {
        // After a gap, this thread may run before the other one.
        self.beats.as_ref().map_or(0, |beats| look(beats, self.since).missed(from_ns, to_ns))
    }
}

fn look(beats: &Mutex<Beats>, since: Instant) -> std::sync::MutexGuard<'_, Beats> {
    let mut beats = beats.lock().unwrap_or_else(PoisonError::into_inner);
    beats.beat(nanoseconds(since.elapsed()), asleep());
    beats
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// How far the clock that counts sleep is ahead, ns.
fn asleep() -> u64 {
    let [awake, all] = [ClockId::Monotonic, ClockId::Boottime].map(|id| {
        let time = clock_gettime(id);
        (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
    });
    all.saturating_sub(awake)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What is missed between two moments, ms, after beats at (time, asleep), ms.
    fn missed(beats: &[(u64, u64)], from: u64, to: u64) -> u64 {
        let mut all = Beats { asleep_ns: 7, ..Beats::default() };
        beats.iter().for_each(|(now, asleep)| all.beat(now * MS, 7 + asleep * MS));
        all.missed(from * MS, to * MS) / MS
    }

    #[test]
    fn a_stop_is_a_gap_between_beats_and_a_sleep_one_between_clocks() {
        let steady: Vec<(u64, u64)> = (1..100).map(|n| (20 * n, 0)).collect();
        assert_eq!(missed(&steady, 0, 2000), 0);
        let stopped = [(20, 0), (40, 0), (4040, 0), (4060, 0)];
        assert_eq!(missed(&stopped, 0, 5000), 4000);
        assert_eq!(missed(&stopped, 100, 200), 4000, "all of it, for what only saw a part");
        assert_eq!((missed(&stopped, 0, 40), missed(&stopped, 4040, 5000)), (0, 0));
        let slept = [(20, 0), (40, 3600), (60, 3600)];
        assert_eq!((missed(&slept, 0, 60), missed(&slept, 40, 60)), (3620, 0));
        assert_eq!(missed(&[(20, 0), (40, 10), (60, 20)], 0, 60), 0, "clocks are not read at once");
    }
}
