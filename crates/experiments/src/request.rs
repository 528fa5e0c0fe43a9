//! The request that an experiment plans: targets and options. Why there is no plan for it.

use std::path::PathBuf;

use super::{Declared, Experiment, Values, shared_options as shared, target_checks::cuts};
use crate::{
    analyse::Rules,
    plan::{Plan, Steps, Suite, SuiteError, TimeLimit},
    target::Target,
    units::{Caching, Direction, Load, LoadError, MIB, Pattern, count, decimal_bytes, size},
};

#[derive(Debug, Clone)]
pub struct Request {
    pub targets: Vec<Target>,
    /// A directory in memory (tmpfs), where the machine has one.
    pub memory: Option<Target>,
    /// Loads in order; `None` leaves the choice to the experiment.
    pub loads: Option<Vec<LoadName>>,
    pub block: u64,
    pub depth: u32,
    pub caching: Caching,
    pub read_percent: u8,
    pub verify: bool,
    pub seed: u64,
    /// The engine; `None` leaves the choice to the run.
    pub engine: Option<String>,
    pub effort: Effort,
    /// The set of loads that was asked for.
    pub suite: Option<Suite>,
    /// The options as typed; an experiment reads its own options here.
    pub values: Values,
}

impl Request {
    /// The request to this experiment; options that weren't typed have its defaults.
    pub fn new(experiment: &Experiment, targets: Vec<Target>, values: Values) -> Result<Self, SuiteError> {
        let options = experiment.options;
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
            suite: values.typed(&shared::SUITE).map(|name| Suite::find(&name)).transpose()?,
            values,
        })
    }

    /// These steps as the plan of this request; [`Experiment::plan`] adds the experiment.
    pub fn planned(&self, steps: Steps) -> Plan {
        Plan {
            engine: self.engine.clone(),
            targets: self.targets.clone(),
            cuts: cuts(&self.targets, steps.files()),
            steps: steps.into(),
            limit: Some(TimeLimit { seconds: self.effort.max_seconds, together: false }),
            ..Plan::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
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
        let mut max_bytes = values.get_among(options, &shared::MAX_BYTES);
        let mut precision = values.get_among(options, &shared::PRECISION);
        let mut max_seconds = values.get_among(options, &shared::MAX_TIME);
        if let Some((rules, seconds)) = &level {
            max_bytes = values.typed(&shared::MAX_BYTES).unwrap_or(rules.budget * MIB);
            precision = values.typed(&shared::PRECISION).unwrap_or(rules.precision);
            max_seconds = values.typed(&shared::MAX_TIME).unwrap_or(*seconds);
        }
        // No drive holds more than 2^60 bytes, and sums of less don't overflow.
        let max_bytes = max_bytes.min(1 << 60);
        let rules = level.map_or_else(Rules::standard, |(rules, _)| rules);
        let rules = Rules { precision, budget: max_bytes.div_ceil(MIB), ..rules };
        Self { rules, max_bytes, max_seconds }
    }
}

/// Loads by fio's names (`rw=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadName {
    Read,
    Write,
    RandRead,
    RandWrite,
    Rw,
    RandRw,
}

impl LoadName {
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::RandRead, Self::RandWrite, Self::Rw, Self::RandRw];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
            Self::Rw => "rw",
            Self::RandRw => "randrw",
        }
    }

    /// The load of this name with the options of a request.
    pub fn load(self, ask: &Request) -> Load {
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

/// Why an experiment can't be planned as requested. Nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("nothing to measure: name a directory, file or drive")]
    NoTarget,
    #[error("{experiment} compares drives: name {least} targets or more")]
    TooFew { experiment: &'static str, least: usize },
    #[error("{experiment} takes {}", count(*most as u64, "target"))]
    TooMany { experiment: &'static str, most: usize },
    /// Options that don't fit together, the targets or this machine.
    #[error("{0}")]
    Options(String),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(
        "writing to {path} would erase {what}: name a directory on it to write to a scratch file, or only read with --rw read",
        path = path.display()
    )]
    WouldErase { path: PathBuf, what: String },
    #[error("{path} is not a directory: name one on the drive; drivebench creates its own files there", path = path.display())]
    NoDirectory { path: PathBuf },
    #[error("{path} can't be written: {why}", path = path.display())]
    NotWritable { path: PathBuf, why: String },
    #[error(
        "{path} has {} free; this needs {}, and {} stays free for other programs: free some space or choose another directory",
        decimal_bytes(*.free), decimal_bytes(*.needed), decimal_bytes(*.reserve), path = path.display()
    )]
    NoSpace { path: PathBuf, free: u64, needed: u64, reserve: u64 },
    #[error(
        "direct I/O on {path} moves multiples of {}, not {block} B: choose another --bs or suite, or --caching buffered+fsync",
        size(*.unit), path = path.display()
    )]
    Alignment { path: PathBuf, block: u64, unit: u64 },
    #[error("--max-bytes leaves {} for a load, less than one block of {}", decimal_bytes(*.bytes), size(*.block))]
    Budget { bytes: u64, block: u64 },
    #[error("--max-bytes {} is too little: at least {} is needed", size(*.bytes), size(*.least))]
    Bytes { bytes: u64, least: u64 },
    #[error("{path}: {why}", path = path.display())]
    Unsuitable { path: PathBuf, why: String },
    #[error("{path} holds {}: less than one block of {}", size(*.bytes), size(*.block), path = path.display())]
    TooSmall { path: PathBuf, bytes: u64, block: u64 },
}
