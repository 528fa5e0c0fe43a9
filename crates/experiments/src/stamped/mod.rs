//! Whole drives that are written with stamps: what the stamps are, and where they are written.

mod device;
mod stamp;

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

pub use device::Device;
pub use stamp::{BLOCK, stamp, stamp_into, stamped};

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
