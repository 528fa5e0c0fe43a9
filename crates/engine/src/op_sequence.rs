//! The sequence of operations of a load: offsets and directions, the same for every engine.

use crate::units::{Direction, Pattern};

use super::Job;

/// splitmix64: a small seeded generator, sufficient for offsets and incompressible bytes.
#[derive(Debug, Clone)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `limit` (bias below 2^-64 times `limit`).
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    /// From 0, in the order of submission.
    pub(super) number: u64,
    /// Bytes from the target's start.
    pub(super) offset: u64,
    pub(super) read: bool,
}

#[derive(Debug, Clone)]
pub(super) struct OpSequence {
    offset: u64,
    block: u64,
    /// In each stream.
    blocks: u64,
    streams: u64,
    random: bool,
    read_percent: u64,
    next: u64,
    ops: u64,
    at: u64,
    rng: Rng,
}

impl OpSequence {
    /// The extent must hold at least one block.
    pub(super) fn new(job: &Job) -> Self {
        let random = job.load.pattern == Pattern::Random;
        // An extent of fewer blocks than streams has one stream.
        let streams = u64::from(job.load.streams);
        let streams = if random || job.extent.length / job.load.block < streams { 1 } else { streams };
        let blocks = (job.extent.length / job.load.block / streams).max(1);
        Self {
            offset: job.extent.offset,
            block: job.load.block,
            blocks,
            streams,
            random,
            read_percent: match job.load.direction {
                Direction::Read => 100,
                Direction::Write => 0,
                Direction::Mixed { read_percent } => u64::from(read_percent),
            },
            next: 0,
            ops: ops(job),
            at: job.begin / job.load.block % (blocks * streams),
            rng: Rng::new(job.load.seed.wrapping_add(job.begin)),
        }
    }
}

pub(super) fn ops(job: &Job) -> u64 {
    job.bytes.div_ceil(job.load.block)
}

impl Iterator for OpSequence {
    type Item = Op;

    fn next(&mut self) -> Option<Op> {
        if self.next == self.ops {
            return None;
        }
        let block = if self.random {
            self.rng.below(self.blocks)
        } else {
            let at = self.at;
            self.at = if at + 1 == self.blocks * self.streams { 0 } else { at + 1 };
            at % self.streams * self.blocks + at / self.streams
        };
        let read = match self.read_percent {
            0 => false,
            100 => true,
            percent => self.rng.below(100) < percent,
        };
        self.next += 1;
        Some(Op { number: self.next - 1, offset: self.offset + block * self.block, read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{testing::job, units::Extent};

    #[test]
    fn sequential_loads_wrap_and_skip_a_partial_block() {
        let mut job = job(4096, 20_000);
        job.extent = Extent { offset: 8192, length: 3 * 4096 + 100 };
        let offsets: Vec<u64> = OpSequence::new(&job).map(|op| op.offset).collect();
        assert_eq!(offsets, [8192, 12288, 16384, 8192, 12288]);
    }

    #[test]
    fn streams_take_turns_in_parts_of_the_extent() {
        let mut job = job(4096, 10 * 4096);
        job.load.streams = 2;
        job.extent = Extent { offset: 0, length: 9 * 4096 };
        let blocks: Vec<u64> = OpSequence::new(&job).map(|op| op.offset / 4096).collect();
        assert_eq!(blocks, [0, 4, 1, 5, 2, 6, 3, 7, 0, 4]);
    }

    #[test]
    fn random_loads_stay_inside_and_reach_every_block() {
        let mut job = job(512, 512 * 4000);
        job.load.pattern = Pattern::Random;
        job.load.direction = Direction::Mixed { read_percent: 70 };
        job.extent = Extent { offset: 1024, length: 512 * 64 };
        let ops: Vec<Op> = OpSequence::new(&job).collect();
        let mut seen = [0; 64];
        for op in &ops {
            assert_eq!((op.offset - 1024) % 512, 0);
            seen[((op.offset - 1024) / 512) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 20), "{seen:?}");
        let reads = ops.iter().filter(|op| op.read).count();
        assert!((2600..3000).contains(&reads), "{reads} of 4000 read");
        assert_eq!(ops, OpSequence::new(&job).collect::<Vec<_>>(), "only the seed matters");
    }
}
