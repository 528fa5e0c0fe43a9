//! Stamps in blocks: they verify a block's offset, the load that wrote it, its content, and that the last write is the one that is read.
//!
//! The first 32 bytes of a block, little-endian: magic (4), CRC-32 of the rest of the block (4), offset (8), seed (8), generation (8).
//! Each further sector begins with the generation, so that a block written in part differs from both of its versions.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use crate::units::Load;

use super::op_sequence::Op;

const MARK: [u8; 4] = *b"dbv2";

/// The size of the smallest sector, bytes.
const SECTOR: usize = 512;

/// The last write of each block of a target, as far as this process made it with stamps.
#[derive(Debug, Default)]
pub(super) struct LastWrites {
    begun: AtomicU64,
    blocks: Mutex<Vec<Written>>,
}

#[derive(Debug, Clone, Default)]
struct Written {
    /// The generation of the last write, 0 if it isn't known.
    last: u64,
    /// The number of writes in flight.
    writing: u32,
    /// Several were in flight at once: any of them may be the last.
    is_mixed: bool,
}

impl LastWrites {
    /// Notes that an operation begins. Of a verified write, the result is its generation; of a verified read, the least that it may
    /// find, 0 if that isn't known.
    pub(super) fn begin(&self, op: Op, load: &Load) -> u64 {
        match (load.verify, op.read) {
            (false, _) => 0,
            (true, true) => self.change(op, load, |block| block.last),
            (true, false) => {
                self.change(op, load, |block| {
                    block.last = 0;
                    block.is_mixed |= block.writing > 0;
                    block.writing += 1;
                });
                self.begun.fetch_add(1, Ordering::Relaxed) + 1
            }
        }
    }

    /// Notes that an operation has ended.
    pub(super) fn end(&self, op: Op, load: &Load, generation: u64) {
        if load.verify && !op.read {
            self.change(op, load, |block| {
                block.writing -= 1;
                if block.writing == 0 {
                    block.last = if std::mem::take(&mut block.is_mixed) { 0 } else { generation };
                }
            });
        }
    }

    fn change<T>(&self, op: Op, load: &Load, change: impl FnOnce(&mut Written) -> T) -> T {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (op.offset / load.block) as usize;
        if at >= blocks.len() {
            blocks.resize(at + 1, Written::default());
        }
        change(&mut blocks[at])
    }
}

/// Stamps a block of at least 64 B for `offset`.
pub(super) fn stamp(block: &mut [u8], offset: u64, seed: u64, generation: u64) {
    block[8..16].copy_from_slice(&offset.to_le_bytes());
    block[16..24].copy_from_slice(&seed.to_le_bytes());
    block[24..32].copy_from_slice(&generation.to_le_bytes());
    for sector in block.chunks_mut(SECTOR).skip(1) {
        sector[..8].copy_from_slice(&generation.to_le_bytes());
    }
    let sum = crc32fast::hash(&block[8..]);
    block[..4].copy_from_slice(&MARK);
    block[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// Checks a block read at `offset`, of the generation `least` or a later one.
pub(super) fn check(block: &[u8], offset: u64, seed: u64, least: u64) -> Result<(), String> {
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| block[at + i]));
    if block.iter().all(|&byte| byte == 0) {
        return Err("the block is all zeros; it was never written, or was lost".to_owned());
    }
    if block[..4] != MARK {
        return Err(
            "the block has no stamp; it was never written by this load, or was overwritten".to_owned()
        );
    }
    if block[4..8] != crc32fast::hash(&block[8..]).to_le_bytes() {
        return Err("the block's checksum is wrong; its bytes changed, or only a part was written".to_owned());
    }
    if number(8) != offset {
        return Err(format!("the block belongs to offset {}; it was found in the wrong place", number(8)));
    }
    if number(16) != seed {
        return Err("the block was written by another load (its seed differs)".to_owned());
    }
    if number(24) < least {
        return Err("the block holds an earlier write; the last one was lost, or not read".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::job;

    #[test]
    fn each_mismatch_has_its_message() {
        for size in [64, 72, 4096, 1 << 20] {
            let mut block = vec![0xa5; size];
            assert!(check(&block, 0, 7, 5).expect_err("unstamped").contains("no stamp"));
            stamp(&mut block, 1 << 40, 7, 5);
            assert_eq!(check(&block, 1 << 40, 7, 5), Ok(()));
            assert!(
                check(&block, 1 << 40, 7, 6).expect_err("an overwrite was lost").contains("earlier write")
            );
            assert!(check(&block, 4096, 7, 5).expect_err("moved").contains("offset 1099511627776"));
            assert!(check(&block, 1 << 40, 8, 5).expect_err("seed").contains("another load"));
            for at in [4, 8, 23, 24, size / 2, size - 1] {
                block[at] ^= 0x10;
                assert!(check(&block, 1 << 40, 7, 5).expect_err("flipped").contains("checksum"), "byte {at}");
                block[at] ^= 0x10;
            }
            assert!(check(&vec![0; size], 0, 7, 5).expect_err("zeros").contains("all zeros"));
        }
    }

    #[test]
    fn of_writes_in_flight_at_once_any_may_be_the_last() {
        let load = Load { verify: true, ..job(4096, 4096).load };
        let writes = LastWrites::default();
        let op = |offset, read| Op { number: 0, offset, read };
        let write = op(8192, false);
        let least = |offset| writes.begin(op(offset, true), &load);
        assert_eq!(least(8192), 0);
        let first = writes.begin(write, &load);
        writes.end(write, &load, first);
        assert_eq!((first, least(8192), least(0)), (1, 1, 0));
        for n in [2, 3] {
            let several: Vec<u64> = (0..n).map(|_| writes.begin(write, &load)).collect();
            for generation in several.iter().rev() {
                assert_eq!(least(8192), 0, "it may be read before or after");
                writes.end(write, &load, *generation);
            }
            assert_eq!(least(8192), 0);
        }
        let last = writes.begin(write, &load);
        writes.end(write, &load, last);
        assert_eq!(least(8192), last);
    }
}
