//! I/O buffers: aligned for direct I/O, with content built before the load starts.
#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ops::{Deref, DerefMut},
    ptr::NonNull,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use crate::units::{Content, Load};

use super::op_sequence::Rng;

/// An alignment of memory that every drive and filesystem accepts, bytes.
pub(super) const ALIGN: usize = 4096;

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

/// Fills memory with what a load writes; a load that only reads leaves it.
pub(super) fn fill(memory: &mut [u8], load: &Load) {
    if !load.writes() {
        return;
    }
    memory.fill(0);
    if load.content == Content::Random {
        // A different random stream from the one for offsets.
        let mut rng = Rng::new(load.seed ^ 0x6472_6976_6562_656e);
        for word in memory.chunks_mut(8) {
            word.copy_from_slice(&rng.next().to_le_bytes()[..word.len()]);
        }
    }
}

/// Gives every page of a block a number of its own, so that no store that keeps equal pages once keeps fewer of them.
pub(super) fn renew(block: &mut [u8], load: &Load) {
    // Runs begin at different nanoseconds, and no run writes a page in each.
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    static NEXT: OnceLock<AtomicU64> = OnceLock::new();
    if load.content == Content::Random {
        let pages = block.len().div_ceil(ALIGN) as u64;
        let first = NEXT.get_or_init(|| AtomicU64::new(now())).fetch_add(pages, Ordering::Relaxed);
        for (page, number) in block.chunks_mut(ALIGN).zip(first..) {
            let length = page.len().min(8);
            page[..length].copy_from_slice(&number.to_le_bytes()[..length]);
        }
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
    fn no_page_is_written_twice_and_random_content_does_not_compress() {
        let load = job(8192, 8192).load;
        let mut block = Aligned::new(8192);
        fill(&mut block, &load);
        assert!(block.chunks(8).filter(|word| word.iter().all(|byte| *byte == 0)).count() < 2);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            renew(&mut block, &load);
            assert!(block.chunks(ALIGN).all(|page| seen.insert(page.to_vec())));
        }
    }

    #[test]
    fn zeros_are_zeros() {
        let mut load = job(4096, 4096).load;
        load.content = Content::Zeros;
        let mut block = Aligned::touched(4096);
        fill(&mut block, &load);
        renew(&mut block, &load);
        assert!(block.iter().all(|&byte| byte == 0));
    }
}
