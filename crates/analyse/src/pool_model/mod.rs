//! How fast a pool will be, from the speeds of its drives alone and together: each operation is followed to the members, phase by
//! phase, as md carries it out. No constant is fitted to pools.

mod cost;
mod flow;
mod phases;

pub use cost::{Cost, End};
use phases::RowCache;

use crate::{
    repeat,
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

    /// The ceiling that a member shares with others.
    fn shared_by(&self, transfer: Transfer, at: usize) -> impl Iterator<Item = &Shared> {
        self.shared.iter().filter(move |shared| shared.transfer == transfer && shared.members.contains(&at))
    }

    /// Processor time of one request, at most its whole time.
    fn processor_alone(&self, transfer: Transfer, at: usize, bytes: u64) -> f64 {
        let most = self.cost(transfer, at).seconds(bytes);
        self.members[at].processor[transfer as usize].seconds(bytes).min(most)
    }

    fn stalls(&self, transfer: Transfer, at: usize) -> &Stalls {
        &self.members[at].stalls[transfer as usize]
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

#[cfg(test)]
mod tests;
