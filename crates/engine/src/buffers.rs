//! I/O buffers: aligned for direct I/O, with content built before the load starts.
#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

use crate::units::{Content, Load};

use super::op_sequence::Rng;

/// An alignment of memory that every drive and filesystem accepts, bytes.
pub(super) const ALIGN: usize = 4096;

/// Content repeats after this many bytes, 244 KiB: more than the windows of zlib and LZ4, and than the 128 KiB that btrfs and
/// ZFS compress at a time, but small enough to stay in the processor's cache, as the single buffer of other programs does
/// (5 MiB slowed 1 MiB writes by 4 to 10 % at 3 GB/s). It is a prime number of pages, so that blocks of any size use all of
/// it before one repeats.
const PERIOD: usize = 61 * ALIGN;

/// Zeroed memory that begins on a page.
#[derive(Debug)]
pub struct Aligned {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is the only owner of its memory, as a Vec<u8> is.
unsafe impl Send for Aligned {}
// SAFETY: shared references only read.
unsafe impl Sync for Aligned {}

impl Aligned {
    pub fn new(len: usize) -> Self {
        let layout =
            Layout::from_size_align(len.max(1), ALIGN).expect("buffers are bounded by Load::MAX_BUFFERS");
        // SAFETY: the layout isn't empty.
        match NonNull::new(unsafe { alloc_zeroed(layout) }) {
            Some(start) => Self { start, layout },
            None => handle_alloc_error(layout),
        }
    }

    /// Writes to every page, so that no page fault occurs during a load.
    pub(super) fn touched(len: usize) -> Self {
        let mut memory = Self::new(len);
        memory.iter_mut().step_by(ALIGN).for_each(|byte| *byte = 1);
        memory
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory is owned, initialised, and has the length of its layout.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// The data that a load writes: one pool for all operations, each using the next piece.
pub(super) struct Pool {
    pub(super) memory: Aligned,
    block: usize,
    period: usize,
}

impl Pool {
    /// The content of `load`, ready to be written; `None` if it only reads.
    pub(super) fn new(load: &Load) -> Option<Self> {
        if !load.writes() {
            return None;
        }
        let block = load.block as usize;
        let period = if load.content == Content::Random { PERIOD } else { 0 };
        let mut memory = Aligned::touched(period + block);
        memory.fill(0);
        if load.content == Content::Random {
            // A different random stream from the one for offsets.
            let mut rng = Rng::new(load.seed ^ 0x6472_6976_6562_656e);
            for word in memory.chunks_mut(8) {
                word.copy_from_slice(&rng.next().to_le_bytes()[..word.len()]);
            }
        }
        Some(Self { memory, block, period })
    }

    /// The offset in the pool of the bytes of operation `number`.
    pub(super) fn start(&self, number: u64) -> usize {
        (u128::from(number) * self.block as u128 % self.period.max(1) as u128) as usize
    }

    /// The bytes that operation `number` writes.
    pub(super) fn block(&self, number: u64) -> &[u8] {
        let start = self.start(number);
        &self.memory[start..start + self.block]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::job;

    #[test]
    fn memory_is_aligned_and_zero() {
        for len in [64, 512, 4097, 1 << 20] {
            let memory = Aligned::new(len);
            assert_eq!((memory.as_ptr() as usize % ALIGN, memory.len()), (0, len));
            assert!(memory.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn content_repeats_only_after_the_whole_pool() {
        for block in [64, 4096, 128 << 10, 1 << 20, 3 << 20] {
            let load = job(block, block).load;
            let pool = Pool::new(&load).expect("it writes");
            let blocks = (PERIOD as u64 / block).clamp(30, 61);
            let mut heads: Vec<_> = (0..blocks).map(|number| &pool.block(number)[..16]).collect();
            heads.sort_unstable();
            assert!(heads.windows(2).all(|pair| pair[0] != pair[1]), "blocks of {block} B repeat");
        }
    }

    #[test]
    fn direct_loads_stay_aligned_and_consecutive_large_blocks_differ() {
        let load = job(16 << 20, 1).load;
        let pool = Pool::new(&load).expect("it writes");
        for number in [0, 1, 2, 1_000_003] {
            assert_eq!(pool.start(number) % ALIGN, 0);
            assert_ne!(pool.block(number)[..4096], pool.block(number + 1)[..4096]);
        }
    }

    #[test]
    fn zeros_are_zeros_and_readers_have_no_pool() {
        let mut load = job(4096, 4096).load;
        load.content = Content::Zeros;
        let pool = Pool::new(&load).expect("it writes");
        assert!(pool.block(17).iter().all(|&byte| byte == 0));
        load.direction = crate::units::Direction::Read;
        assert!(Pool::new(&load).is_none());
    }
}
