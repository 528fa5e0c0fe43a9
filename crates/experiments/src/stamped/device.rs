//! A claimed drive, read and written past the page cache.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::{BLOCK, Medium};
use crate::{
    danger::{Claim, consent},
    engine::Aligned,
};

pub struct Device<'c> {
    first: &'c Claim,
    /// The claim after the drive was unplugged.
    second: Option<Claim>,
    file: File,
    blocks: u64,
    buffer: Aligned,
}

impl<'c> Device<'c> {
    pub fn open(claim: &'c Claim) -> io::Result<Self> {
        let file = claim.open_direct().map_err(io::Error::other)?;
        let blocks = claim.drive().bytes() / BLOCK as u64;
        Ok(Self { first: claim, second: None, file, blocks, buffer: Aligned::new(BLOCK) })
    }

    pub fn is_plugged_in(&self) -> bool {
        self.second.as_ref().unwrap_or(self.first).is_plugged_in()
    }

    fn fit(&mut self, bytes: usize) {
        if self.buffer.len() != bytes {
            self.buffer = Aligned::new(bytes);
        }
    }
}

impl Medium for Device<'_> {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.fit(into.len());
        self.file.read_exact_at(&mut self.buffer, at * BLOCK as u64)?;
        into.copy_from_slice(&self.buffer);
        Ok(())
    }

    fn write(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        self.fit(data.len());
        self.buffer.copy_from_slice(data);
        self.file.write_all_at(&self.buffer, at * BLOCK as u64)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn reopen(&mut self) -> io::Result<()> {
        let was = self.first.drive();
        let claim = Claim::take(&was.identity(), &[consent(was)]).map_err(io::Error::other)?;
        self.file = claim.open_direct().map_err(io::Error::other)?;
        self.second = Some(claim);
        Ok(())
    }
}
