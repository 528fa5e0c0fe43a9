//! Blocks that say where they were written: a block that is read somewhere else shows how a drive maps its addresses.

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Length of a block, bytes.
pub const BLOCK: usize = 4096;
const SECTOR: usize = 512;
const MAGIC: &[u8; 8] = b"drvbench";
/// Length of the magic number, the salt and the position, bytes.
const HEAD: usize = 24;

/// The block for this position. The salt tells the blocks of one round from those of another.
pub fn stamp(salt: u64, position: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    stamp_into(&mut block, salt, position);
    block
}

/// Writes the stamp of this position into a block.
pub fn stamp_into(block: &mut [u8], salt: u64, position: u64) {
    // Content that neither repeats nor compresses.
    Xoshiro256PlusPlus::seed_from_u64(salt ^ position.wrapping_mul(0x9e37_79b9_7f4a_7c15)).fill_bytes(block);
    for sector in block.chunks_exact_mut(SECTOR) {
        sector[..8].copy_from_slice(MAGIC);
        sector[8..16].copy_from_slice(&salt.to_le_bytes());
        sector[16..HEAD].copy_from_slice(&position.to_le_bytes());
    }
}

/// The salt and the position of the stamp that a block holds, whole or in part.
pub fn stamped(block: &[u8]) -> Option<(u64, u64)> {
    let head = |sector: &[u8]| {
        let number = |at: usize| Some(u64::from_le_bytes(sector.get(at..at + 8)?.try_into().ok()?));
        (sector.get(..8)? == MAGIC).then(|| Some((number(8)?, number(16)?))).flatten()
    };
    block.chunks_exact(SECTOR).find_map(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_says_where_it_was_written_even_in_part() {
        let block = stamp(7, 42);
        assert_eq!(stamped(&block), Some((7, 42)));
        let mut torn = vec![0; BLOCK];
        torn[3 * SECTOR..].copy_from_slice(&block[3 * SECTOR..]);
        assert_eq!(stamped(&torn), Some((7, 42)));
        assert_eq!(stamped(&vec![0; BLOCK]), None);
        assert_ne!(block, stamp(7, 43));
    }
}
