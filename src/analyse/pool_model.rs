//! How fast a pool will be, from what its drives do alone and at once: each operation is followed to the members, phase by
//! phase, as md carries it out. Nothing here is fitted to pools.

use std::collections::{HashMap, VecDeque};

use crate::units::{KIB, Layout, MIB, Pattern};

/// How long a drive takes for requests of one direction, one at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Of each request, s.
    pub fixed: f64,
    /// Bytes per second beyond that.
    pub rate: f64,
}

/// What the kernel sends to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Bytes of a request at most: larger operations are several.
    pub request: u64,
    /// Requests that the drive has or that wait for it. Who sends one more waits until one is completed.
    pub depth: usize,
}

/// A member of a pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speeds {
    pub read: Cost,
    pub write: Cost,
    pub queue: Queue,
    /// What reads and writes take of a processor, one after the other.
    pub processor: [Cost; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    Read,
    Write,
}

/// A pool that isn't built yet.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    pub layout: Layout,
    /// Bytes.
    pub chunk: u64,
    pub members: &'a [Speeds],
    /// What the members read and write at once at most, bytes per second, where a hub or a bus limits them.
    pub shared: [Option<f64>; 2],
    /// Processors that work at the same time.
    pub cores: usize,
}

/// What one phase of an operation moves: members and bytes in the order in which md sends them. Phases come one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Phase {
    transfer: Transfer,
    parts: Vec<(usize, u64)>,
}

/// md handles parity in rows of a page.
const ROW: u64 = 4 * KIB;
/// Rows that md keeps in memory: its `stripe_cache_size`.
const ROWS: usize = 256;
/// Operations that are followed at most.
const MOST: u64 = 20_000;
/// A share of a request below which it is done.
const EPSILON: f64 = 1e-9;
/// Pieces of layouts without chunks.
const UNSTRIPED: u64 = MIB;

/// The rows whose content md still has, with a bit for each member.
#[derive(Debug, Default)]
struct RowCache {
    known: HashMap<(u64, u64), u64>,
    order: VecDeque<(u64, u64)>,
}

impl RowCache {
    fn known(&self, row: (u64, u64)) -> u64 {
        self.known.get(&row).copied().unwrap_or(0)
    }

    fn learn(&mut self, row: (u64, u64), members: u64) {
        let known = self.known.entry(row).or_insert_with(|| {
            self.order.push_back(row);
            0
        });
        *known |= members;
        if self.order.len() > ROWS {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

impl Cost {
    pub const NOTHING: Self = Self { fixed: 0.0, rate: f64::INFINITY };

    /// From the speeds (bytes per second) with two sizes of blocks. Where the larger block is no faster per byte, the
    /// difference is noise, and requests cost nothing beyond their bytes.
    pub fn through(queue: Queue, small: (u64, f64), large: (u64, f64)) -> Self {
        let [(n, x, s), (m, y, t)] = [small, large]
            .map(|(bytes, speed)| (queue.requests(bytes) as f64, bytes as f64, bytes as f64 / speed));
        let fixed = (s * y - t * x) / (n * y - m * x);
        let rate = x / (s - n * fixed);
        if rate.is_finite() && rate > 0.0 && fixed >= 0.0 {
            Self { fixed, rate }
        } else {
            Self { fixed: 0.0, rate: large.1 }
        }
    }

    fn seconds(&self, bytes: u64) -> f64 {
        self.fixed + bytes as f64 / self.rate
    }
}

impl Queue {
    /// Nothing is divided, and nothing waits.
    pub const ENDLESS: Self = Self { request: u64::MAX, depth: usize::MAX };

    fn requests(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.request)
    }
}

/// A drive at work on the requests that were sent to it.
#[derive(Debug, Clone, Default)]
struct Busy {
    /// Bytes of the first request, and the share of it that is left.
    queue: VecDeque<u64>,
    left: f64,
}

impl Planned<'_> {
    /// Bytes per second of operations of `block` bytes, one at a time: sequential ones, or anywhere.
    pub fn speed(&self, transfer: Transfer, pattern: Pattern, block: u64) -> f64 {
        if self.layout == Layout::Linear {
            // Where a file is, is not known: the mean of the drives.
            let one =
                |at: usize| Planned { layout: Layout::Single, members: &self.members[at..=at], ..*self };
            let seconds = (0..self.members.len()).map(|at| 1.0 / one(at).speed(transfer, pattern, block));
            return self.members.len() as f64 / seconds.sum::<f64>();
        }
        if (self.layout, transfer, pattern) == (Layout::Raid1, Transfer::Read, Pattern::Random) {
            // md takes the member whose last position is nearest: now this one, now that one.
            let bus = self.shared[transfer as usize].map_or(0.0, |rate| block as f64 / rate);
            let each = (0..self.members.len()).map(|at| self.alone(Transfer::Read, at, block).max(bus));
            let seconds: f64 = each.sum();
            return (self.members.len() as u64 * block) as f64 / seconds;
        }
        // After so many bytes the pattern of members and parity repeats.
        let cycle = least_common_multiple(block, self.chunk() * self.rotation()) / block;
        let all = cycle.min(MOST);
        let mut cache = RowCache::default();
        let mut pass = |first: u64| -> f64 {
            let one = |n: u64| {
                if pattern == Pattern::Random {
                    cache = RowCache::default();
                }
                self.phases(transfer, n * block, block, &mut cache)
                    .iter()
                    .map(|phase| self.phase_seconds(phase))
                    .sum::<f64>()
            };
            (first..first + all).map(one).sum()
        };
        // The first pass fills the cache.
        pass(0);
        (all * block) as f64 / pass(cycle)
    }

    /// Seconds until the first sync, or a rebuild, has gone through `bytes` of each member: reads of some members and writes of others
    /// go on at the same time.
    pub fn fill_seconds(&self, bytes: u64) -> Option<f64> {
        const SYNC_BLOCK: u64 = MIB;
        let speed = |transfer: Transfer, at: usize| SYNC_BLOCK as f64 / self.alone(transfer, at, SYNC_BLOCK);
        let slowest = |transfer, members: std::ops::Range<usize>| {
            members.map(|at| speed(transfer, at)).fold(f64::INFINITY, f64::min)
        };
        let n = self.members.len();
        let rate = match self.layout {
            Layout::Single | Layout::Linear | Layout::Raid0 => return None,
            // The first one is copied to the others; pairs are.
            Layout::Raid1 => speed(Transfer::Read, 0).min(slowest(Transfer::Write, 1..n)),
            Layout::Raid10 => slowest(Transfer::Read, 0..n).min(slowest(Transfer::Write, 0..n)),
            // md writes the last member, from the others.
            Layout::Raid5 => slowest(Transfer::Read, 0..n - 1).min(speed(Transfer::Write, n - 1)),
            // It reads all, and writes parity where it differs.
            Layout::Raid6 => slowest(Transfer::Read, 0..n).min(slowest(Transfer::Write, 0..n)),
        };
        let limits = self.shared.into_iter().flatten();
        let rate = limits.fold(rate, |rate, limit| rate.min(limit / n as f64));
        Some(bytes as f64 / rate)
    }

    fn chunk(&self) -> u64 {
        if self.layout.is_striped() { self.chunk } else { UNSTRIPED }
    }

    /// Chunks of data after which the same members have the same parts again.
    fn rotation(&self) -> u64 {
        let n = self.members.len();
        (self.layout.data_members(n).max(1) * n) as u64
    }

    /// Seconds of one member for so many bytes.
    fn alone(&self, transfer: Transfer, at: usize, bytes: u64) -> f64 {
        let cost = self.cost(transfer, at);
        self.members[at].queue.requests(bytes) as f64 * cost.fixed + bytes as f64 / cost.rate
    }

    fn cost(&self, transfer: Transfer, at: usize) -> &Cost {
        match transfer {
            Transfer::Read => &self.members[at].read,
            Transfer::Write => &self.members[at].write,
        }
    }

    /// The parts are sent one after the other, in requests; a full queue stops the sender. Members work at the same time, all
    /// slower where what they share is not enough. While one member works, the processors prepare and complete the
    /// requests of the others.
    fn phase_seconds(&self, phase: &Phase) -> f64 {
        let n = self.members.len();
        let mut requests = phase.parts.iter().flat_map(|(at, bytes)| {
            let most = self.members[*at].queue.request;
            (0..bytes.div_ceil(most)).map(move |nth| (*at, most.min(bytes - nth * most)))
        });
        let mut busy = vec![Busy::default(); n];
        let mut processor = vec![0.0; n];
        let (mut seconds, mut next) = (0.0, requests.next());
        loop {
            while let Some((at, bytes)) =
                next.filter(|(at, _)| busy[*at].queue.len() < self.members[*at].queue.depth)
            {
                let member = &mut busy[at];
                if member.queue.is_empty() {
                    member.left = 1.0;
                }
                member.queue.push_back(bytes);
                processor[at] += self.members[at].processor[phase.transfer as usize].seconds(bytes);
                next = requests.next();
            }
            let works = |at: &usize| !busy[*at].queue.is_empty();
            let alone = |at: usize| self.cost(phase.transfer, at).seconds(busy[at].queue[0]);
            let asked: f64 = (0..n).filter(works).map(|at| busy[at].queue[0] as f64 / alone(at)).sum();
            let slower = self.shared[phase.transfer as usize].map_or(1.0, |rate| f64::max(asked / rate, 1.0));
            // The one that is done first.
            let left = |at: usize| busy[at].left * alone(at) * slower;
            let Some(step) = (0..n).filter(works).map(left).min_by(f64::total_cmp) else { break };
            let done: Vec<f64> =
                (0..n).map(|at| if works(&at) { step / (alone(at) * slower) } else { 0.0 }).collect();
            for (member, done) in busy.iter_mut().zip(done) {
                member.left -= done;
                if member.left <= EPSILON && member.queue.pop_front().is_some() {
                    member.left = 1.0;
                }
            }
            seconds += step;
        }
        let most = processor.iter().copied().fold(0.0, f64::max);
        seconds + (processor.iter().sum::<f64>() - most) / self.cores as f64
    }

    fn phases(&self, transfer: Transfer, offset: u64, bytes: u64, cache: &mut RowCache) -> Vec<Phase> {
        let n = self.members.len();
        let parts = match (self.layout, transfer) {
            // md goes on with the member of raid1 that it read before, which is the first one after writes to all.
            (Layout::Single | Layout::Linear, _) | (Layout::Raid1, Transfer::Read) => vec![(0, bytes)],
            (Layout::Raid1, Transfer::Write) => (0..n).map(|at| (at, bytes)).collect(),
            (Layout::Raid5 | Layout::Raid6, Transfer::Write) => {
                return self.parity_writes(offset, bytes, cache);
            }
            _ => {
                let pieces = self.pieces(offset, bytes).into_iter();
                let each = |(chunk, _, length)| {
                    self.holders(chunk, transfer).into_iter().map(move |at| (at, length))
                };
                pieces.flat_map(each).collect()
            }
        };
        vec![Phase { transfer, parts }]
    }

    /// The parts of a range in chunks: the number of the chunk, where in it, and how long.
    fn pieces(&self, offset: u64, bytes: u64) -> Vec<(u64, u64, u64)> {
        let (mut at, end) = (offset, offset + bytes);
        let mut pieces = Vec::new();
        while at < end {
            let within = at % self.chunk;
            let length = (self.chunk - within).min(end - at);
            pieces.push((at / self.chunk, within, length));
            at += length;
        }
        pieces
    }

    /// The members that a chunk of data is read from, or that its copies are written to.
    fn holders(&self, chunk: u64, transfer: Transfer) -> Vec<usize> {
        let n = self.members.len() as u64;
        match (self.layout, transfer) {
            (Layout::Raid10, Transfer::Write) => {
                vec![(2 * chunk % n) as usize, ((2 * chunk + 1) % n) as usize]
            }
            // The first copy, while nothing else is read.
            (Layout::Raid10, Transfer::Read) => vec![(2 * chunk % n) as usize],
            (Layout::Raid5 | Layout::Raid6, _) => {
                let data = self.layout.data_members(n as usize) as u64;
                vec![self.data_member(chunk / data, chunk % data)]
            }
            _ => vec![(chunk % n) as usize],
        }
    }

    /// The members with parity in a stripe: left-symmetric, md's default.
    fn parity_members(&self, stripe: u64) -> Vec<usize> {
        let n = self.members.len();
        let first = n - 1 - (stripe % n as u64) as usize;
        (0..n - self.layout.data_members(n)).map(|k| (first + k) % n).collect()
    }

    fn data_member(&self, stripe: u64, position: u64) -> usize {
        let parity = self.parity_members(stripe);
        (parity[0] + parity.len() + position as usize) % self.members.len()
    }

    /// What parity takes: for each row of a stripe md reads what it does not have of either what is overwritten with its
    /// parity, or of the other data, whichever are fewer members, and then writes.
    fn parity_writes(&self, offset: u64, bytes: u64, cache: &mut RowCache) -> Vec<Phase> {
        let n = self.members.len();
        let data = self.layout.data_members(n) as u64;
        let (mut read, mut written) = (vec![0; n], vec![0; n]);
        let pieces = self.pieces(offset, bytes);
        let mut stripes: Vec<u64> = pieces.iter().map(|(chunk, ..)| chunk / data).collect();
        stripes.dedup();
        for stripe in stripes {
            let of: Vec<_> = pieces.iter().filter(|(chunk, ..)| chunk / data == stripe).collect();
            let parity = self.parity_members(stripe);
            let parity_bits = bits(&parity);
            let ends = of.iter().map(|(_, from, length)| (from / ROW, (from + length).div_ceil(ROW)));
            let (first, end) = ends.fold((u64::MAX, 0), |(a, b), (from, to)| (a.min(from), b.max(to)));
            for row in first..end {
                let holds = |(_, from, length): &&&(u64, u64, u64)| {
                    from / ROW <= row && row < (from + length).div_ceil(ROW)
                };
                let touched: Vec<usize> = of
                    .iter()
                    .filter(holds)
                    .map(|(chunk, ..)| self.data_member(stripe, chunk % data))
                    .collect();
                if touched.is_empty() {
                    continue;
                }
                let touched = bits(&touched);
                let all = (1 << n) - 1;
                let (targets, known) = (touched | parity_bits, cache.known((stripe, row)));
                let [rewrite, rebuild] = [targets & !known, all & !targets & !known];
                let sources = if rewrite.count_ones() < rebuild.count_ones() { rewrite } else { rebuild };
                for at in 0..n {
                    read[at] += ROW * (sources >> at & 1);
                    written[at] += ROW * (targets >> at & 1);
                }
                cache.learn((stripe, row), targets | sources);
            }
        }
        let phases = [(Transfer::Read, read), (Transfer::Write, written)]
            .map(|(transfer, bytes)| Phase { transfer, parts: self.in_turn(&bytes) });
        phases.into_iter().filter(|phase| !phase.parts.is_empty()).collect()
    }

    /// Rows go to all members before the next one does: a request of each in turn.
    fn in_turn(&self, bytes: &[u64]) -> Vec<(usize, u64)> {
        let mut left = bytes.to_vec();
        let mut parts = Vec::new();
        while left.iter().any(|left| *left > 0) {
            for (at, left) in left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
                let part = self.members[at].queue.request.min(*left);
                parts.push((at, part));
                *left -= part;
            }
        }
        parts
    }
}

fn bits(members: &[usize]) -> u64 {
    members.iter().fold(0, |bits, at| bits | 1 << at)
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stick(fixed: f64, read: f64, write: f64) -> Speeds {
        let (read, write) = (Cost { fixed, rate: read }, Cost { fixed, rate: write });
        Speeds { read, write, queue: Queue::ENDLESS, processor: [Cost::NOTHING; 2] }
    }

    fn planned(layout: Layout, members: &[Speeds]) -> Planned<'_> {
        Planned { layout, chunk: 512 * KIB, members, shared: [None, None], cores: 1 }
    }

    fn sequential(pool: Planned<'_>, transfer: Transfer, block: u64) -> f64 {
        pool.speed(transfer, Pattern::Sequential, block)
    }

    fn close(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn two_sizes_of_blocks_give_a_fixed_time_and_a_rate() {
        let truth = Cost { fixed: 0.4e-3, rate: 20e6 };
        let speed = |bytes: u64| (bytes, bytes as f64 / truth.seconds(bytes));
        let found = Cost::through(Queue::ENDLESS, speed(4 * KIB), speed(MIB));
        close(found.fixed, truth.fixed);
        close(found.rate, truth.rate);
        let slower = Cost::through(Queue::ENDLESS, (4 * KIB, 9e6), (MIB, 8e6));
        assert_eq!(slower, Cost { fixed: 0.0, rate: 8e6 }, "a larger block that is slower");
    }

    #[test]
    fn what_is_spread_adds_up_and_what_is_copied_does_not() {
        let four = [stick(0.0, 20e6, 5e6); 4];
        let speed = |layout, transfer, block| sequential(planned(layout, &four), transfer, block);
        close(speed(Layout::Raid0, Transfer::Read, 2 * MIB), 80e6);
        close(speed(Layout::Raid0, Transfer::Write, MIB), 10e6);
        close(speed(Layout::Raid0, Transfer::Write, 4 * KIB), 5e6);
        close(speed(Layout::Raid1, Transfer::Write, MIB), 5e6);
        close(speed(Layout::Raid1, Transfer::Read, MIB), 20e6);
        close(speed(Layout::Raid10, Transfer::Write, MIB), 10e6);
        close(speed(Layout::Linear, Transfer::Write, MIB), 5e6);
        // A whole stripe needs no reads.
        let three = 3 * 512 * KIB;
        close(speed(Layout::Raid5, Transfer::Write, three), 15e6);
        close(speed(Layout::Raid6, Transfer::Write, MIB), 10e6);
    }

    #[test]
    fn a_small_write_to_parity_reads_first_unless_md_has_the_rest_of_the_stripe() {
        let (fixed, read, write) = (1e-3, 20e6, 5e6);
        let small = 4.0 * KIB as f64;
        let once = |rate: f64| fixed + small / rate;
        for (layout, members) in
            [(Layout::Raid5, 3), (Layout::Raid5, 5), (Layout::Raid6, 4), (Layout::Raid6, 8)]
        {
            let all = vec![stick(fixed, read, write); members];
            let speed = planned(layout, &all).speed(Transfer::Write, Pattern::Random, 4 * KIB);
            close(speed, small / (once(read) + once(write)));
        }
        // Of three members: the other chunk is read for the first, and known for the second.
        let three = [stick(fixed, read, write); 3];
        let speed = sequential(planned(Layout::Raid5, &three), Transfer::Write, 4 * KIB);
        close(speed, small / (once(read) / 2.0 + once(write)));
        // Two of three chunks of a stripe: the third is read, as that is less than both and the parity.
        let four = vec![stick(0.0, read, write); 4];
        let phases = planned(Layout::Raid5, &four).phases(Transfer::Write, 0, MIB, &mut RowCache::default());
        let moved: Vec<u64> =
            phases.iter().map(|phase| phase.parts.iter().map(|(_, bytes)| bytes).sum()).collect();
        assert_eq!(moved, [512 * KIB, 3 * 512 * KIB]);
    }

    #[test]
    fn a_shared_bus_is_paid_by_every_copy() {
        let four = [stick(0.0, 20e6, 20e6); 4];
        let over = |layout| {
            let pool = Planned { shared: [None, Some(30e6)], ..planned(layout, &four) };
            sequential(pool, Transfer::Write, 3 * MIB)
        };
        close(over(Layout::Raid0), 30e6);
        close(over(Layout::Raid1), 7.5e6);
        close(over(Layout::Raid10), 15e6);
        close(over(Layout::Raid5), 22.5e6);
    }

    #[test]
    fn copies_cost_the_processor_one_operation_each() {
        let processor = [Cost { fixed: 0.1e-3, rate: f64::INFINITY }; 2];
        let four = [Speeds { processor, ..stick(1e-3, f64::INFINITY, f64::INFINITY) }; 4];
        let speed =
            |cores| sequential(Planned { cores, ..planned(Layout::Raid1, &four) }, Transfer::Write, 4 * KIB);
        close(speed(1), 4.0 * KIB as f64 / 1.3e-3);
        close(speed(3), 4.0 * KIB as f64 / 1.1e-3);
    }

    #[test]
    fn a_rebuild_is_as_fast_as_its_slowest_part() {
        let members = [stick(0.0, 20e6, 5e6), stick(0.0, 10e6, 5e6), stick(0.0, 20e6, 8e6)];
        let fill = |layout| planned(layout, &members).fill_seconds(80_000_000);
        assert_eq!([Layout::Raid0, Layout::Raid5, Layout::Raid1].map(fill), [None, Some(10.0), Some(16.0)]);
    }

    proptest! {
        #[test]
        fn no_pool_is_faster_than_its_members_together_or_what_they_share(
            rates in prop::collection::vec((1e6..1e8f64, 1e6..1e8f64, 0.0..1e-2f64), 4..7),
            (chunk, block) in (2u32..9, 2u32..10),
            shared in 1e6..1e9f64,
        ) {
            let members: Vec<Speeds> = rates.iter().map(|(read, write, fixed)| stick(*fixed, *read, *write)).collect();
            for layout in Layout::ALL {
                let pool = Planned { chunk: KIB << chunk, ..planned(layout, &members) };
                for transfer in [Transfer::Read, Transfer::Write] {
                    for pattern in [Pattern::Sequential, Pattern::Random] {
                        let free = pool.speed(transfer, pattern, KIB << block);
                        let sum: f64 = (0..members.len()).map(|at| pool.cost(transfer, at).rate).sum();
                        prop_assert!(free.is_finite() && free > 0.0 && free <= sum * 1.000001, "{layout} {transfer:?}: {free}");
                        let limited = Planned { shared: [Some(shared); 2], ..pool }.speed(transfer, pattern, KIB << block);
                        prop_assert!(limited <= free * 1.000001, "{layout}: {limited}");
                        if !matches!(layout, Layout::Raid5 | Layout::Raid6) {
                            prop_assert!(limited <= shared * 1.000001, "{layout}: {limited}");
                        }
                    }
                }
            }
        }
    }
}
