//! The lines of a record.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Imported;
use crate::{
    conditions::{Check, Processors},
    inventory::{Drive, Inventory},
    plan::{Measure, Plan, StepId},
    units::{EngineInfo, Outcome, Power, RunStatus, Window, ZonePoint},
};

/// The schema of records that this version writes. It rises when a reader of the schema before would misread it.
pub const SCHEMA: u32 = 2;

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The first line.
    Start(Box<Start>),
    /// The plan.
    Plan {
        /// The plan as shown.
        plan: Plan,
    },
    /// The conditions on a target.
    Preflight {
        /// Position of the target in the plan.
        target: u32,
        /// Before the measurement or after it.
        when: When,
        /// The conditions.
        checks: Vec<Check>,
    },
    /// The loads of a step began.
    Step {
        /// The step.
        step: StepId,
        /// The engine used.
        engine: EngineInfo,
        /// When, as RFC 3339.
        at: String,
        /// The load actually run, if it differs from the plan; a note says why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<Box<Measure>>,
    },
    /// A window of a running load.
    Window {
        /// The step.
        step: StepId,
        /// Position of the target in the plan.
        target: u32,
        /// The position on the disk, in a zone measurement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<ZonePoint>,
        /// The window.
        window: Window,
    },
    /// A load ended.
    Outcome {
        /// The step.
        step: StepId,
        /// Position of the target in the plan.
        target: u32,
        /// The position on the disk, in a zone measurement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<ZonePoint>,
        /// Its outcome.
        outcome: Outcome,
        /// The command that repeats it with fio.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<String>,
    },
    /// CPU use while the loads of a step ran.
    Processors {
        /// The step.
        step: StepId,
        /// The CPU use.
        did: Processors,
    },
    /// An act other than a load was done.
    Act {
        /// The step.
        step: StepId,
        /// Position of the target in the plan; `None` if the act is on all targets of the step at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<u32>,
        /// When, as RFC 3339.
        at: String,
        /// The result.
        result: Box<ActResult>,
    },
    /// A step was skipped, because its condition didn't hold or it had nothing to do.
    Skipped {
        /// The step.
        step: StepId,
    },
    /// The run was resumed after it had ended or was cut off.
    Resume(Box<Resume>),
    /// A note for readers of the result.
    Note {
        /// Position of the target in the plan, if the note is about one.
        target: Option<u32>,
        /// A full sentence.
        text: String,
    },
    /// Results of another tool; such a record has no plan.
    Imported(Box<Imported>),
    /// The last line.
    End(End),
}

/// The result of an act other than a load. Fields that don't apply to its kind are empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActResult {
    /// How long it took, s.
    pub seconds: f64,
    /// It was cancelled before it was done.
    #[serde(skip_serializing_if = "is_false")]
    pub cut_short: bool,
    /// Bytes moved.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Files written or read.
    #[serde(skip_serializing_if = "is_zero")]
    pub files: u64,
    /// How a drive was sent to standby.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slept: Option<StandbyResult>,
    /// The path of a scratch file, if it has a name. Without a name it disappears with the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The inventory of each target's drive in its bay, in the order of the targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<Drive>,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// How a drive was sent to standby, and its replies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandbyResult {
    /// Command lines that were run, each with its output.
    pub asked: Vec<String>,
    /// It accepted the standby command; otherwise its own timer was awaited.
    pub told: bool,
    /// Its last reported power state.
    pub power: Power,
    /// Bytes that other programs moved on it meanwhile, which keep it awake.
    pub others: u64,
}

/// Machine id and boot id, which distinguish a reboot from a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The kernel's random boot id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// systemd's machine id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
}

/// The first event of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The schema of the record.
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
    /// The machine and boot.
    #[serde(flatten)]
    pub host: Host,
    /// The machine and its drives.
    pub inventory: Inventory,
}

/// The event of a resumed run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resume {
    /// When, as RFC 3339.
    pub at: String,
    /// drivebench's version.
    pub version: String,
    /// The machine and boot.
    #[serde(flatten)]
    pub host: Host,
    /// The machine and its drives as they are now.
    pub inventory: Inventory,
}

/// The last event of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The status of the run.
    pub how: How,
    /// When, as RFC 3339.
    pub at: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// All steps were done.
    Finished,
    /// It was stopped by a signal.
    Interrupted,
    /// Something failed; earlier results stay valid.
    Failed(String),
}

impl End {
    /// The status of a run that ended this way.
    pub fn status(end: Option<&Self>) -> RunStatus {
        match end.map(|end| &end.how) {
            Some(How::Finished) => RunStatus::Finished,
            Some(How::Interrupted) => RunStatus::Interrupted,
            Some(How::Failed(_)) => RunStatus::Failed,
            None => RunStatus::Unfinished,
        }
    }
}

/// When conditions were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Before the first load.
    Before,
    /// After the last one.
    After,
}
