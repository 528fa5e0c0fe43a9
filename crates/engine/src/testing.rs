//! Jobs for the tests of this crate.

use crate::units::{Caching, Direction, Extent, Load, Pattern};

use super::Job;

/// A buffered sequential write of `bytes` in blocks of `block` at the start of the first target.
pub(super) fn job(block: u64, bytes: u64) -> Job {
    let load = Load::new(Direction::Write, Pattern::Sequential, block, Caching::Buffered, 1);
    Job { target: 0, load, extent: Extent { offset: 0, length: 1 << 30 }, begin: 0, bytes, window: 1 << 20 }
}
