//! Names of numbers and loads for people. Code matches the values, never these texts.

use super::{BootPart, LoadKey, Metric, Quantity, Reference, Scope, Unit};
use crate::units::{Direction, Pattern, count, decimal_bytes, duration, rate, size};

impl Unit {
    pub fn write(self, value: f64) -> String {
        match self {
            Self::BytesPerSecond => rate(value),
            Self::Seconds => duration(value),
            Self::Bytes => decimal_bytes(value as u64),
            Self::None => format!("{value:.3}"),
        }
    }
}

impl Metric {
    /// Its name for people, such as `write throughput`.
    pub fn label(&self) -> String {
        self.named(&words(&self.quantity, self.scope))
    }

    /// Its name in a table, where units tell a speed from a latency: `write`, `write 99th`.
    pub fn row(&self) -> String {
        match (&self.quantity, self.scope) {
            _ if self.load.as_ref().is_none_or(|load| load.name.is_empty()) => self.label(),
            (Quantity::Throughput, Scope::Whole) => self.named(""),
            (Quantity::Latency(percentile), Scope::Whole) => self.named(&percentile.name()),
            _ => self.label(),
        }
    }

    fn named(&self, what: &str) -> String {
        let load = self.load.as_ref().map(|load| load.name.as_str()).unwrap_or_default();
        // No space before a comma or a colon.
        let gap = if load.is_empty() || what.is_empty() || what.starts_with([',', ':']) { "" } else { " " };
        let run = self.repetition.map(|n| format!(", run {n}")).unwrap_or_default();
        format!("{load}{gap}{what}{run}")
    }
}

fn words(quantity: &Quantity, scope: Scope) -> String {
    let step = |n: Option<u32>| n.map(|n| format!(", step {n}")).unwrap_or_default();
    let verb = |direction: &Direction| if *direction == Direction::Write { "write" } else { "read" };
    match (quantity, scope) {
        (Quantity::Ratio(of), _) => words(of, scope),
        (Quantity::Throughput, Scope::Span) => "throughput, with drivebench's interval".to_owned(),
        (Quantity::Throughput, Scope::Block(block)) => format!("throughput, {}", size(block)),
        (Quantity::Throughput, Scope::Alone) => "alone".to_owned(),
        (Quantity::Throughput, Scope::Together) => "together".to_owned(),
        (Quantity::Throughput, Scope::SumAlone) => "sum alone".to_owned(),
        (Quantity::Throughput, Scope::Sum) => "sum".to_owned(),
        (Quantity::Throughput, Scope::BeforeCliff(n)) => format!("throughput before{}", step(n)),
        (Quantity::Throughput, Scope::AfterCliff(n)) => format!("throughput after{}", step(n)),
        (Quantity::Throughput, Scope::Client) => "client".to_owned(),
        (Quantity::Throughput, Scope::WithoutDrive) => "without the drive".to_owned(),
        (Quantity::Throughput, Scope::WithoutLink) => "without the link".to_owned(),
        (Quantity::Throughput, Scope::WithoutNetwork) => {
            "without the network and the client's machine".to_owned()
        }
        (Quantity::Throughput, Scope::WithoutProtection) => "without signing or encryption".to_owned(),
        (Quantity::Throughput, Scope::WithoutSync) => "without the export's sync".to_owned(),
        (Quantity::Throughput, Scope::Network) => "the network alone".to_owned(),
        (Quantity::Throughput, Scope::WithoutAll) => "without all of these".to_owned(),
        (Quantity::Throughput, _) => "throughput".to_owned(),
        (Quantity::Latency(percentile), _) => format!("latency {}", percentile.name()),
        (Quantity::LongestOperation, _) => "longest".to_owned(),
        (Quantity::Ceiling(_), _) => "limit".to_owned(),
        (Quantity::CacheSize, Scope::AfterPause) => "fast region after the pause".to_owned(),
        (Quantity::CacheSize, Scope::BeforeCliff(n)) => format!("fast region{}", step(n)),
        (Quantity::CacheSize, _) => "fast region".to_owned(),
        (Quantity::WakeTime, _) => "spin-up time".to_owned(),
        (Quantity::ReadTime, Scope::Spinning) => "read while spinning".to_owned(),
        (Quantity::ReadTime, _) => "read".to_owned(),
        (Quantity::FirstSyncTime, Scope::Predicted) => "first sync, predicted".to_owned(),
        (Quantity::FirstSyncTime, _) => "first sync".to_owned(),
        (Quantity::RebuildTime, Scope::Predicted) => "rebuild, predicted".to_owned(),
        (Quantity::RebuildTime, _) => "rebuild".to_owned(),
        (Quantity::RealSize, _) => "real size".to_owned(),
        (Quantity::LostBytes, _) => "acknowledged writes lost".to_owned(),
        (Quantity::MemoryUsed, _) => "memory used, as a multiple of what is allowed".to_owned(),
        (Quantity::SwappedInAnHour, _) => "written in an hour".to_owned(),
        (Quantity::BootReads, _) => "read since the boot".to_owned(),
        (Quantity::BootTime(_), Scope::OverBoots) => "median boot".to_owned(),
        (Quantity::BootTime(_), Scope::BesideThis) => "boot, longer than this one".to_owned(),
        (Quantity::AnswerTime(service), Scope::SinceOrder) => format!("{service} answers, since the order"),
        (Quantity::AnswerTime(service), _) => format!("{service} answers, since the stop"),
        (Quantity::BootTime(part), _) => boot_part(*part).to_owned(),
        (Quantity::FilesTime { direction, files, size: bytes }, _) => {
            let set = format!("{} {} of {}", verb(direction), count(*files, "file"), size(*bytes));
            if scope == Scope::Predicted { format!("{set}, predicted") } else { set }
        }
        (Quantity::CostPerFile(direction), _) => format!("{} cost of a file", verb(direction)),
        (Quantity::FilesByteRate(direction), _) => format!("{} rate of bytes", verb(direction)),
        (Quantity::SyncCost, _) => "write cost of the sync".to_owned(),
        (Quantity::CostPerTransfer, _) => "cost of a transfer".to_owned(),
        (Quantity::ByteRate, _) => "rate of bytes".to_owned(),
        (Quantity::Knee, _) => "knee".to_owned(),
        (Quantity::VarianceShare, _) => ": share of the variance".to_owned(),
        (Quantity::SlowerPeers, _) => ": share of other drives that are slower".to_owned(),
        (Quantity::RelativeSpeed(Reference::Other), _) => ", as a multiple of the other".to_owned(),
        (Quantity::RelativeSpeed(Reference::Median), _) => ", as a multiple of the median".to_owned(),
        (Quantity::RelativeSpeed(Reference::Drive), _) => "as a multiple of the drive's".to_owned(),
    }
}

fn boot_part(part: BootPart) -> &'static str {
    match part {
        BootPart::Whole => "boot",
        BootPart::Firmware => "boot: firmware",
        BootPart::Loader => "boot: loader",
        BootPart::Kernel => "boot: kernel",
        BootPart::Initrd => "boot: initrd",
        BootPart::Userspace => "boot: userspace",
        BootPart::Reads => "boot: reads",
    }
}

impl LoadKey {
    /// What is known of the load: `sequential write, 4 KiB, direct, depth 1`.
    pub fn describe(&self) -> String {
        let pattern = match self.pattern {
            Some(Pattern::Sequential) => "sequential ",
            Some(Pattern::Random) => "random ",
            None => "",
        };
        let what = match self.direction {
            Some(Direction::Read) => format!("{pattern}read"),
            Some(Direction::Write) => format!("{pattern}write"),
            Some(Direction::Mixed { read_percent }) => format!("{pattern}mixed {read_percent} % read"),
            None => format!("{pattern}copy"),
        };
        let caching = self.caching.map(|c| c.words().to_owned());
        let depth = self.depth.map(|d| format!("depth {d}"));
        let jobs = self.jobs.filter(|j| *j > 1).map(|j| format!("{j} jobs"));
        let synced = self.sync.filter(|sync| *sync).map(|_| "each write synced".to_owned());
        let streams = self.streams.filter(|s| *s > 1).map(|s| format!("{s} streams"));
        let missed = self.missed.map(|percent| format!("{percent} % never reached the drive"));
        let known = [Some(what), self.block.map(size), caching, depth, jobs, synced, streams, missed];
        known.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub fn unknown(&self) -> Vec<&'static str> {
        let known = [
            (self.direction.is_some(), "whether it read or wrote"),
            (self.pattern.is_some(), "the order of offsets"),
            (self.block.is_some(), "the block size"),
            (self.caching.is_some(), "whether it went past the page cache"),
            (self.depth.is_some(), "the depth"),
        ];
        known.into_iter().filter(|(known, _)| !known).map(|(_, what)| what).collect()
    }
}
