//! How fast a pool will be, from what its drives do alone and at once: each operation is followed to the members, phase by
//! phase, as md carries it out. Nothing here is fitted to pools.

mod cost;
mod fill;
mod flow;
mod phases;

pub use cost::{Cost, End};
use phases::RowCache;

use crate::{
    repeat,
    units::{Layout, Parity, Pattern},
};

/// What the kernel sends to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Bytes of a request at most: larger operations are several.
    pub request: u64,
    /// Reads, and writes, that the drive has or that wait for it. Who sends one more waits until one is completed.
    pub depth: [usize; 2],
    /// Of copies and parity, two writes wait at most, and whoever had to wait goes on only once the drive has none left.
    pub drains: bool,
}

/// Now and then an operation takes much longer than others. Which one it is has nothing to do with the other members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    /// Seconds for each byte, on average.
    pub per_byte: f64,
    /// Of one of them.
    pub seconds: f64,
}

impl Stalls {
    pub const NONE: Self = Self { per_byte: 0.0, seconds: 0.0 };
}

/// A member of a pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speeds {
    /// Without its stalls.
    pub read: Cost,
    pub write: Cost,
    /// Of reads, and of writes.
    pub stalls: [Stalls; 2],
    pub queue: Queue,
    /// Whether the kernel takes it for a rotating disk, as it does most USB sticks.
    pub rotates: bool,
    /// What reads and writes take of a processor, one after the other.
    pub processor: [Cost; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    Read,
    Write,
}

/// A drive that needs so long for a small read anywhere moves a head, s: flash needs a few milliseconds at most.
const SEEK: f64 = 4e-3;

/// Whether a drive moves a head, from the speed of its random reads, bytes per second.
pub fn seeks(block: u64, speed: f64) -> bool {
    block as f64 / speed > SEEK
}

/// Whether members don't simply go on in sequential operations of a pool, but between data and parity, copies or the bitmap. How
/// far a head moves then, and how long that takes, is not in the model.
pub fn jumps(layout: Layout, transfer: Transfer, pattern: Pattern) -> bool {
    pattern == Pattern::Sequential
        && match layout {
            Layout::Single | Layout::Linear | Layout::Raid0 => false,
            Layout::Raid1 => transfer == Transfer::Write,
            Layout::Raid5 | Layout::Raid6 | Layout::Raid10 => true,
        }
}

/// What some members move at once at most: a hub or a bus limits them.
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
    /// What one operation asks of several drives is sent to the last of them first, as some kernels do.
    pub last_first: bool,
    /// How fast the kernel computes parity.
    pub parity: Parity,
}

/// Writes of md that the kernel lets through, where it throttles them.
const THROTTLED: usize = 2;
/// Operations that are followed at most, from each start.
const MOST: u64 = 20_000;
/// The model follows no more members.
pub const MOST_MEMBERS: usize = 128;
/// Where in a chunk a file begins is not known: the mean of so many places.
const STARTS: u64 = 8;

impl Queue {
    /// Nothing is divided, and nothing waits.
    pub const ENDLESS: Self = Self { request: u64::MAX, depth: [usize::MAX; 2], drains: false };

    /// From what the kernel says, where that is known: the largest request, and how many requests, and how many writes among
    /// them, it queues; and whether it throttles md's writes.
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
    /// Bytes per second of operations of `block` bytes, one at a time: sequential ones, or anywhere.
    pub fn speed(&self, transfer: Transfer, pattern: Pattern, block: u64) -> f64 {
        1.0 / self.anywhere(transfer, pattern, block)
    }

    /// The same for a file that begins at each of these places, bytes after the pool's beginning: the median.
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

    /// Seconds for each byte, in a file that may be anywhere.
    fn anywhere(&self, transfer: Transfer, pattern: Pattern, block: u64) -> f64 {
        if self.layout == Layout::Linear {
            // On any of the drives, too.
            let each = self.singles().map(|one| one.anywhere(transfer, pattern, block));
            return each.sum::<f64>() / self.members.len() as f64;
        }
        let starts = if self.layout.is_striped() { STARTS } else { 1 };
        // Filesystems begin files on pages.
        let at = |n: u64| (self.chunk * n / STARTS) & !(phases::ROW - 1);
        let each = (0..starts).map(|n| self.per_byte(transfer, pattern, block, at(n)));
        each.sum::<f64>() / starts as f64
    }

    /// Seconds for each byte, in a file that begins `start` bytes after the pool's beginning.
    fn per_byte(&self, transfer: Transfer, pattern: Pattern, block: u64, start: u64) -> f64 {
        // After so many operations the pattern of members and parity repeats.
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
            // What md has in memory, and where drives read last.
            pass(0);
        }
        pass(cycle) / (all * block) as f64
    }

    /// Requests that a member's queue holds, and whether all of them must be done before whoever found it full goes on. The kernel
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

    /// What a member shares with others.
    fn shared_by(&self, transfer: Transfer, at: usize) -> impl Iterator<Item = &Shared> {
        self.shared.iter().filter(move |shared| shared.transfer == transfer && shared.members.contains(&at))
    }

    /// Seconds of one member for so many bytes, without its stalls.
    fn alone(&self, transfer: Transfer, at: usize, bytes: u64) -> f64 {
        let cost = self.cost(transfer, at);
        self.members[at].queue.requests(bytes) as f64 * cost.fixed + bytes as f64 / cost.rate
    }

    /// What one request takes of a processor: no more than its time.
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
