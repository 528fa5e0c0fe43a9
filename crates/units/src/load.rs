//! A load: the I/O that is run on a drive.

use serde::{Deserialize, Serialize};

use super::{Ended, MIB, size};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Read,
    Write,
    Mixed {
        /// Percentage of operations that read, 0 to 100.
        read_percent: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Blocks one after the other, again from the start at the end of the extent.
    Sequential,
    /// Any block of the extent, uniformly, with replacement.
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// `O_DIRECT`: bypasses the page cache.
    Direct,
    Buffered,
    /// Through the page cache, with one `fsync` at the end that counts as part of the load.
    BufferedFsync,
}

impl Caching {
    pub fn words(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Buffered => "buffered",
            Self::BufferedFsync => "buffered + fsync",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Incompressible bytes, built before the load starts.
    #[default]
    Random,
    /// Zeros, as `dd if=/dev/zero` writes them. Some drives and filesystems compress them.
    Zeros,
}

/// A part of a target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub offset: u64,
    pub length: u64,
}

/// The I/O that is run on a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    pub direction: Direction,
    pub pattern: Pattern,
    /// Bytes per operation.
    pub block: u64,
    /// Operations in flight.
    pub depth: u32,
    pub caching: Caching,
    #[serde(default)]
    pub content: Content,
    /// Whether each write lasts until it is on stable storage (`O_DSYNC`), as databases and file servers ask for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
    /// Number of equal parts of the extent in which a sequential load goes on in turn.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Seeds the content and the order of offsets. Writing and verifying must use the same seed.
    pub seed: u64,
    /// Whether each written block gets a stamp (offset, seed, checksum), and the stamp of each block read is checked.
    #[serde(default)]
    pub verify: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("block size {} is out of range: 64 B to 16 MiB", size(*.0))]
    Block(u64),
    #[error("depth {0} is out of range: 1 to 256")]
    Depth(u32),
    #[error("{0} streams are out of range: 1 to 64")]
    Streams(u32),
    #[error("{0} % of reads is out of range: 0 to 100")]
    ReadPercent(u8),
    #[error("{depth} blocks of {} in flight need {} of buffers; the limit is {}", size(*.block), size(.block * u64::from(*.depth)), size(Load::MAX_BUFFERS))]
    Buffers { block: u64, depth: u32 },
    /// Two writes may overlap in one block, which leaves no valid stamp.
    #[error("verify can't check random writes at depth {0}, where two may overlap in one block; use depth 1")]
    Overlap(u32),
    #[error("verify needs blocks of 64 B or more in multiples of 8 B, not {0} B")]
    Stamp(u64),
}

impl Load {
    /// Whether its windows show memory, not the drive, because the `fsync` at its end was not finished.
    pub fn lacks_fsync(&self, ended: Option<&Ended>) -> bool {
        let whole = ended.is_some_and(Ended::is_whole);
        self.caching == Caching::BufferedFsync && self.writes() && !whole
    }

    /// The maximum size of all buffers of one target. It suits a board with 512 MB.
    pub const MAX_BUFFERS: u64 = 64 * MIB;

    /// A load of depth 1 with random content, not verified.
    pub fn new(direction: Direction, pattern: Pattern, block: u64, caching: Caching, seed: u64) -> Self {
        Self {
            direction,
            pattern,
            block,
            depth: 1,
            caching,
            content: Content::Random,
            sync: false,
            streams: 1,
            seed,
            verify: false,
        }
    }

    /// Refuses loads that are out of range.
    pub fn check(&self) -> Result<(), LoadError> {
        if !(64..=16 * MIB).contains(&self.block) {
            return Err(LoadError::Block(self.block));
        }
        if !(1..=256).contains(&self.depth) {
            return Err(LoadError::Depth(self.depth));
        }
        if !(1..=64).contains(&self.streams) {
            return Err(LoadError::Streams(self.streams));
        }
        if self.block * u64::from(self.depth) > Self::MAX_BUFFERS {
            return Err(LoadError::Buffers { block: self.block, depth: self.depth });
        }
        if let Direction::Mixed { read_percent: percent @ 101.. } = self.direction {
            return Err(LoadError::ReadPercent(percent));
        }
        if self.verify && self.writes() && self.pattern == Pattern::Random && self.depth > 1 {
            return Err(LoadError::Overlap(self.depth));
        }
        if self.verify && self.block % 8 != 0 {
            return Err(LoadError::Stamp(self.block));
        }
        Ok(())
    }

    pub fn writes(&self) -> bool {
        !matches!(self.direction, Direction::Read | Direction::Mixed { read_percent: 100 })
    }

    pub fn reads(&self) -> bool {
        !matches!(self.direction, Direction::Write | Direction::Mixed { read_percent: 0 })
    }

    pub fn short_name(&self) -> String {
        let name = short_load_name(self.pattern, self.block, self.depth, self.streams, self.sync);
        if self.caching == Caching::Direct { name } else { format!("{name} {}", self.caching.words()) }
    }

    /// The load in fio's words, such as `sequential write, 4 KiB, direct, depth 1`.
    pub fn describe(&self) -> String {
        let direction = match self.direction {
            Direction::Read => "read".to_owned(),
            Direction::Write => "write".to_owned(),
            Direction::Mixed { read_percent } => format!("mixed {read_percent} % read"),
        };
        let pattern = if self.pattern == Pattern::Sequential { "sequential" } else { "random" };
        let caching = self.caching.words();
        let streams = if self.streams > 1 { format!(", {} streams", self.streams) } else { String::new() };
        let sync = if self.sync { ", each synced" } else { "" };
        format!("{pattern} {direction}, {}, {caching}, depth {}{streams}{sync}", size(self.block), self.depth)
    }
}

/// A short name without the direction, such as `RND4K Q32`; sequential loads of depth 1 have no depth in it.
pub fn short_load_name(pattern: Pattern, block: u64, depth: u32, streams: u32, sync: bool) -> String {
    let sequential = pattern == Pattern::Sequential;
    let block: String = size(block).chars().filter(|c| !matches!(c, ' ' | 'i' | 'B')).collect();
    let order = if sequential { "SEQ" } else { "RND" };
    let depth = match (streams, depth) {
        (2.., _) => format!(" {streams} streams"),
        (_, 1) if sequential => String::new(),
        (_, depth) => format!(" Q{depth}"),
    };
    format!("{order}{block}{depth}{}", if sync { " sync" } else { "" })
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        Load::new(Direction::Write, Pattern::Sequential, 4096, Caching::Direct, 1)
    }

    #[test]
    fn loads_are_described() {
        assert_eq!(load().describe(), "sequential write, 4 KiB, direct, depth 1");
        let mixed = Load {
            direction: Direction::Mixed { read_percent: 70 },
            pattern: Pattern::Random,
            caching: Caching::BufferedFsync,
            ..load()
        };
        let synced = Load { depth: 4, streams: 4, sync: true, ..load() };
        assert_eq!(synced.describe(), "sequential write, 4 KiB, direct, depth 4, 4 streams, each synced");
        let random = Load { pattern: Pattern::Random, ..load() };
        let names =
            [&synced, &random, &Load { block: MIB, ..load() }, &Load { block: 512, depth: 8, ..load() }];
        let names = names.map(Load::short_name);
        assert_eq!(names, ["SEQ4K 4 streams sync", "RND4K Q1", "SEQ1M", "SEQ512 Q8"]);
        assert_eq!(mixed.short_name(), "RND4K Q1 buffered + fsync");
        assert_eq!(mixed.describe(), "random mixed 70 % read, 4 KiB, buffered + fsync, depth 1");
    }

    #[test]
    fn refuses_loads_out_of_range() {
        assert_eq!(load().check(), Ok(()));
        assert_eq!(Load { block: 0, ..load() }.check(), Err(LoadError::Block(0)));
        assert_eq!(Load { block: 17 * MIB, ..load() }.check(), Err(LoadError::Block(17 * MIB)));
        assert_eq!(Load { depth: 0, ..load() }.check(), Err(LoadError::Depth(0)));
        assert_eq!(Load { depth: 257, ..load() }.check(), Err(LoadError::Depth(257)));
        assert_eq!(Load { streams: 0, ..load() }.check(), Err(LoadError::Streams(0)));
        let wide = Load { block: 16 * MIB, depth: 5, ..load() }.check().expect_err("80 MiB of buffers");
        assert_eq!(
            wide.to_string(),
            "5 blocks of 16 MiB in flight need 80 MiB of buffers; the limit is 64 MiB"
        );
        assert_eq!(Load { block: 100, verify: true, ..load() }.check(), Err(LoadError::Stamp(100)));
        let random = Load { pattern: Pattern::Random, verify: true, ..load() };
        assert_eq!(random.check(), Ok(()));
        assert_eq!(Load { depth: 8, ..random }.check(), Err(LoadError::Overlap(8)));
    }

    #[test]
    fn every_direction_but_read_writes() {
        assert!(load().writes());
        assert!(!Load { direction: Direction::Mixed { read_percent: 100 }, ..load() }.writes());
        assert!(Load { direction: Direction::Mixed { read_percent: 99 }, ..load() }.writes());
    }
}
