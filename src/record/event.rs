//! The lines of a record.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Imported;
use crate::{
    conditions::{Check, Processors},
    inventory::{Drive, Inventory},
    plan::{Measure, Plan},
    units::{EngineInfo, Outcome, Place, Power, RunStatus, Window},
};

/// The form of the record this version writes. It grows when a reader of the form before would misread it.
pub const SCHEMA: u32 = 1;

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The first line.
    Start(Box<Start>),
    /// What will be done.
    Plan {
        /// The plan as it was shown.
        plan: Plan,
    },
    /// The conditions on a target.
    Preflight {
        /// Position of the target in the plan.
        target: usize,
        /// Before the measurement or after it.
        when: When,
        /// What was looked at.
        checks: Vec<Check>,
    },
    /// A file was made for the loads.
    Scratch {
        /// Position of the target in the plan.
        target: usize,
        /// Its name, where it has one and must be removed; `None` for a file that goes with the process.
        path: Option<PathBuf>,
        /// Its size, bytes.
        bytes: u64,
    },
    /// A step began.
    Step {
        /// Position in the plan.
        step: usize,
        /// The engine really used.
        engine: EngineInfo,
        /// When, as RFC 3339.
        at: String,
        /// What is really measured, where it can't be what the plan says; a note tells why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<Box<Measure>>,
    },
    /// A slice of a running load.
    Window {
        /// Position of the step in the plan.
        step: usize,
        /// Position of the target in the plan.
        target: usize,
        /// Which position on the disk, in a zone measurement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<Place>,
        /// The slice.
        window: Window,
    },
    /// A load ended.
    Outcome {
        /// Position of the step in the plan.
        step: usize,
        /// Position of the target in the plan.
        target: usize,
        /// Which position on the disk, in a zone measurement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<Place>,
        /// What it did in all.
        outcome: Outcome,
        /// The command that repeats it with fio.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<String>,
    },
    /// What the processors did while the loads of a step ran.
    Processors {
        /// Position of the step in the plan.
        step: usize,
        /// What they did.
        did: Processors,
    },
    /// An errand was done.
    Errand {
        /// Position of the step in the plan.
        step: usize,
        /// Position of the target in the plan.
        target: usize,
        /// What it took.
        took: TaskResult,
    },
    /// Drives are where the plan wants them.
    Arranged {
        /// Position of the step in the plan.
        step: usize,
        /// When, as RFC 3339.
        at: String,
        /// What each target's drive says of itself there, in the order of the targets.
        drives: Vec<Drive>,
        /// How long it took, s.
        seconds: f64,
    },
    /// The run goes on after it had ended or was cut off.
    Resume(Box<Resume>),
    /// Something a reader of the result must know.
    Note {
        /// Position of the target in the plan, where it is about one.
        target: Option<usize>,
        /// A whole sentence.
        text: String,
    },
    /// What another tool measured; such a record has no plan.
    Imported(Box<Imported>),
    /// The last line.
    End(End),
}

/// What an errand took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskResult {
    /// How long, s.
    pub seconds: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// Files written or read, where it is about files.
    pub files: u64,
    /// Someone asked to stop before it was done.
    pub cut_short: bool,
    /// How a drive was brought to sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slept: Option<StandbyResult>,
}

/// How a drive was brought to sleep, and what it said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandbyResult {
    /// Command lines of the programs that were asked, each with what came of it.
    pub asked: Vec<String>,
    /// It took the command; else its own timer was waited for.
    pub told: bool,
    /// What it said in the end.
    pub power: Power,
    /// Bytes that others moved on it meanwhile, which keep it awake.
    pub others: u64,
}

/// How a record begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The form of the record.
    pub schema: u32,
    /// The run's short name.
    pub run: String,
    /// When, as RFC 3339.
    pub at: String,
    /// drivebench's version.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// The experiment.
    pub experiment: String,
    /// The targets' labels, for lists.
    pub targets: Vec<String>,
    /// The machine and its drives.
    pub inventory: Inventory,
}

/// How a run goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resume {
    /// When, as RFC 3339.
    pub at: String,
    /// drivebench's version.
    pub version: String,
    /// The machine and its drives as they are now.
    pub inventory: Inventory,
}

/// How a record ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// What became of the run.
    pub how: How,
    /// When, as RFC 3339.
    pub at: String,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// All steps were done.
    Finished,
    /// Someone stopped it.
    Interrupted,
    /// Something failed; what was measured before stands.
    Failed(String),
}

impl End {
    /// What became of a run that ends so.
    pub fn status(end: Option<&Self>) -> RunStatus {
        match end.map(|end| &end.how) {
            Some(How::Finished) => RunStatus::Finished,
            Some(How::Interrupted) => RunStatus::Interrupted,
            Some(How::Failed(_)) => RunStatus::Failed,
            None => RunStatus::Unfinished,
        }
    }
}

/// When conditions were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Before the first load.
    Before,
    /// After the last one.
    After,
}
