//! How fast a pool will be, from the speeds of its drives alone and together: each operation is followed to the members, phase by
//! phase, as md carries it out. No constant is fitted to pools.

mod flow;
mod phases;

use phases::RowCache;

use crate::{
    Estimate, repeat,
    units::{Layout, Parity, Pattern},
};

/// The requests that the kernel sends to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Maximum size of a request, bytes. Larger operations are split.
    pub request: u64,
    /// Maximum number of reads and of writes in the drive and its queue. A sender waits while the queue is full.
    pub depth: [usize; 2],
    /// Whether the kernel throttles writes of copies and parity: at most two wait, and a throttled writer resumes when the queue is empty.
    pub drains: bool,
}

/// Operations that take much longer than others. Members stall independently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    /// Mean stalled time per byte, in seconds.
    pub per_byte: f64,
    /// Length of one stall, in seconds.
    pub seconds: f64,
}

impl Stalls {
    pub const NONE: Self = Self { per_byte: 0.0, seconds: 0.0 };
}

/// A member of a pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speeds {
    /// The cost of a read without stalls.
    pub read: Cost,
    pub write: Cost,
    /// Stalls of reads and of writes.
    pub stalls: [Stalls; 2],
    pub queue: Queue,
    /// Whether the kernel takes it for a rotating disk, as it does most USB sticks.
    pub rotates: bool,
    /// Processor time of reads and of writes. Requests take it one after the other.
    pub processor: [Cost; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    Read,
    Write,
}

/// Time of a small random read, s, from which a drive is taken to move a head. Flash needs a few milliseconds at most.
const SEEK: f64 = 4e-3;

/// Whether a drive moves a head, from the speed of its random reads, bytes per second.
pub fn seeks(block: u64, speed: f64) -> bool {
    block as f64 / speed > SEEK
}

/// Whether a sequential operation of the pool makes members jump between data and parity, copies or the bitmap. The distance and
/// time of head movements are not modelled.
pub fn jumps(layout: Layout, transfer: Transfer, pattern: Pattern) -> bool {
    pattern == Pattern::Sequential
        && match layout {
            Layout::Single | Layout::Linear | Layout::Raid0 => false,
            Layout::Raid1 => transfer == Transfer::Write,
            Layout::Raid5 | Layout::Raid6 | Layout::Raid10 => true,
        }
}

/// A ceiling that some members share, such as a hub or a bus.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// Positions of the members.
    pub members: Vec<usize>,
    pub transfer: Transfer,
    /// Bytes per second.
    pub rate: f64,
}

/// A pool that isn't built yet.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    pub layout: Layout,
    /// Bytes.
    pub chunk: u64,
    pub members: &'a [Speeds],
    pub shared: &'a [Shared],
    /// Processors that work at the same time.
    pub cores: usize,
    /// How fast the kernel computes parity.
    pub parity: Parity,
}

/// Maximum number of throttled writes that the kernel lets through for md.
const THROTTLED: usize = 2;
/// Maximum number of operations that are followed from each start.
const MOST: u64 = 20_000;
/// Maximum number of members.
pub const MOST_MEMBERS: usize = 128;
/// Number of start offsets within a chunk that are averaged, because the offset of a file is unknown.
const STARTS: u64 = 8;

impl Queue {
    /// A queue that splits nothing and never fills up.
    pub const ENDLESS: Self = Self { request: u64::MAX, depth: [usize::MAX; 2], drains: false };

    /// A queue as the kernel reports it: the largest request, the number of requests and of writes among
    /// them, and whether it throttles md's writes. Unknown values are unlimited.
    pub fn of(request: Option<u64>, requests: Option<u32>, writes: Option<u32>, drains: bool) -> Self {
        let request = request.filter(|bytes| *bytes > 0).unwrap_or(Self::ENDLESS.request);
        let depth = |most: Option<u32>| {
            most.filter(|requests| *requests > 0).map_or(usize::MAX, |requests| requests as usize)
        };
        let reads = depth(requests);
        Self { request, depth: [reads, reads.min(depth(writes))], drains }
    }

    fn requests(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.request)
    }
}

impl Planned<'_> {
    /// Speed of operations of `block` bytes, one at a time, sequential or random; bytes per second.
    pub fn speed(&self, transfer: Transfer, pattern: Pattern, block: u64) -> f64 {
        1.0 / self.anywhere(transfer, pattern, block)
    }

    /// As [`Self::speed`] for a file that begins at each of these offsets in the pool, bytes: the median.
    pub fn speed_from(
        &self,
        transfer: Transfer,
        pattern: Pattern,
        block: u64,
        starts: &[u64],
    ) -> Option<f64> {
        let at = |start: &u64| 1.0 / self.per_byte(transfer, pattern, block, *start);
        Some(repeat::middle(&starts.iter().map(at).collect::<Vec<f64>>())?.value)
    }

    /// Seconds per byte in a file that may be anywhere.
    fn anywhere(&self, transfer: Transfer, pattern: Pattern, block: u64) -> f64 {
        if self.layout == Layout::Linear {
            // The file may be on any of the drives.
            let each = self.singles().map(|one| one.anywhere(transfer, pattern, block));
            return each.sum::<f64>() / self.members.len() as f64;
        }
        let starts = if self.layout.is_striped() { STARTS } else { 1 };
        // Filesystems begin files on pages.
        let at = |n: u64| (self.chunk * n / STARTS) & !(phases::ROW - 1);
        let each = (0..starts).map(|n| self.per_byte(transfer, pattern, block, at(n)));
        each.sum::<f64>() / starts as f64
    }

    /// Seconds per byte in a file that begins at the offset `start` of the pool, bytes.
    fn per_byte(&self, transfer: Transfer, pattern: Pattern, block: u64, start: u64) -> f64 {
        // The pattern of members and parity repeats after this many operations.
        let cycle = match self.layout.is_striped() {
            true => least_common_multiple(block, self.chunk * self.layout.cycle(self.members.len())) / block,
            false => 1,
        };
        let all = cycle.min(MOST);
        let (mut cache, mut ends) = (RowCache::default(), vec![0; self.members.len()]);
        let mut pass = |first: u64| -> f64 {
            let one = |n: u64| {
                if pattern == Pattern::Random {
                    cache = RowCache::default();
                }
                let phases = self.phases(transfer, start + n * block, block, &mut cache);
                phases.iter().map(|phase| flow::seconds(self, phase, &mut ends)).sum::<f64>()
            };
            (first..first + all).map(one).sum()
        };
        if self.layout.has_parity() || self.layout == Layout::Raid10 {
            // Rows in md's memory, and where drives read last.
            pass(0);
        }
        pass(cycle) / (all * block) as f64
    }

    /// Number of requests in a member's queue, and whether a blocked sender resumes only when it is empty. The kernel
    /// throttles writes without the mark of a direct one (`REQ_IDLE`): linear and raid0 pass it on, copies and parity don't.
    fn room(&self, transfer: Transfer, at: usize) -> (usize, bool) {
        let queue = &self.members[at].queue;
        let depth = queue.depth[transfer as usize];
        match queue.drains && self.layout.is_redundant() && transfer == Transfer::Write {
            true => (depth.min(THROTTLED), true),
            false => (depth, false),
        }
    }

    /// Each member alone, which shares nothing.
    pub fn singles(&self) -> impl Iterator<Item = Planned<'_>> {
        let single = |members| Planned { layout: Layout::Single, members, shared: &[], ..*self };
        self.members.chunks(1).map(single)
    }

    /// Processor time of one request, at most its whole time.
    fn processor_alone(&self, transfer: Transfer, at: usize, bytes: u64) -> f64 {
        let most = self.cost(transfer, at).seconds(bytes);
        self.members[at].processor[transfer as usize].seconds(bytes).min(most)
    }

    fn cost(&self, transfer: Transfer, at: usize) -> &Cost {
        match transfer {
            Transfer::Read => &self.members[at].read,
            Transfer::Write => &self.members[at].write,
        }
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

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

    fn seconds(&self, bytes: u64) -> f64 {
        self.fixed + bytes as f64 / self.rate
    }
}

#[cfg(test)]
mod cost_tests {
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

#[cfg(test)]
mod tests;
