//! Whole drives that are written with stamps, which say where they were written: a block that is read somewhere else shows how a drive
//! maps its addresses.

mod device;

use std::io;

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::rand::{GetRandomFlags, getrandom};

pub use device::Device;

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

/// A drive under test. Positions are numbers of blocks. Where [`is_of_drive`] holds for an error, the drive can't read or write the blocks;
/// other errors end the test.
pub trait Medium {
    fn blocks(&self) -> u64;

    /// Reads consecutive blocks, past the page cache.
    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()>;

    fn write(&mut self, at: u64, data: &[u8]) -> io::Result<()>;

    fn flush(&mut self) -> io::Result<()>;

    /// Opens it again, after it was unplugged and plugged in.
    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether an error is the drive's answer, not the loss of the drive or the end of the test.
pub fn is_of_drive(e: &io::Error) -> bool {
    // EIO, ENODATA, EILSEQ, EREMOTEIO, ETIMEDOUT, EBADMSG, ENOSPC
    e.raw_os_error().is_some_and(|code| [5, 61, 84, 121, 110, 74, 28].contains(&code))
}

/// A number that tells the stamps of one test from those of all others.
pub fn random_seed() -> io::Result<u64> {
    let mut seed = [0; 8];
    getrandom(&mut seed[..], GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(seed))
}

/// `None` where the drive can't do it.
pub fn attempt(result: io::Result<()>) -> io::Result<Option<()>> {
    match result {
        Err(e) if is_of_drive(&e) => Ok(None),
        other => other.map(Some),
    }
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
