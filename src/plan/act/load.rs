//! Run a load and time it.

use serde::{Deserialize, Serialize};

use super::{Changes, Cost, Kind, StepId};
use crate::{
    analyse::{Rules, Zones},
    units::{Caching, Direction, Extent, Load, MIB, Pattern, aim, duration, size},
};

/// What a load through the page cache moves: enough to outlast a drive's own cache, little enough to be repeated.
const CACHED: u64 = 256 * MIB;

/// How many windows a load of a fixed size and a bounded time has, or more.
const WINDOWS: u64 = 64;

/// The most bytes that a zone measurement reads: 65 positions at its finest.
pub const fn zone_bytes() -> u64 {
    65 * Zones::SEGMENT
}

/// A load that is run and timed; on several targets all start at the same instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// What is measured, such as `write`; steps with the same label and target belong together.
    pub label: String,
    /// Which repetition of it, from 1.
    pub repetition: u32,
    /// What is asked of each target.
    pub load: Load,
    /// When it is enough.
    pub rule: Rule,
    /// How far into the target it may reach, bytes.
    pub reach: u64,
    /// Read only what the steps before wrote: areas never written read impossibly fast.
    pub only_written: bool,
    /// Empty the page cache of the target first.
    pub cold: bool,
}

/// When a measurement is enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "rule")]
pub enum Rule {
    /// This many bytes; a protocol's take as long as they take.
    Fixed {
        /// Bytes to move.
        bytes: u64,
        /// Most seconds, where something bounds them.
        seconds: Option<f64>,
    },
    /// Until the interval is narrow enough or a budget is spent.
    Adaptive {
        /// How the interval is got and when it is narrow enough.
        rules: Rules,
        /// Most bytes to move.
        bytes: u64,
        /// Most seconds.
        seconds: f64,
    },
    /// The load of an earlier step again: it goes on where that one ended, and moves at most as much, within the same
    /// bytes.
    Again {
        /// The step it continues.
        of: StepId,
        /// As of that step.
        rules: Rules,
        /// Most seconds.
        seconds: f64,
    },
    /// Equally spaced positions over the whole target, for disks that rotate.
    Zones {
        /// The share of the value that the interval may take to either side.
        precision: f64,
        /// Most seconds in all.
        seconds: f64,
    },
}

impl Kind for Measure {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn cost(&self) -> Cost {
        let (bytes, seconds) = match self.rule {
            Rule::Fixed { bytes, seconds } => (bytes, seconds),
            Rule::Adaptive { bytes, seconds, .. } => (bytes, Some(seconds)),
            // Counted with the step it continues.
            Rule::Again { seconds, .. } => (0, Some(seconds)),
            Rule::Zones { seconds, .. } => (zone_bytes(), Some(seconds)),
        };
        let (written, read) = if self.load.writes() { (bytes, 0) } else { (0, bytes) };
        Cost { written, read, seconds }
    }

    fn changes(&self) -> Changes {
        if self.load.writes() { Changes::OwnFiles } else { Changes::Nothing }
    }

    fn describe(&self) -> Option<String> {
        Some(self.describe_repeated(&[self]))
    }

    // What a buffered read finds in the page cache is what the load before left there.
    fn continues(&self) -> bool {
        let warm = self.load.caching == Caching::Buffered && !self.cold && !self.load.writes();
        warm || matches!(self.rule, Rule::Again { .. })
    }
}

impl Measure {
    /// The first repetition of a load. It may read what no step wrote, and the page cache is left as it is.
    pub fn new(label: &str, load: Load, rule: Rule, reach: u64) -> Self {
        Self { label: label.to_owned(), repetition: 1, load, rule, reach, only_written: false, cold: false }
    }

    /// What it may touch of a target of which `readable` bytes from the start can be read back.
    pub fn extent(&self, readable: u64) -> Extent {
        match self.rule {
            Rule::Again { .. } => {
                let offset = readable.next_multiple_of(self.load.block);
                Extent { offset, length: self.reach.saturating_sub(offset).min(readable) }
            }
            _ if self.only_written => Extent { offset: 0, length: readable.min(self.reach) },
            _ => Extent { offset: 0, length: self.reach },
        }
    }

    /// How far the target can be read back from its start after this load wrote so many bytes in `extent`. Only a
    /// sequential write leaves no gaps.
    pub fn filled(&self, extent: Extent, written: u64) -> u64 {
        let gapless = self.load.pattern == Pattern::Sequential && self.load.direction == Direction::Write;
        let whole = extent.length / self.load.block * self.load.block;
        if gapless { extent.offset + written.min(whole) } else { 0 }
    }

    /// The same through the page cache. Its windows show memory until the end, so no rule can watch
    /// it: a fixed amount instead, which writes finish with `fsync` and reads begin cold.
    pub fn through_cache(&self) -> Self {
        let (bytes, seconds) = match self.rule {
            Rule::Fixed { bytes, seconds } => (bytes, seconds),
            Rule::Adaptive { bytes, seconds, .. } => (bytes, Some(seconds)),
            Rule::Zones { seconds, .. } | Rule::Again { seconds, .. } => (self.reach, Some(seconds)),
        };
        let bytes = bytes.min(CACHED).min(self.reach) / self.load.block * self.load.block;
        let writes = self.load.writes();
        let caching = if writes { Caching::BufferedFsync } else { Caching::Buffered };
        Self {
            load: Load { caching, ..self.load.clone() },
            rule: Rule::Fixed { bytes, seconds },
            cold: !writes,
            ..self.clone()
        }
    }

    /// The smallest window that suits its rule: chunks of 1 MiB, or one block where that is larger; less where little
    /// is moved in a bounded time, for time is only looked at between windows.
    pub fn window(&self) -> u64 {
        let chunk = match self.rule {
            Rule::Fixed { bytes, seconds: Some(_) } => (bytes / WINDOWS).clamp(1, MIB),
            _ => MIB,
        };
        chunk.next_multiple_of(self.load.block)
    }

    /// The load and when it ends, of all repetitions `same` of one label on one target. Loads that differ only in
    /// their block size are one line.
    pub(in crate::plan) fn describe_repeated(&self, same: &[&Self]) -> String {
        let runs = same.len();
        let mut blocks: Vec<u64> = same.iter().map(|o| o.load.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        if let [smallest, .., largest] = blocks[..] {
            let load = Load { block: smallest, ..self.load.clone() };
            let range = format!("{} to {}", size(smallest), size(largest));
            let load = load.describe().replace(&size(smallest), &range);
            return format!("{load}, {} sizes, {} runs each", blocks.len(), runs / blocks.len());
        }
        let until = match &self.rule {
            Rule::Fixed { bytes, seconds } => {
                let runs = if runs > 1 { format!(", {runs} runs") } else { String::new() };
                let within = seconds.map(|s| format!(" or {}", duration(s))).unwrap_or_default();
                format!("{}{within}{runs}", size(*bytes))
            }
            Rule::Adaptive { rules, .. } if rules.w_min.is_none() => {
                "until it slows down for good".to_owned()
            }
            Rule::Adaptive { rules, .. } => format!("until ±{} is sure", aim(rules.precision)),
            Rule::Again { .. } => "if it slowed down".to_owned(),
            Rule::Zones { .. } => "at 17 to 65 positions".to_owned(),
        };
        format!("{}, {until}", self.load.describe())
    }
}
