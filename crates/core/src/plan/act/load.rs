//! Run a load and time it.

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, LARGEST, Step, StepId};
use crate::{
    analyse::{Rules, Zones},
    findings::{LoadKey, On},
    run::{Execution, RunError, Troubles, act},
    units::{Caching, Direction, Extent, Load, MIB, Pattern, aim, count, duration, size},
};

/// The bytes of a load through the page cache: more than a drive's own cache, few enough to repeat.
const CACHED: u64 = 256 * MIB;
/// The bytes of one round through the page cache.
const CACHED_ROUND: u64 = 64 * MIB;

/// The minimum number of windows of a load with a fixed size and a time limit.
const WINDOWS: u64 = 64;

/// The maximum bytes of a zone measurement: 65 positions on the finest grid.
pub const fn zone_bytes() -> u64 {
    65 * Zones::SEGMENT
}

/// The label of loads that only fill a file, so that there is something to read and nothing new to allocate.
pub const FILL: &str = "fill";

/// A load that is run and timed. On several targets, all start at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The label, such as `write`. Steps with the same label and target are repetitions.
    pub label: String,
    /// The row of a table that its read and its write share, if it is not the load's short name.
    pub row: Option<String>,
    /// Which repetition of it, from 1.
    pub repetition: u32,
    pub load: Load,
    pub rule: Rule,
    /// Where the range that it may use begins and ends, bytes from the target's start.
    #[serde(default, skip_serializing_if = "crate::units::is_zero")]
    pub from: u64,
    /// If not 0, `from` counts from the first place in the target's file whose position on the device is a multiple of this, bytes.
    #[serde(default, skip_serializing_if = "crate::units::is_zero")]
    pub aligned: u64,
    pub reach: u64,
    /// Read only what earlier steps wrote: unwritten areas read without touching the medium.
    pub only_written: bool,
    /// Empty the page cache of the target first.
    pub cold: bool,
    /// Run it again while it is too short.
    pub again: Option<AtLeast>,
}

/// A load runs again, from the same state, until it took this time in total, unless that would be too many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AtLeast {
    pub seconds: f64,
    /// Maximum bytes in total.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "rule")]
pub enum Rule {
    /// A fixed number of bytes; in a published procedure without a time limit.
    Fixed { bytes: u64, seconds: Option<f64> },
    /// Until the interval is narrow enough or a limit is reached.
    Adaptive { rules: Rules, bytes: u64, seconds: f64 },
    /// One round of a load: ends after `seconds` and [`Rule::OPERATIONS`] operations, or after `longest` seconds.
    Round {
        bytes: u64,
        seconds: f64,
        longest: f64,
        /// The half-width aimed at over all rounds, as a share of the value.
        precision: f64,
    },
    /// Continues the load of an earlier step at its end, for at most as many bytes.
    Again { of: StepId, rules: Rules, seconds: f64 },
    /// Equally spaced positions over the whole target, for rotating disks.
    Zones {
        /// The half-width aimed at, as a share of the value.
        precision: f64,
        /// Maximum seconds in total.
        seconds: f64,
    },
}

impl Rule {
    /// Minimum number of operations for a speed.
    pub const OPERATIONS: u64 = 32;

    /// The maximum bytes, but for a load that continues another one, and seconds.
    pub fn limits(&self) -> (Option<u64>, Option<f64>) {
        match *self {
            Self::Fixed { bytes, seconds } => (Some(bytes), seconds),
            Self::Adaptive { bytes, seconds, .. } => (Some(bytes), Some(seconds)),
            Self::Round { bytes, longest, .. } => (Some(bytes), Some(longest)),
            Self::Again { seconds, .. } => (None, Some(seconds)),
            Self::Zones { seconds, .. } => (Some(zone_bytes()), Some(seconds)),
        }
    }
}

impl Measure {
    /// The first repetition of a load. It may read unwritten areas, and the page cache is not dropped.
    pub fn new(label: &str, load: Load, rule: Rule, reach: u64) -> Self {
        Self {
            label: label.to_owned(),
            row: None,
            repetition: 1,
            load,
            rule,
            from: 0,
            aligned: 0,
            reach,
            only_written: false,
            cold: false,
            again: None,
        }
    }

    /// Whether a fixed load that moved these bytes in these seconds, in total, runs again.
    pub fn runs_again(&self, bytes: u64, seconds: f64) -> bool {
        match (self.again, &self.rule) {
            (Some(again), Rule::Fixed { bytes: once, .. }) => {
                seconds < again.seconds && bytes.saturating_add(*once) <= again.bytes
            }
            _ => false,
        }
    }

    /// The same rule with a share of its time.
    #[must_use]
    pub fn hurried(&self, share: f64) -> Self {
        let mut hurried = self.clone();
        let Some(most) = self.cost().seconds.map(|seconds| seconds * share) else { return hurried };
        match &mut hurried.rule {
            Rule::Fixed { seconds, .. } => *seconds = Some(most),
            Rule::Adaptive { seconds, .. } | Rule::Again { seconds, .. } | Rule::Zones { seconds, .. } => {
                *seconds = most
            }
            // Rounds stay comparable.
            Rule::Round { seconds, longest, .. } => *longest = most.max(*seconds),
        }
        hurried
    }

    /// The same load for a target whose file begins at `start` on its device.
    #[must_use]
    pub fn placed(&self, start: u64) -> Self {
        let before = match self.aligned {
            0 => 0,
            aligned => (aligned - start % aligned) % aligned,
        };
        Self { from: self.from.saturating_add(before), ..self.clone() }
    }

    /// The extent that it may use on a target of which `readable` bytes from the start can be read back.
    pub fn extent(&self, readable: u64) -> Extent {
        match self.rule {
            Rule::Again { .. } => {
                let offset = readable.next_multiple_of(self.load.block);
                Extent { offset, length: self.reach.saturating_sub(offset).min(readable) }
            }
            _ => {
                let end = if self.only_written { readable.min(self.reach) } else { self.reach };
                Extent { offset: self.from.min(end), length: end.saturating_sub(self.from) }
            }
        }
    }

    /// Offset in its extent at which a sequential load begins, bytes: by the golden ratio, rounds are spread evenly.
    pub fn begin(&self, extent: Extent) -> u64 {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        match self.rule {
            Rule::Round { .. } => {
                let share = (GOLDEN * (f64::from(self.repetition) - 1.0)).fract();
                (share * extent.length as f64) as u64 / self.load.block * self.load.block
            }
            _ => 0,
        }
    }

    /// Whether it writes from the start of its extent on. Only a sequential write leaves no gaps.
    pub fn fills(&self) -> bool {
        let in_order = self.load.pattern == Pattern::Sequential && self.load.direction == Direction::Write;
        in_order && !matches!(self.rule, Rule::Round { .. })
    }

    /// How far the target can be read back from its start after this load wrote these bytes in `extent`.
    pub fn filled(&self, extent: Extent, written: u64) -> u64 {
        let whole = extent.length / self.load.block * self.load.block;
        // Streams leave gaps between them until all of it is written.
        let gapless = self.fills() && (self.load.streams == 1 || written >= whole);
        if gapless { extent.offset + written.min(whole) } else { 0 }
    }

    /// The same load through the page cache. It moves a fixed amount, because its windows measure memory until the end:
    /// writes end with `fsync`, reads begin cold.
    pub fn through_cache(&self) -> Self {
        let (bytes, seconds) = self.rule.limits();
        let most = if let Rule::Round { .. } = self.rule { CACHED_ROUND } else { CACHED };
        let bytes = bytes.unwrap_or(self.reach).min(most).min(self.reach) / self.load.block * self.load.block;
        let writes = self.load.writes();
        let caching = if writes { Caching::BufferedFsync } else { Caching::Buffered };
        Self {
            load: Load { caching, ..self.load.clone() },
            rule: Rule::Fixed { bytes, seconds },
            cold: !writes,
            ..self.clone()
        }
    }

    /// The smallest window for its rule: 1 MiB, or one block if that is larger; less if few bytes are
    /// moved within a time limit, because the time is checked between windows only.
    pub fn window(&self) -> u64 {
        let chunk = match self.rule {
            Rule::Fixed { bytes, seconds: Some(_) } => (bytes / WINDOWS).clamp(1, MIB),
            // Slow media complete few operations in a round, and each counts; windows of fast ones grow.
            Rule::Round { .. } => 1,
            _ => MIB,
        };
        chunk.next_multiple_of(self.load.block)
    }

    /// The description of all repetitions `same` of one label on one target: the load, and when it ends. Loads that differ only in
    /// their block size share a line. The last `if_wide` rounds run only if the interval is wide.
    pub(in crate::plan) fn describe_repeated(&self, same: &[&Self], if_wide: usize) -> String {
        let runs = same.len();
        let mut blocks: Vec<u64> = same.iter().map(|o| o.load.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        if let [smallest, .., largest] = blocks[..] {
            let load = Load { block: smallest, ..self.load.clone() };
            let range = format!("{} to {}", size(smallest), size(largest));
            let load = describe(&load).replace(&size(smallest), &range);
            return format!("{load}, {} sizes, {} runs each", blocks.len(), runs / blocks.len());
        }
        let until = match &self.rule {
            Rule::Fixed { bytes, seconds } => {
                let runs = if runs > 1 { format!(", {runs} runs") } else { String::new() };
                let within = seconds.map(|s| format!(" or {}", duration(s))).unwrap_or_default();
                let again = |again: AtLeast| {
                    format!(", again until {} or {}", duration(again.seconds), size(again.bytes))
                };
                let again = self.again.map(again).unwrap_or_default();
                format!("{}{within}{again}{runs}", size(*bytes))
            }
            Rule::Adaptive { rules, .. } if rules.w_min.is_none() => {
                "until it slows down for good".to_owned()
            }
            Rule::Adaptive { rules, .. } => format!("until ±{} within the run", aim(rules.precision)),
            Rule::Round { seconds, precision, .. } => {
                let more = format!(", {if_wide} more if wider than ±{}", aim(*precision));
                let rounds = count((runs - if_wide) as u64, "round");
                format!("{rounds} of {}{}", duration(*seconds), if if_wide > 0 { &more } else { "" })
            }
            Rule::Again { .. } => "if it slowed down".to_owned(),
            Rule::Zones { .. } => "at 17 to 65 positions".to_owned(),
        };
        format!("{}, {until}", describe(&self.load))
    }
}

fn describe(load: &Load) -> String {
    LoadKey::new("", load, On::File, "").describe()
}

crate::kind!("load", Measure as Act);

impl Act for Measure {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn cost(&self) -> Cost {
        let (bytes, seconds) = self.rule.limits();
        // Those that continue another step were counted with it.
        let bytes = bytes.unwrap_or(0);
        let bytes = self.again.map_or(bytes, |again| bytes.max(again.bytes));
        let (written, read) = if self.load.writes() { (bytes, 0) } else { (0, bytes) };
        Cost { written, read, seconds }
    }

    fn changes(&self) -> Changes {
        if self.load.writes() { Changes::OwnFiles } else { Changes::Nothing }
    }

    fn check(&self) -> Result<(), String> {
        self.load.check().map_err(|e| format!("has a load that can't be run: {e}"))?;
        match self.reach {
            0..=LARGEST => Ok(()),
            reach => Err(format!("has {reach} bytes, more than any drive")),
        }
    }

    fn space(&self) -> u64 {
        if self.load.writes() { self.reach } else { 0 }
    }

    /// The duration of a sync at its end is unknown.
    fn is_open_ended(&self) -> bool {
        self.load.writes() && self.load.caching == Caching::BufferedFsync
    }

    /// A buffered read depends on what the load before it left in the page cache.
    fn continues(&self) -> bool {
        let warm = self.load.caching == Caching::Buffered && !self.cold && !self.load.writes();
        warm || matches!(self.rule, Rule::Again { .. })
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::load::perform(run, step, self)
    }
}
