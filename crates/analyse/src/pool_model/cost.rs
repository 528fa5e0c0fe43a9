//! The cost of a request, from the speeds of a drive with two block sizes.

use super::Queue;
use crate::{Estimate, units::Pattern};

/// How long a drive takes for requests of one direction, one at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Fixed time of a request, s.
    pub fixed: f64,
    /// Rate of the bytes beyond the fixed time, bytes per second.
    pub rate: f64,
}

/// Which end of the intervals is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Low,
    Value,
    High,
}

impl End {
    pub fn of(self, e: &Estimate) -> f64 {
        match self {
            // Student's interval over few runs may reach below zero.
            Self::Low => e.low.max(e.value * 0.01),
            Self::Value => e.value,
            Self::High => e.high,
        }
    }
}

impl Cost {
    pub const NOTHING: Self = Self { fixed: 0.0, rate: f64::INFINITY };

    /// The cost of operations of `block` bytes, from the speeds with the smallest blocks of their pattern and with the largest
    /// sequential ones. `None` if the two contradict each other and no other measurement gives the cost.
    pub fn of(
        queue: Queue,
        (pattern, block): (Pattern, u64),
        small: (u64, &Estimate),
        large: (u64, &Estimate),
        end: End,
    ) -> Option<Self> {
        let speeds = [(small.0, small.1.value), (large.0, large.1.value)];
        let value = match (Self::through(queue, speeds[0], speeds[1]), pattern) {
            (Some(fit), _) => fit,
            (None, Pattern::Random) => Self::apart(queue, speeds[0], speeds[1]),
            (None, Pattern::Sequential) if block >= large.0 => Self::of_bytes(large.1.value),
            (None, Pattern::Sequential) => return None,
        };
        // The further of both ends, so that both are enclosed.
        let [a, b] = [small.1, large.1].map(|e| e.value / end.of(e));
        Some(match end {
            End::Low => value.scaled(a.max(b)),
            End::Value => value,
            End::High => value.scaled(a.min(b)),
        })
    }

    /// The cost from the speeds (bytes per second) with two block sizes. Where the larger block is no faster per byte, the
    /// difference is noise, and requests have no fixed cost. `None` where the larger block takes less time than the fixed cost of
    /// its requests alone: no fixed time and rate give both speeds.
    pub fn through(queue: Queue, small: (u64, f64), large: (u64, f64)) -> Option<Self> {
        let [(n, x, s), (m, y, t)] = [small, large]
            .map(|(bytes, speed)| (queue.requests(bytes) as f64, bytes as f64, bytes as f64 / speed));
        if small.1 >= large.1 {
            return Some(Self::of_bytes(large.1));
        }
        let fixed = (s * y - t * x) / (n * y - m * x);
        let rate = x / (s - n * fixed);
        (rate.is_finite() && rate > 0.0 && fixed >= 0.0).then_some(Self { fixed, rate })
    }

    /// The cost of requests at random places. The drive seeks for each small block, but once for the larger one. The bytes have
    /// the speed of the larger block; the fixed cost gives the smaller block its speed.
    pub fn apart(queue: Queue, small: (u64, f64), large: (u64, f64)) -> Self {
        let bytes = small.0 as f64;
        let fixed = (bytes / small.1 - bytes / large.1) / queue.requests(small.0) as f64;
        Self { fixed: fixed.max(0.0), rate: large.1 }
    }

    /// A request costs nothing beyond its bytes.
    pub fn of_bytes(rate: f64) -> Self {
        Self { fixed: 0.0, rate }
    }

    /// The cost of a drive that is this many times slower.
    fn scaled(self, times: f64) -> Self {
        Self { fixed: self.fixed * times, rate: self.rate / times }
    }

    pub(super) fn seconds(&self, bytes: u64) -> f64 {
        self.fixed + bytes as f64 / self.rate
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{KIB, MIB};

    const STICK: Queue = Queue { request: 120 * KIB, depth: [2; 2], drains: false };

    fn seconds(cost: Cost, queue: Queue, bytes: u64) -> f64 {
        queue.requests(bytes) as f64 * cost.fixed + bytes as f64 / cost.rate
    }

    fn speed(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { low, high, ..Estimate::unbounded(value, "") }
    }

    fn close(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn two_sizes_of_blocks_give_a_fixed_time_and_a_rate() {
        let truth = Cost { fixed: 0.4e-3, rate: 20e6 };
        let speed = |bytes: u64| (bytes, bytes as f64 / truth.seconds(bytes));
        let found = Cost::through(Queue::ENDLESS, speed(4 * KIB), speed(MIB)).expect("fits");
        close(found.fixed, truth.fixed);
        close(found.rate, truth.rate);
        let slower = Cost::through(Queue::ENDLESS, (4 * KIB, 9e6), (MIB, 8e6));
        assert_eq!(slower, Some(Cost::of_bytes(8e6)), "a larger block that is slower");
    }

    /// A disk: 8 ms to a random place, 160 MB/s from there. 1 MiB in sequence takes 6.6 ms, in one request.
    #[test]
    fn what_a_disk_does_at_random_places_is_not_predicted_from_its_bytes_alone() {
        let (random, sequential) = (speed(0.5e6, 0.4e6, 0.6e6), speed(160e6, 158e6, 162e6));
        let of = |pattern, block, end| {
            Cost::of(Queue::ENDLESS, (pattern, block), (4 * KIB, &random), (MIB, &sequential), end)
        };
        for (end, expected) in [(End::Low, 0.4e6), (End::Value, 0.5e6), (End::High, 0.6e6)] {
            let cost = of(Pattern::Random, 4 * KIB, end).expect("was measured");
            close(4.0 * KIB as f64 / cost.seconds(4 * KIB), expected);
        }
        assert_eq!(of(Pattern::Sequential, 4 * KIB, End::Value), None, "the two contradict each other");
        assert_eq!(of(Pattern::Sequential, MIB, End::Value), Some(Cost::of_bytes(160e6)));
    }

    #[test]
    fn an_end_is_the_value_made_slower_or_faster() {
        let (small, large) = (speed(2e6, 0.01e6, 3e6), speed(20e6, 18e6, 22e6));
        let of = |end| Cost::of(STICK, (Pattern::Sequential, MIB), (4 * KIB, &small), (MIB, &large), end);
        let [low, value] = [End::Low, End::Value].map(|end| of(end).expect("fits"));
        close(low.fixed, value.fixed * 100.0);
        close(low.rate, value.rate / 100.0);
        let open = speed(2e6, 1e6, f64::INFINITY);
        let high = Cost::of(STICK, (Pattern::Sequential, MIB), (4 * KIB, &open), (MIB, &large), End::High);
        assert_eq!(high, Some(Cost::NOTHING));
    }

    proptest! {
        #[test]
        fn no_cost_makes_a_drive_faster_than_it_was_measured(
            (small, large) in (1e3..1e9f64, 1e3..1e9f64),
            request in prop::sample::select(vec![4 * KIB, 120 * KIB, 512 * KIB, u64::MAX]),
            pattern in prop::sample::select(vec![Pattern::Sequential, Pattern::Random]),
        ) {
            let queue = Queue { request, ..Queue::ENDLESS };
            let [a, b] = [small, large].map(|value| speed(value, value, value));
            for block in [4 * KIB, MIB] {
                let measured = if block == MIB { large } else { small };
                let Some(cost) = Cost::of(queue, (pattern, block), (4 * KIB, &a), (MIB, &b), End::Value) else {
                    prop_assert!(pattern == Pattern::Sequential && block < MIB && small < large);
                    continue;
                };
                let speed = block as f64 / seconds(cost, queue, block);
                prop_assert!(speed <= measured * 1.000001, "{cost:?}: {speed} of {measured}");
            }
        }
    }
}
