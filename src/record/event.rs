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

/// The form of the record this version writes. It grows when a reader of the form before would misread it.
pub const SCHEMA: u32 = 2;

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
        target: u32,
        /// Before the measurement or after it.
        when: When,
        /// What was looked at.
        checks: Vec<Check>,
    },
    /// The loads of a step began.
    Step {
        /// The step.
        step: StepId,
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
        /// The step.
        step: StepId,
        /// Position of the target in the plan.
        target: u32,
        /// Which position on the disk, in a zone measurement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<ZonePoint>,
        /// The slice.
        window: Window,
    },
    /// A load ended.
    Outcome {
        /// The step.
        step: StepId,
        /// Position of the target in the plan.
        target: u32,
        /// Which position on the disk, in a zone measurement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<ZonePoint>,
        /// What it did in all.
        outcome: Outcome,
        /// The command that repeats it with fio.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<String>,
    },
    /// What the processors did while the loads of a step ran.
    Processors {
        /// The step.
        step: StepId,
        /// What they did.
        did: Processors,
    },
    /// An act that is no load was done.
    Act {
        /// The step.
        step: StepId,
        /// Position of the target in the plan; `None` where it is about all targets of the step at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<u32>,
        /// When, as RFC 3339.
        at: String,
        /// What came of it.
        result: Box<ActResult>,
    },
    /// A step was left out, because what it needs didn't hold or it had nothing to do.
    Skipped {
        /// The step.
        step: StepId,
    },
    /// The run goes on after it had ended or was cut off.
    Resume(Box<Resume>),
    /// Something a reader of the result must know.
    Note {
        /// Position of the target in the plan, where it is about one.
        target: Option<u32>,
        /// A whole sentence.
        text: String,
    },
    /// What another tool measured; such a record has no plan.
    Imported(Box<Imported>),
    /// The last line.
    End(End),
}

/// What came of an act that is no load; what doesn't concern its kind is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActResult {
    /// How long it took, s.
    pub seconds: f64,
    /// Someone asked to stop before it was done.
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
    /// The name of a scratch file, where it has one and must be removed; without one it goes with the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// What each target's drive says of itself in its bay, in the order of the targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<Drive>,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
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

/// Which machine, and which start of it: a reboot is told from a crash by them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The kernel's random number of this start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// systemd's number of the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
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
    /// Where it was measured.
    #[serde(flatten)]
    pub host: Host,
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
    /// Where it goes on.
    #[serde(flatten)]
    pub host: Host,
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
