//! Open-loop latency: the response times of requests that arrive at a steady rate.
//!
//! A benchmark sends the next operation when the last one is done, so a stall delays one operation. Real requests keep
//! arriving and queue behind it. Lindley's recursion replays the measured service times against a steady stream of
//! arrivals, without further I/O. It is a model: arrivals are steady, and service times don't depend on the queue.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::units::{Histogram, Window};

/// More operations in one window than this are not replayed.
const MOST: u64 = 1 << 24;

/// Modelled responses: waiting and service together.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenLoopLatency {
    /// Arrivals as a share of the mean rate of the load.
    pub load: f64,
    pub response: Histogram,
    /// Share of requests that took longer than 0.1 s.
    pub over_100ms: f64,
}

/// Replays a load measured at depth 1, window by window, with arrivals at a share of its mean rate. Within a
/// window the order of ordinary operations is drawn; slow ones stand where they stood.
#[derive(Debug)]
pub struct OpenLoop {
    load: f64,
    /// From one arrival to the next, ns.
    between: f64,
    rng: Xoshiro256PlusPlus,
    count: u64,
    /// How long the next request waits before it is served, ns.
    wait: f64,
    response: Histogram,
    over: u64,
}

impl OpenLoop {
    /// `latencies` are those of the whole load. `None` unless `load` is above 0 and below 1 and something was measured.
    pub fn new(latencies: &Histogram, load: f64, seed: u64) -> Option<Self> {
        let total: f64 = latencies.iter().map(|(ns, n)| ns as f64 * n as f64).sum();
        let between = total / latencies.count() as f64 / load;
        (load > 0.0 && load < 1.0 && between > 0.0).then(|| Self {
            load,
            between,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            count: 0,
            wait: 0.0,
            response: Histogram::default(),
            over: 0,
        })
    }

    /// Takes the next window; one with more operations than any engine records is left out.
    pub fn push(&mut self, window: &Window) {
        if window.latency.count() > MOST {
            return;
        }
        let mut times = order(window, self.count, &mut self.rng);
        self.count += times.len() as u64;
        for time in &mut times {
            let took = self.wait + *time as f64;
            self.wait = (took - self.between).max(0.0);
            *time = took as u64;
            self.over += u64::from(took > 1e8);
        }
        self.response.merge(&Histogram::of(&mut times));
    }

    /// What requests would have taken; `None` without operations.
    pub fn finish(self) -> Option<OpenLoopLatency> {
        let over_100ms = self.over as f64 / self.count as f64;
        (self.count > 0).then_some(OpenLoopLatency { load: self.load, response: self.response, over_100ms })
    }
}

/// A window's service times (ns) in the order in which they may have come; `first` is the number of its first operation.
fn order(window: &Window, first: u64, rng: &mut Xoshiro256PlusPlus) -> Vec<u64> {
    let mut counts: Vec<(u64, u64)> = window.latency.iter().collect();
    let mut placed = Vec::new();
    for op in &window.slow {
        let bucket = Histogram::of(&mut [op.1]).max();
        let held = counts.iter_mut().find(|(ns, n)| Some(*ns) == bucket && *n > 0);
        if let (Some(held), Some(index)) = (held, op.0.checked_sub(first)) {
            held.1 -= 1;
            placed.push((index, op.1));
        }
    }
    let mut times: Vec<u64> =
        counts.iter().flat_map(|&(ns, n)| std::iter::repeat_n(ns, n as usize)).collect();
    times.shuffle(rng);
    placed.sort_unstable();
    for (index, ns) in placed {
        times.insert((index as usize).min(times.len()), ns);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SlowOp;

    fn replay(windows: &[Window], load: f64, seed: u64) -> Option<OpenLoopLatency> {
        let mut all = Histogram::default();
        windows.iter().for_each(|w| all.merge(&w.latency));
        let mut replay = OpenLoop::new(&all, load, seed)?;
        windows.iter().for_each(|w| replay.push(w));
        replay.finish()
    }

    fn window(times: &[u64], slow: &[(u64, u64)]) -> Window {
        Window {
            ops: times.len() as u64,
            latency: Histogram::of(&mut times.to_vec()),
            slow: slow.iter().map(|&(i, ns)| SlowOp(i, ns)).collect(),
            ..Window::default()
        }
    }

    #[test]
    fn constant_service_times_cause_no_queue() {
        let w = replay(&[window(&[1000; 500], &[])], 0.8, 1).expect("operations");
        assert_eq!((w.response.max(), w.over_100ms), (Some(1000), 0.0));
    }

    #[test]
    fn requests_queue_behind_a_stall() {
        // 999 operations of 1 ms and one of 400 ms at number 500: sustained 1.399 ms each. At half that rate one
        // request comes every 2.798 ms, so the queue shrinks by 1.798 ms a request and (400 - 100) / 1.798 = 167
        // take longer than 0.1 s.
        let mut times = vec![1_000_000; 999];
        times.push(400_000_000);
        let w = replay(&[window(&times, &[(500, 400_000_000)])], 0.5, 1).expect("operations");
        assert!((w.over_100ms - 0.167).abs() < 0.002, "{}", w.over_100ms);
        assert_eq!(replay(&[window(&times, &[(500, 400_000_000)])], 0.5, 1), Some(w), "the same seed");
    }

    #[test]
    fn slow_operations_keep_their_position() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let times = order(&window(&[5, 5, 5, 90, 70], &[(103, 90), (101, 70)]), 100, &mut rng);
        assert_eq!(times, [5, 70, 5, 90, 5]);
        let lost = order(&window(&[5, 5], &[(7, 90), (999, 5)]), 3, &mut rng);
        assert_eq!(lost, [5, 5], "a slow operation that the histogram doesn't hold is ignored");
    }

    #[test]
    fn no_operations_give_no_result() {
        assert_eq!(replay(&[], 0.5, 1), None);
        assert_eq!(replay(&[window(&[0, 0], &[])], 0.5, 1), None);
        assert_eq!(replay(&[window(&[5], &[])], 1.0, 1), None);
        let mut huge = Histogram::default();
        huge.add(5, 1 << 40);
        assert_eq!(replay(&[Window { latency: huge, ..Window::default() }], 0.5, 1), None);
    }
}
