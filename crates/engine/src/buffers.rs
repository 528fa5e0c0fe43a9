//! I/O buffers: aligned for direct I/O, with content built before the load starts.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hasher, RandomState},
    ops::{Deref, DerefMut},
};

use crate::units::{Content, Load};

use super::{
    op_sequence::{Op, Rng},
    verify,
};

/// An alignment of memory that every drive and filesystem accepts, bytes.
pub(super) const ALIGN: usize = 4096;

/// Random bytes are written again after this many others: more than the windows of zlib and LZ4, and than the 128 KiB that
/// btrfs and ZFS compress at a time, but small enough to stay in the processor's cache (5 MiB slowed 1 MiB writes by 4 to 10 % at
/// 3 GB/s).
const AGAIN: usize = 256 << 10;

/// Zeroed memory that begins on a page.
#[derive(Debug)]
pub struct Aligned {
    /// It never grows, so it stays where it is.
    memory: Vec<u8>,
    /// Its part that begins on a page.
    from: usize,
    len: usize,
}

impl Aligned {
    pub fn new(len: usize) -> Self {
        let memory = vec![0; len + ALIGN];
        let from = memory.as_ptr().align_offset(ALIGN);
        Self { memory, from, len }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.from..][..self.len]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.from..][..self.len]
    }
}

/// The memory of operations in flight: each has a slot, with room for what it reads and a piece of random content for what it
/// writes. A new operation takes the piece that was written longest ago, whichever operation completed. Each page begins with a
/// number of its own, so that no drive or filesystem finds the same page twice.
pub(super) struct Buffers {
    memory: Aligned,
    /// The piece of each slot, and the pieces of none, written longest ago first.
    pieces: Vec<usize>,
    spare: VecDeque<usize>,
    block: usize,
    /// Bytes from a slot to the next for what is read, and from a piece to the next.
    room: usize,
    stride: usize,
    /// Whether pages are numbered; zeros are not.
    random: bool,
    /// Random, so that two loads write different pages.
    salt: u64,
}

impl Buffers {
    /// `slots` is the number of operations in flight that share this memory.
    pub(super) fn new(load: &Load, slots: usize) -> Self {
        let block = load.block as usize;
        let rounded = block.next_multiple_of(ALIGN);
        let room = if load.reads() { rounded } else { 0 };
        let random = load.writes() && load.content == Content::Random;
        let pieces = match load.writes() {
            true if random => slots - 1 + AGAIN.div_ceil(block),
            true => slots,
            false => 0,
        };
        // Smaller blocks fill pages together.
        let stride = if block < ALIGN { block } else { rounded };
        let salt = RandomState::new().build_hasher().finish();
        let mut memory = Aligned::new(slots * room + pieces * stride);
        // Writes to every page, so that no page fault occurs during a load.
        memory.fill(0);
        if random {
            let mut rng = Rng::new(salt);
            for word in memory.chunks_mut(8) {
                word.copy_from_slice(&rng.next().to_le_bytes()[..word.len()]);
            }
        }
        let (pieces, spare) = ((0..slots).collect(), (slots..pieces).collect());
        Self { memory, pieces, spare, block, room, stride, random, salt }
    }

    pub(super) fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// The block of an operation: where it reads to, or what it writes, stamped if it is to be verified.
    pub(super) fn block(&mut self, slot: usize, op: Op, load: &Load, generation: u64) -> &mut [u8] {
        if op.read {
            return self.read(slot);
        }
        let content = self.write(slot, op.number);
        if load.verify {
            verify::stamp(content, op.offset, load.seed, generation);
        }
        content
    }

    /// Where a slot reads to.
    pub(super) fn read(&mut self, slot: usize) -> &mut [u8] {
        &mut self.memory[slot * self.room..][..self.block]
    }

    /// What operation `number` writes from a slot.
    fn write(&mut self, slot: usize, number: u64) -> &mut [u8] {
        self.spare.push_back(self.pieces[slot]);
        self.pieces[slot] = self.spare.pop_front().expect("one was added");
        let at = self.pieces.len() * self.room + self.pieces[slot] * self.stride;
        let content = &mut self.memory[at..][..self.block];
        if self.random {
            for (page, bytes) in (number << 12..).zip(content.chunks_mut(ALIGN)) {
                // Each number gives another stamp, and stamps don't compress.
                let stamp = Rng::new(self.salt.wrapping_add(page)).next().to_le_bytes();
                let len = bytes.len().min(stamp.len());
                bytes[..len].copy_from_slice(&stamp[..len]);
            }
        }
        content
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{testing::job, units::Direction};

    #[test]
    fn memory_is_aligned_and_zero() {
        for len in [64, 512, 4097, 1 << 20] {
            let memory = Aligned::new(len);
            assert_eq!((memory.as_ptr() as usize % ALIGN, memory.len()), (0, len));
            assert!(memory.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn no_page_is_written_twice() {
        let mut seen = HashSet::new();
        for (block, slots) in [(64, 1), (4096, 1), (4096, 64), (128 << 10, 4), (1 << 20, 8), (3 << 20, 1)] {
            let load = job(block, block).load;
            // The same load again, too.
            for mut buffers in [Buffers::new(&load, slots), Buffers::new(&load, slots)] {
                for number in 0..100 {
                    let content = buffers.write(number as usize % slots, number);
                    assert_eq!(content.len(), block as usize);
                    let new =
                        content.chunks(ALIGN).all(|page| seen.insert(page[..page.len().min(64)].to_vec()));
                    assert!(new, "blocks of {block} B at depth {slots}");
                }
            }
        }
    }

    #[test]
    fn what_is_written_in_a_row_is_random() {
        for (block, slots) in [(64, 1), (4096, 1), (4100, 2), (4096, 64), (16 << 10, 3)] {
            let mut buffers = Buffers::new(&job(block, 1).load, slots);
            let row = AGAIN as u64 / block;
            // Operations complete in turn, or all but one hang.
            for turn in [slots as u64, 1] {
                // Past the numbers at the head of a page.
                let tails: HashSet<Vec<u8>> = (1000..1000 + row)
                    .map(|number| buffers.write((number % turn) as usize, number)[8..64].to_vec())
                    .collect();
                assert_eq!(tails.len() as u64, row, "blocks of {block} B at depth {slots}, {turn} in turn");
            }
        }
    }

    #[test]
    fn direct_loads_stay_aligned() {
        let mut load = job(16 << 20, 1).load;
        load.direction = Direction::Mixed { read_percent: 50 };
        for slots in [1, 3] {
            let mut buffers = Buffers::new(&load, slots);
            for number in [0, 1, 2, 1_000_003] {
                let slot = number as usize % slots;
                assert_eq!(buffers.write(slot, number).as_ptr() as usize % ALIGN, 0);
                assert_eq!(buffers.read(slot).as_ptr() as usize % ALIGN, 0);
            }
        }
    }

    #[test]
    fn reading_leaves_what_is_written_as_it_was() {
        let mut load = job(1 << 20, 1 << 20).load;
        load.direction = Direction::Mixed { read_percent: 50 };
        let mut buffers = Buffers::new(&load, 2);
        (0..2).for_each(|slot| buffers.read(slot).fill(0));
        (0..2).for_each(|slot| {
            assert!(!buffers.write(slot, 0).chunks(64).any(|bytes| bytes.iter().all(|b| *b == 0)))
        });
    }

    #[test]
    fn zeros_are_zeros() {
        let mut load = job(4096, 4096).load;
        load.content = Content::Zeros;
        assert!(Buffers::new(&load, 1).write(0, 17).iter().all(|&byte| byte == 0));
    }
}
