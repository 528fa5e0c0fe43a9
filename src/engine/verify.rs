//! Stamps in blocks, which verify a block's offset, its writer and its content.
//!
//! The first 24 bytes of a block: magic (4), CRC-32 of the rest of the block (4), offset (8), seed (8), little-endian.

const MARK: [u8; 4] = *b"dbv1";

/// Stamps a block of at least 64 B for `offset`.
pub(super) fn stamp(block: &mut [u8], offset: u64, seed: u64) {
    block[8..16].copy_from_slice(&offset.to_le_bytes());
    block[16..24].copy_from_slice(&seed.to_le_bytes());
    let sum = crc32fast::hash(&block[8..]);
    block[..4].copy_from_slice(&MARK);
    block[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// Checks a block read at `offset`.
pub(super) fn check(block: &[u8], offset: u64, seed: u64) -> Result<(), String> {
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
        return Err("the block's checksum is wrong; its bytes changed".to_owned());
    }
    if number(8) != offset {
        return Err(format!("the block belongs to offset {}; it was found in the wrong place", number(8)));
    }
    if number(16) != seed {
        return Err("the block was written by another load (its seed differs)".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mismatch_has_its_message() {
        for size in [64, 72, 4096, 1 << 20] {
            let mut block = vec![0xa5; size];
            assert!(check(&block, 0, 7).expect_err("unstamped").contains("no stamp"));
            stamp(&mut block, 1 << 40, 7);
            assert_eq!(check(&block, 1 << 40, 7), Ok(()));
            assert!(check(&block, 4096, 7).expect_err("moved").contains("offset 1099511627776"));
            assert!(check(&block, 1 << 40, 8).expect_err("seed").contains("another load"));
            for at in [4, 8, 23, 24, size / 2, size - 1] {
                block[at] ^= 0x10;
                assert!(check(&block, 1 << 40, 7).expect_err("flipped").contains("checksum"), "byte {at}");
                block[at] ^= 0x10;
            }
            assert!(check(&vec![0; size], 0, 7).expect_err("zeros").contains("all zeros"));
        }
    }
}
