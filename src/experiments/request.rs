//! The request that an experiment plans: targets and options.

use std::path::PathBuf;

use super::{
    Experiment,
    load_name::LoadName,
    options::{Declared, Values},
    shared_options as shared,
};
use crate::{
    analyse::Rules,
    plan::{Plan, Protocol, ProtocolError, Steps},
    target::Target,
    units::{Caching, Direction, Load, LoadError, MIB, Pattern, decimal_bytes, size},
};

/// A request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What to measure.
    pub targets: Vec<Target>,
    /// A directory in memory (tmpfs), where the machine has one.
    pub memory: Option<Target>,
    /// Loads in order; `None` leaves the choice to the experiment.
    pub loads: Option<Vec<LoadName>>,
    /// Bytes per operation.
    pub block: u64,
    /// Operations in flight.
    pub depth: u32,
    /// Use of the page cache.
    pub caching: Caching,
    /// Percentage of reads in mixed loads.
    pub read_percent: u8,
    /// Check what is read against what was written.
    pub verify: bool,
    /// Seeds content and offsets.
    pub seed: u64,
    /// The engine; `None` leaves the choice to the run.
    pub engine: Option<String>,
    /// Precision and limits.
    pub effort: Effort,
    /// A published procedure to follow exactly.
    pub protocol: Option<Protocol>,
    /// What was typed; an experiment reads its own options here.
    pub values: Values,
}

impl Ask {
    /// The request to this experiment; options that weren't typed have its defaults.
    ///
    /// # Errors
    /// Where the protocol that was named can't be read.
    pub fn new(
        experiment: &dyn Experiment,
        targets: Vec<Target>,
        values: Values,
    ) -> Result<Self, ProtocolError> {
        let options = experiment.options();
        Ok(Self {
            targets,
            memory: None,
            loads: values.typed(&shared::RW),
            block: values.get_among(options, &shared::BS),
            depth: values.get_among(options, &shared::IODEPTH),
            caching: values.get_among(options, &shared::CACHING),
            read_percent: values.get_among(options, &shared::RWMIXREAD),
            verify: values.get(&shared::VERIFY),
            seed: values.get_among(options, &shared::SEED),
            engine: values.typed(&shared::ENGINE),
            effort: Effort::new(options, &values),
            protocol: values.typed(&shared::PROTOCOL).map(|name| Protocol::find(&name)).transpose()?,
            values,
        })
    }

    /// These steps as a plan for what was asked.
    pub fn planned(&self, experiment: &str, steps: Steps) -> Plan {
        Plan {
            experiment: experiment.to_owned(),
            protocol: self.protocol.as_ref().map(|p| p.name.clone()),
            engine: self.engine.clone(),
            targets: self.targets.clone(),
            steps: steps.into(),
        }
    }
}

/// The precision to reach, and limits of bytes and time.
#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
    /// The stopping rule.
    pub rules: Rules,
    /// Most bytes a load may move.
    pub max_bytes: u64,
    /// Most seconds on one drive.
    pub max_seconds: f64,
}

impl Effort {
    fn new(options: &[&dyn Declared], values: &Values) -> Self {
        let level = match (values.get(&shared::QUICK), values.get(&shared::THOROUGH)) {
            (true, _) => Some((Rules::quick(), shared::QUICK_SECONDS)),
            (_, true) => Some((Rules::thorough(), shared::THOROUGH_SECONDS)),
            _ => None,
        };
        let (rules, seconds) = (level.as_ref().map(|l| &l.0), level.as_ref().map(|l| l.1));
        let max_bytes = values
            .typed(&shared::MAX_BYTES)
            .or(rules.map(|rules| rules.budget * MIB))
            .unwrap_or_else(|| values.get_among(options, &shared::MAX_BYTES));
        let precision = values
            .typed(&shared::PRECISION)
            .or(rules.map(|rules| rules.precision))
            .unwrap_or_else(|| values.get_among(options, &shared::PRECISION));
        let max_seconds = values
            .typed(&shared::MAX_TIME)
            .or(seconds)
            .unwrap_or_else(|| values.get_among(options, &shared::MAX_TIME));
        // No drive holds more than 2^60 bytes, and sums of less don't overflow.
        let max_bytes = max_bytes.min(1 << 60);
        let rules = level.map_or_else(Rules::standard, |(rules, _)| rules);
        let rules = Rules { precision, budget: max_bytes.div_ceil(MIB), ..rules };
        Self { rules, max_bytes, max_seconds }
    }
}

impl LoadName {
    /// The load of this name with what else was asked.
    pub fn load(self, ask: &Ask) -> Load {
        let mixed = Direction::Mixed { read_percent: ask.read_percent };
        let (direction, pattern) = match self {
            Self::Read => (Direction::Read, Pattern::Sequential),
            Self::Write => (Direction::Write, Pattern::Sequential),
            Self::RandRead => (Direction::Read, Pattern::Random),
            Self::RandWrite => (Direction::Write, Pattern::Random),
            Self::Rw => (mixed, Pattern::Sequential),
            Self::RandRw => (mixed, Pattern::Random),
        };
        let load = Load::new(direction, pattern, ask.block, ask.caching, ask.seed);
        Load { depth: ask.depth, verify: ask.verify, ..load }
    }
}

/// Why an experiment can't be planned as asked. Nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No target was named.
    #[error("nothing to measure: name a directory, file or drive")]
    NoTarget,
    /// Fewer targets than the question needs.
    #[error("{experiment} compares drives: name {least} targets or more")]
    TooFew {
        /// The experiment.
        experiment: &'static str,
        /// How many it needs.
        least: usize,
    },
    /// Moving drives between bays needs two drives.
    #[error("it needs two drives or more, each in its own bay: name another")]
    TooFewDrives,
    /// The drive can't be identified in another bay.
    #[error(
        "{drive} can't be identified after a move: {why}; measure it in its bay with `drivebench run baseline`"
    )]
    Nameless {
        /// The drive.
        drive: String,
        /// What is wrong with its serial.
        why: String,
    },
    /// It can't be measured in another bay.
    #[error("{path} can't be measured in another bay: {why}", path = path.display())]
    Unmovable {
        /// The target.
        path: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// The load is out of range.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Writing would change data that is not drivebench's own.
    #[error(
        "writing to {path} would erase {what}, and nothing is erased without explicit consent; \
         name a directory on it to write to a scratch file, or read it with --rw read",
        path = path.display()
    )]
    WouldErase {
        /// The file or device.
        path: PathBuf,
        /// What stands on it.
        what: String,
    },
    /// It is not a directory, and files must be made in it.
    #[error("{path} is not a directory: name one on the drive; drivebench creates its own files there", path = path.display())]
    NoDirectory {
        /// The file or device.
        path: PathBuf,
    },
    /// The directory can't be written.
    #[error("{path} can't be written: {why}", path = path.display())]
    NotWritable {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// It doesn't fit.
    #[error(
        "{path} has {} free; this needs {} and leaves {} free for others: free some space, \
         or lower --max-bytes", size(*.free), size(*.needed), size(*.reserve), path = path.display()
    )]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// Bytes free.
        free: u64,
        /// Bytes needed.
        needed: u64,
        /// Bytes left free.
        reserve: u64,
    },
    /// The drive can't move such blocks directly.
    #[error(
        "direct I/O on {path} moves multiples of {}, not {}: choose another --bs, or --caching buffered+fsync",
        size(*.unit), size(*.block), path = path.display()
    )]
    Alignment {
        /// The target.
        path: PathBuf,
        /// The block size asked for.
        block: u64,
        /// What it must be a multiple of.
        unit: u64,
    },
    /// A budget smaller than one block.
    #[error("--max-bytes {} is less than one block of {}", decimal_bytes(*.bytes), size(*.block))]
    Budget {
        /// The budget.
        bytes: u64,
        /// The block size.
        block: u64,
    },
    /// The experiment can't use this target.
    #[error("{path}: {why}", path = path.display())]
    Unsuitable {
        /// The target.
        path: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// The existing file is shorter than a block.
    #[error("{path} holds {}: less than one block of {}", size(*.bytes), size(*.block), path = path.display())]
    TooSmall {
        /// The file or device.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// The block size.
        block: u64,
    },
}
