//! A plan: what will be done, step by step, and what it costs. Planning touches no drive.

mod protocol;

use serde::{Deserialize, Serialize};

pub use protocol::{Protocol, ProtocolError};

use crate::{
    analyse::{Rules, Zones},
    target::Target,
    units::{Caching, Load, MIB, count, duration, size},
};

/// What will be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: String,
    /// The protocol's name, where one is followed to the letter.
    pub protocol: Option<String>,
    /// The engine asked for; `None` leaves the choice to the run.
    pub engine: Option<String>,
    /// What it is done to; steps name them by their position.
    pub targets: Vec<Target>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Step {
    /// Make a file for the loads that follow; it goes when the plan ends, or when the target's next one is made.
    Scratch {
        /// Position of the target.
        target: usize,
        /// Its size; never written beyond.
        bytes: u64,
    },
    /// Run loads and time them.
    Measure(Measure),
    /// Do something else to a target, timed as a whole.
    Errand(Errand),
    /// Have people put drives into bays.
    Arrange(Arrange),
}

/// Which drive is to be in which bay from now on. The steps that follow find their targets there, whatever the kernel
/// calls them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrange {
    /// Which arrangement it is, from 1.
    pub number: u32,
    /// The bay of each of the plan's targets, with its bus, see [`crate::inventory::Drive::full_bay`].
    pub bays: Vec<String>,
}

/// What is no load but part of an experiment, timed as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Errand {
    /// What it is for, such as `pause`; errands with the same label and target belong together.
    pub label: String,
    /// Which repetition of it, from 1.
    pub repetition: u32,
    /// Position of the target.
    pub target: usize,
    /// What is done.
    pub task: Task,
}

/// Things done to a target that are no loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "task")]
pub enum Task {
    /// Leave it alone.
    Pause {
        /// For how long.
        seconds: f64,
    },
    /// Write files into a directory of our own and bring them to the drive; those that were there before go first.
    WriteFiles {
        /// How many, and of which size.
        set: FileSet,
        /// Seeds their content.
        seed: u64,
        /// Most seconds, but for what bringing them to the drive takes.
        seconds: f64,
        /// What is to be predicted from this and others like it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predict: Option<FileSet>,
    },
    /// Read the files that were written before, whose content the page cache holds no longer.
    ReadFiles {
        /// How many, and of which size.
        set: FileSet,
        /// Most seconds.
        seconds: f64,
    },
    /// Let it fall asleep: by command or, where it refuses, by its own timer.
    Standby {
        /// The drive's node.
        device: String,
        /// How long its own timer is waited for, s.
        patience: f64,
    },
}

/// Files of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileSet {
    /// How many.
    pub files: u64,
    /// How large each is, bytes.
    pub size: u64,
}

impl FileSet {
    /// All of them together, bytes.
    pub fn bytes(&self) -> u64 {
        self.files.saturating_mul(self.size)
    }

    /// The set in words, such as `512 files of 4 KiB`.
    pub fn describe(&self) -> String {
        format!("{} of {}", count(self.files, "file"), size(self.size))
    }
}

impl Task {
    /// How long a disk is given to come to rest after it was told to, s.
    pub const SETTLE: f64 = 10.0;

    /// What it does to the target at most.
    fn cost(&self) -> Cost {
        match self {
            Self::Pause { seconds } => Cost { seconds: Some(*seconds), ..Cost::default() },
            Self::WriteFiles { set, seconds, .. } => {
                Cost { written: set.bytes(), seconds: Some(*seconds), ..Cost::default() }
            }
            Self::ReadFiles { set, seconds } => {
                Cost { read: set.bytes(), seconds: Some(*seconds), ..Cost::default() }
            }
            Self::Standby { patience, .. } => {
                Cost { seconds: Some(Self::SETTLE + patience), ..Cost::default() }
            }
        }
    }

    /// What is done, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Pause { seconds } => format!("leave it alone for {}", duration(*seconds)),
            Self::WriteFiles { .. } => "sync at the end included".to_owned(),
            Self::ReadFiles { .. } => "dropped from the page cache before".to_owned(),
            Self::Standby { patience, .. } => {
                let patience = duration(*patience);
                format!("hdparm -y; where refused, up to {patience} for its own timer")
            }
        }
    }
}

/// Loads that start at the same instant, one a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// What is measured, such as `write`; steps with the same label and target belong together.
    pub label: String,
    /// Which repetition of it, from 1.
    pub repetition: u32,
    /// Positions of the targets.
    pub targets: Vec<usize>,
    /// What is asked of each.
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
    /// The load before it again, where that one fell off a cliff: it goes on where that one ended, and moves at most as
    /// much, within the same bytes.
    Again {
        /// As of the load before.
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

/// The most a plan costs one target.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Bytes written at most.
    pub written: u64,
    /// Bytes read at most.
    pub read: u64,
    /// Seconds at most; `None` where nothing bounds them.
    pub seconds: Option<f64>,
}

impl Cost {
    /// Both together.
    fn and(self, other: Self) -> Self {
        Self {
            written: self.written.saturating_add(other.written),
            read: self.read.saturating_add(other.read),
            seconds: self.seconds.zip(other.seconds).map(|(a, b)| a + b),
        }
    }
}

/// What a run through the page cache moves: enough to outlast a drive's own cache, little enough to be repeated.
const CACHED: u64 = 256 * MIB;

/// How many windows a load of a fixed size and a bounded time has, or more.
const WINDOWS: u64 = 64;

/// The most bytes that a zone measurement reads: 65 positions at its finest.
pub const fn zone_bytes() -> u64 {
    65 * Zones::SEGMENT
}

impl Plan {
    /// The measurements among the steps, with their position.
    pub fn measures(&self) -> impl Iterator<Item = (usize, &Measure)> {
        self.steps.iter().enumerate().filter_map(|(i, s)| match s {
            Step::Measure(m) => Some((i, m)),
            Step::Scratch { .. } | Step::Errand(_) | Step::Arrange(_) => None,
        })
    }

    /// The measurement at this position.
    pub fn measure(&self, step: usize) -> Option<&Measure> {
        match self.steps.get(step)? {
            Step::Measure(m) => Some(m),
            Step::Scratch { .. } | Step::Errand(_) | Step::Arrange(_) => None,
        }
    }

    /// The errands among the steps, with their position.
    pub fn errands(&self) -> impl Iterator<Item = (usize, &Errand)> {
        self.steps.iter().enumerate().filter_map(|(i, s)| match s {
            Step::Errand(e) => Some((i, e)),
            Step::Scratch { .. } | Step::Measure(_) | Step::Arrange(_) => None,
        })
    }

    /// The arrangements among the steps, with their position.
    pub fn arrangements(&self) -> impl Iterator<Item = (usize, &Arrange)> {
        self.steps.iter().enumerate().filter_map(|(i, s)| match s {
            Step::Arrange(a) => Some((i, a)),
            Step::Scratch { .. } | Step::Measure(_) | Step::Errand(_) => None,
        })
    }

    /// A bay as people call it, where one of the targets was in it when this was planned.
    pub fn bay_name(&self, full: &str) -> String {
        let here = self.targets.iter().flat_map(|t| &t.drives).find(|d| d.full_bay() == full);
        let named = here.and_then(|d| d.bay_name.clone().or_else(|| d.bay.clone()));
        named.unwrap_or_else(|| full.to_owned())
    }

    /// Whether the step at this position is left out where the load before it fell off no cliff: a load that goes on
    /// after one, and the pause before it.
    pub fn needs_cliff(&self, step: usize) -> bool {
        let again = |at: usize| matches!(self.steps.get(at), Some(Step::Measure(m)) if matches!(m.rule, Rule::Again { .. }));
        again(step) || matches!(self.steps.get(step), Some(Step::Errand(_))) && again(step + 1)
    }

    /// The most it costs the target at this position.
    pub fn cost(&self, target: usize) -> Cost {
        let mut cost = Cost { seconds: Some(0.0), ..Cost::default() };
        for (_, m) in self.measures().filter(|(_, m)| m.targets.contains(&target)) {
            let (bytes, seconds) = match m.rule {
                Rule::Fixed { bytes, seconds } => (bytes, seconds),
                Rule::Adaptive { bytes, seconds, .. } => (bytes, Some(seconds)),
                // Counted with the load before.
                Rule::Again { seconds, .. } => (0, Some(seconds)),
                Rule::Zones { seconds, .. } => (zone_bytes(), Some(seconds)),
            };
            let (written, read) = if m.load.writes() { (bytes, 0) } else { (0, bytes) };
            cost = cost.and(Cost { written, read, seconds });
        }
        let errands = self.errands().filter(|(_, e)| e.target == target);
        errands.fold(cost, |cost, (_, e)| cost.and(e.task.cost()))
    }

    /// The space its file takes on the target at this position, bytes.
    pub fn space(&self, target: usize) -> u64 {
        let size = |s: &Step| match s {
            Step::Scratch { target: t, bytes } if *t == target => Some(*bytes),
            _ => None,
        };
        self.steps.iter().filter_map(size).max().unwrap_or(0)
    }
}

impl Measure {
    /// The same through the page cache. Windows of such a load tell of memory until the end, so no rule can watch
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
}
