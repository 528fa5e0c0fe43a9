//! A number that a run found: its quantity, load, scope and interval.

use serde::{Deserialize, Serialize, Serializer};

use crate::{
    analyse::Estimate,
    units::{Caching, Content, Direction, Load, Pattern, Percentile, Service},
};

/// A number that a run found. Code matches its fields; people read [`Metric::label`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// What the number describes, as people name it: a target as they wrote it, `all` targets, a bay, a bus.
    pub target: String,
    pub quantity: Quantity,
    #[serde(default)]
    pub scope: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadKey>,
    /// Number of the repetition, from 1; `None` for a number over all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<u32>,
    pub estimate: Estimate,
    /// The bytes behind it, where more of them would narrow its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The share of the device, file or filesystem that its load covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<f64>,
    /// The rounds in which it was measured, where it was measured in rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    Throughput,
    /// A percentile of the latency of operations.
    Latency(Percentile),
    LongestOperation,
    /// The highest total speed of several targets at once, and what limits them.
    Ceiling(Limiter),
    /// Bytes written before the speed falls.
    CacheSize,
    /// The time of a disk to spin up from standby.
    WakeTime,
    ReadTime,
    /// Time until the members of a new pool agree.
    FirstSyncTime,
    /// Time until a replacement drive has its data.
    RebuildTime,
    /// Bytes of acknowledged writes that are not there after a power cut.
    LostBytes,
    /// The size of a drive of which blocks keep what is written to them.
    RealSize,
    /// Memory that a program can use before it is ten times as slow, as a multiple of its limit.
    MemoryUsed,
    /// Bytes written to a swap area in an hour of one load.
    SwappedInAnHour,
    /// A part of the start of a machine.
    BootTime(BootPart),
    /// Time until another machine first answers.
    AnswerTime(Service),
    /// Bytes read from the drive of the system since it was connected.
    BootReads,
    /// How long files of one size take.
    FilesTime {
        direction: Direction,
        files: u64,
        /// How large each is, bytes.
        size: u64,
    },
    /// The fixed cost of a file.
    CostPerFile(Direction),
    /// The speed of the bytes of files without that cost.
    FilesByteRate(Direction),
    SyncCost,
    /// The fixed cost of a transfer.
    CostPerTransfer,
    /// The speed of bytes without that cost.
    ByteRate,
    /// The transfer size whose bytes take as long as the fixed cost.
    Knee,
    /// The share of the differences that a factor explains.
    VarianceShare,
    RelativeSpeed(Reference),
    /// The share of other drives of the model that are slower.
    SlowerPeers,
    /// One run's number as a multiple of another's.
    Ratio(Box<Quantity>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    Drives,
    /// A drive on which several targets are.
    Drive,
    /// A bus or hub.
    Bus,
    Processor,
    /// Something shared that the inventory doesn't show.
    Unknown,
}

/// A part of the start of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BootPart {
    /// From the start of the kernel until all units were started.
    Whole,
    Firmware,
    Loader,
    Kernel,
    Initrd,
    Userspace,
    /// Total duration of all reads from the drive.
    Reads,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// The other of two.
    Other,
    /// The median of several.
    Median,
    /// The drive itself, past the page cache.
    Drive,
}

/// What a speed claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The mean speed over a span of the same length, from the same state of the drive.
    Span,
    /// The long-run speed.
    Sustained,
}

/// Where in a run a number holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[default]
    Whole,
    /// With the interval of a span, where a published procedure reports the whole load without an interval.
    Span,
    /// Operations or transfers of this size, bytes, in a load with several sizes.
    Block(u64),
    /// A target while no other ran.
    Alone,
    /// A target while others ran.
    Together,
    /// The sum over all targets, each alone.
    SumAlone,
    /// All targets at the same time.
    Sum,
    /// Before the speed fell: for good, or at an earlier step, from 1.
    BeforeCliff(Option<u32>),
    AfterCliff(Option<u32>),
    AfterPause,
    Spinning,
    Predicted,
    /// Over several boots from one drive.
    OverBoots,
    /// How much longer boots from this drive take than those from the drive that was booted now.
    BesideThis,
    /// Since a person restarted a machine or switched it on.
    SinceOrder,
    /// Since a machine stopped answering.
    SinceStop,
    /// The speed of a client of a share.
    Client,
    /// The speed of a client without one part: with the share in memory; with the client on the server; without signing or
    /// encryption; without waiting for the drive; and without all of these.
    WithoutDrive,
    WithoutLink,
    WithoutNetwork,
    WithoutProtection,
    WithoutSync,
    WithoutAll,
    /// The speed of the network to a client, without files.
    Network,
}

/// The properties of a load that must be equal for a comparison; unknown ones of an import are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadKey {
    /// Its name in the plan.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Bytes per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Operations in flight, of each job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// How the load reached the drive, and whether a sync at the end counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caching: Option<Caching>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Each write lasts until it is on stable storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<bool>,
    /// Parts of the file that a sequential load goes through in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// The page cache was emptied before it.
    pub cold: bool,
    /// Whether its speed is that of the measured span, not a sustained one; `None` where neither is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<bool>,
    /// Percentage of its bytes that never reached the drive, if more than a few. Its numbers are then not evidence of the drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
    /// The engine or tool that moved the bytes.
    pub engine: String,
    /// The suite that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// A file that was made in a directory.
    Directory,
    /// A file that was there.
    File,
    Device,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "B/s")]
    BytesPerSecond,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "B")]
    Bytes,
    /// No unit: a ratio, a share, names.
    #[default]
    #[serde(rename = "")]
    None,
}

impl Quantity {
    pub fn unit(&self) -> Unit {
        match self {
            Self::Throughput | Self::Ceiling(_) | Self::FilesByteRate(_) | Self::ByteRate => {
                Unit::BytesPerSecond
            }
            Self::Latency(_)
            | Self::LongestOperation
            | Self::WakeTime
            | Self::ReadTime
            | Self::FirstSyncTime
            | Self::RebuildTime
            | Self::BootTime(_)
            | Self::AnswerTime(_)
            | Self::FilesTime { .. }
            | Self::CostPerFile(_)
            | Self::SyncCost
            | Self::CostPerTransfer => Unit::Seconds,
            Self::CacheSize
            | Self::Knee
            | Self::LostBytes
            | Self::RealSize
            | Self::SwappedInAnHour
            | Self::BootReads => Unit::Bytes,
            Self::MemoryUsed
            | Self::VarianceShare
            | Self::RelativeSpeed(_)
            | Self::SlowerPeers
            | Self::Ratio(_) => Unit::None,
        }
    }
}

impl Metric {
    /// A number of a target whose interval more bytes would not narrow.
    pub fn new(target: &str, quantity: Quantity, estimate: Estimate) -> Self {
        let target = target.to_owned();
        let (scope, load, repetition, bytes, part, rounds) = (Scope::Whole, None, None, None, None, None);
        Self { target, quantity, scope, load, repetition, estimate, bytes, part, rounds }
    }

    #[must_use]
    pub fn of(self, load: &LoadKey) -> Self {
        Self { load: Some(load.clone()), ..self }
    }

    #[must_use]
    pub fn at(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// What it claims, if it is the speed of a load.
    pub fn claim(&self) -> Option<Claim> {
        let of_load = self.quantity == Quantity::Throughput
            && matches!(self.scope, Scope::Whole | Scope::AfterCliff(None));
        match self.load.as_ref().filter(|_| of_load)?.span? {
            true => Some(Claim::Span),
            false => self.estimate.converged.then_some(Claim::Sustained),
        }
    }

    /// Whether it is the same number in another run, apart from the load.
    pub fn is_like(&self, other: &Self) -> bool {
        let key = |m: &Self| (m.scope, m.repetition, m.load.is_some());
        self.quantity == other.quantity && key(self) == key(other)
    }
}

impl LoadKey {
    pub fn new(name: &str, load: &Load, on: On, engine: &str) -> Self {
        Self {
            name: name.to_owned(),
            direction: Some(load.direction),
            pattern: Some(load.pattern),
            block: Some(load.block),
            depth: Some(load.depth),
            jobs: Some(1),
            caching: Some(load.caching),
            content: Some(load.content),
            sync: Some(load.sync),
            streams: Some(load.streams),
            on: Some(on),
            engine: engine.to_owned(),
            ..Self::default()
        }
    }

    /// Whether both are known to be the same load, whatever they are called.
    pub fn is(&self, other: &Self) -> bool {
        let known = |load: &Self| {
            let numbers = [load.block.is_some(), load.depth.is_some(), load.jobs.is_some()];
            load.direction.is_some()
                && load.pattern.is_some()
                && load.caching.is_some()
                && !numbers.contains(&false)
        };
        known(self) && known(other) && self.cold == other.cold && !self.differs(other)
    }

    /// Whether a property that is known for both differs.
    pub fn differs(&self, other: &Self) -> bool {
        fn unlike<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.zip(b).is_some_and(|(a, b)| a != b)
        }
        unlike(self.direction, other.direction)
            || unlike(self.pattern, other.pattern)
            || unlike(self.block, other.block)
            || unlike(self.depth, other.depth)
            || unlike(self.jobs, other.jobs)
            || unlike(self.caching, other.caching)
            || unlike(self.content, other.content)
            || unlike(self.sync, other.sync)
            || unlike(self.streams, other.streams)
            || self.missed.is_some() != other.missed.is_some()
    }
}

/// Serializes metrics with their names for people, for programs that show them.
pub(super) fn labelled<S: Serializer>(all: &[Metric], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Labelled<'a> {
        name: String,
        unit: Unit,
        #[serde(flatten)]
        metric: &'a Metric,
    }
    to.collect_seq(all.iter().map(|m| Labelled { name: m.label(), unit: m.quantity.unit(), metric: m }))
}
