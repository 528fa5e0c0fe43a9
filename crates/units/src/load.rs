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
    #[serde(alias = "buffered+fsync")]
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
    /// Seeds the order of offsets. Writing and verifying must use the same seed.
    pub seed: u64,
    /// Whether each written block gets a stamp (offset, seed, checksum), and the stamp of each block read is checked.
    #[serde(default)]
    pub verify: bool,
}

/// Why a load is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(String);

impl Load {
    /// Whether its windows show memory, not the drive, because the `fsync` at its end was not finished.
    pub fn lacks_fsync(&self, ended: Option<&Ended>) -> bool {
        let whole = ended.is_some_and(Ended::is_whole);
        self.caching == Caching::BufferedFsync && self.writes() && !whole
    }

    /// The most bytes in flight of one target. Buffers take up to three times as many, which suits a board with 512 MB.
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
        let Self { block, depth, streams, verify, .. } = *self;
        let percent = if let Direction::Mixed { read_percent } = self.direction { read_percent } else { 0 };
        let buffers = block.saturating_mul(u64::from(depth));
        let overlaps = self.writes() && self.pattern == Pattern::Random && depth > 1;
        let range = |what: String, range: &str| format!("{what} is out of range: {range}");
        let why = if !(64..=16 * MIB).contains(&block) {
            range(format!("block size {}", size(block)), "64 B to 16 MiB")
        } else if !(1..=256).contains(&depth) {
            range(format!("depth {depth}"), "1 to 256")
        } else if !(1..=64).contains(&streams) {
            range(format!("number of streams {streams}"), "1 to 64")
        } else if percent > 100 {
            range(format!("{percent} % of reads"), "0 to 100")
        } else if buffers > Self::MAX_BUFFERS {
            let (buffers, most) = (size(buffers), size(Self::MAX_BUFFERS));
            format!(
                "{depth} blocks of {} in flight need {buffers} of buffers; the limit is {most}",
                size(block)
            )
        } else if verify && overlaps {
            // Two writes may overlap in one block, which leaves no valid stamp.
            format!("verify can't check random writes at depth {depth}; use depth 1")
        } else if verify && block % 8 != 0 {
            format!("verify needs blocks in multiples of 8 B, not {block} B")
        } else {
            return Ok(());
        };
        Err(LoadError(why))
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
    fn loads_have_short_names() {
        let mixed = Load {
            direction: Direction::Mixed { read_percent: 70 },
            pattern: Pattern::Random,
            caching: Caching::BufferedFsync,
            ..load()
        };
        let synced = Load { depth: 4, streams: 4, sync: true, ..load() };
        let random = Load { pattern: Pattern::Random, ..load() };
        let names =
            [&synced, &random, &Load { block: MIB, ..load() }, &Load { block: 512, depth: 8, ..load() }];
        let names = names.map(Load::short_name);
        assert_eq!(names, ["SEQ4K 4 streams sync", "RND4K Q1", "SEQ1M", "SEQ512 Q8"]);
        assert_eq!(mixed.short_name(), "RND4K Q1 buffered + fsync");
    }

    #[test]
    fn refuses_loads_out_of_range() {
        assert_eq!(load().check(), Ok(()));
        let refused = |load: Load| load.check().expect_err("out of range").to_string();
        assert_eq!(refused(Load { block: 0, ..load() }), "block size 0 B is out of range: 64 B to 16 MiB");
        assert_eq!(
            refused(Load { block: 17 * MIB, ..load() }),
            "block size 17 MiB is out of range: 64 B to 16 MiB"
        );
        for depth in [0, 257] {
            let says = format!("depth {depth} is out of range: 1 to 256");
            assert_eq!(refused(Load { depth, ..load() }), says);
        }
        let says = "number of streams 0 is out of range: 1 to 64";
        assert_eq!(refused(Load { streams: 0, ..load() }), says);
        let direction = Direction::Mixed { read_percent: 101 };
        assert_eq!(refused(Load { direction, ..load() }), "101 % of reads is out of range: 0 to 100");
        assert_eq!(
            refused(Load { block: 16 * MIB, depth: 5, ..load() }),
            "5 blocks of 16 MiB in flight need 80 MiB of buffers; the limit is 64 MiB"
        );
        let says = "verify needs blocks in multiples of 8 B, not 100 B";
        assert_eq!(refused(Load { block: 100, verify: true, ..load() }), says);
        let random = Load { pattern: Pattern::Random, verify: true, ..load() };
        assert_eq!(random.check(), Ok(()));
        let says = "verify can't check random writes at depth 8; use depth 1";
        assert_eq!(refused(Load { depth: 8, ..random }), says);
    }

    #[test]
    fn every_direction_but_read_writes() {
        assert!(load().writes());
        assert!(!Load { direction: Direction::Mixed { read_percent: 100 }, ..load() }.writes());
        assert!(Load { direction: Direction::Mixed { read_percent: 99 }, ..load() }.writes());
    }
}
