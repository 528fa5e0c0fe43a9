//! A load: what is asked of a drive.

use serde::{Deserialize, Serialize};

use super::{MIB, size};

/// Which way bytes move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
    /// Both, this percentage of operations reading (0 to 100).
    Mixed {
        /// Percentage of operations that read.
        read_percent: u8,
    },
}

/// The order of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One block after the other, starting again at the extent's start when its end is reached.
    Sequential,
    /// Any block of the extent, uniformly, with replacement.
    Random,
}

/// Caching between the load and the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// `O_DIRECT`: past the page cache.
    Direct,
    /// Through the page cache.
    Buffered,
    /// Through the page cache, with one `fsync` at the end that counts as part of the load.
    BufferedFsync,
}

impl Caching {
    /// In words, such as `buffered + fsync`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Buffered => "buffered",
            Self::BufferedFsync => "buffered + fsync",
        }
    }
}

/// What is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Incompressible bytes, built before the load starts.
    #[default]
    Random,
    /// Zeros, as `dd if=/dev/zero` writes them; some drives and filesystems compress them away.
    Zeros,
}

/// A part of a target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
}

/// What is asked of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Which way bytes move.
    pub direction: Direction,
    /// The order of offsets.
    pub pattern: Pattern,
    /// Bytes per operation.
    pub block: u64,
    /// Operations in flight.
    pub depth: u32,
    /// Caching between the load and the drive.
    pub caching: Caching,
    /// What is written.
    #[serde(default)]
    pub content: Content,
    /// Seeds the content and the order of offsets; written and verified by the same seed.
    pub seed: u64,
    /// Stamp each block written with its offset, the seed and a checksum, and check the stamp of each block read.
    #[serde(default)]
    pub verify: bool,
}

/// Why a load can't be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The block size is out of range.
    #[error("block size {} is out of range: 64 B to 16 MiB", size(*.0))]
    Block(u64),
    /// The depth is out of range.
    #[error("depth {0} is out of range: 1 to 256")]
    Depth(u32),
    /// The share of reads is no percentage.
    #[error("{0} % of reads is out of range: 0 to 100")]
    ReadPercent(u8),
    /// All blocks in flight together need too much memory.
    #[error("{depth} blocks of {} in flight need {} of buffers; the limit is {}", size(*.block), size(.block * u64::from(*.depth)), size(Load::MAX_BUFFERS))]
    Buffers {
        /// Bytes per operation.
        block: u64,
        /// Operations in flight.
        depth: u32,
    },
    /// Two writes to one block may overlap, and neither's stamp holds.
    #[error("verify can't check random writes at depth {0}: two of them may meet in one block; use depth 1")]
    Overlap(u32),
    /// A stamp does not fit into so small a block.
    #[error("verify needs blocks of 64 B or more in multiples of 8 B, not {0} B")]
    Stamp(u64),
}

impl Load {
    /// The most that all buffers of one target may take, so that a board with 512 MB is safe.
    pub const MAX_BUFFERS: u64 = 64 * MIB;

    /// A load of one operation in flight, whose content is random and not compared.
    pub fn new(direction: Direction, pattern: Pattern, block: u64, caching: Caching, seed: u64) -> Self {
        Self { direction, pattern, block, depth: 1, caching, content: Content::Random, seed, verify: false }
    }

    /// Refuses what no engine should try.
    pub fn check(&self) -> Result<(), LoadError> {
        if !(64..=16 * MIB).contains(&self.block) {
            return Err(LoadError::Block(self.block));
        }
        if !(1..=256).contains(&self.depth) {
            return Err(LoadError::Depth(self.depth));
        }
        if self.block * u64::from(self.depth) > Self::MAX_BUFFERS {
            return Err(LoadError::Buffers { block: self.block, depth: self.depth });
        }
        match self.direction {
            Direction::Mixed { read_percent } if read_percent > 100 => {
                return Err(LoadError::ReadPercent(read_percent));
            }
            _ => {}
        }
        if self.verify && self.writes() && self.pattern == Pattern::Random && self.depth > 1 {
            return Err(LoadError::Overlap(self.depth));
        }
        if self.verify && self.block % 8 != 0 {
            return Err(LoadError::Stamp(self.block));
        }
        Ok(())
    }

    /// Whether any operation writes.
    pub fn writes(&self) -> bool {
        !matches!(self.direction, Direction::Read | Direction::Mixed { read_percent: 100 })
    }

    /// Whether any operation reads.
    pub fn reads(&self) -> bool {
        !matches!(self.direction, Direction::Write | Direction::Mixed { read_percent: 0 })
    }

    /// The load in fio's words, such as `sequential write, 4 KiB, direct, depth 1`.
    pub fn describe(&self) -> String {
        let direction = match self.direction {
            Direction::Read => "read".to_owned(),
            Direction::Write => "write".to_owned(),
            Direction::Mixed { read_percent } => format!("mixed {read_percent} % read"),
        };
        let pattern = match self.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        };
        let caching = self.caching.words();
        format!("{pattern} {direction}, {}, {caching}, depth {}", size(self.block), self.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        Load {
            direction: Direction::Write,
            pattern: Pattern::Sequential,
            block: 4096,
            depth: 1,
            caching: Caching::Direct,
            content: Content::Random,
            seed: 1,
            verify: false,
        }
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
        assert_eq!(mixed.describe(), "random mixed 70 % read, 4 KiB, buffered + fsync, depth 1");
    }

    #[test]
    fn refuses_absurd_numbers() {
        assert_eq!(load().check(), Ok(()));
        assert_eq!(Load { block: 0, ..load() }.check(), Err(LoadError::Block(0)));
        assert_eq!(Load { block: 17 * MIB, ..load() }.check(), Err(LoadError::Block(17 * MIB)));
        assert_eq!(Load { depth: 0, ..load() }.check(), Err(LoadError::Depth(0)));
        assert_eq!(Load { depth: 257, ..load() }.check(), Err(LoadError::Depth(257)));
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
    fn writes_unless_it_only_reads() {
        assert!(load().writes());
        assert!(!Load { direction: Direction::Mixed { read_percent: 100 }, ..load() }.writes());
        assert!(Load { direction: Direction::Mixed { read_percent: 99 }, ..load() }.writes());
    }
}
