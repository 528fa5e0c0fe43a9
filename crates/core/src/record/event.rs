//! The lines of a record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Imported, Watched};
use crate::{
    conditions::{BytesMoved, Check, Processors},
    inventory::Inventory,
    plan::{Act, Measure, Plan, StepId},
    tagged::{Kind, Tagged},
    units::{EngineInfo, Outcome, RunStatus, Window, ZonePoint},
};

/// The schema of records that this version writes. It rises when older readers would misread a record.
pub const SCHEMA: u32 = 2;

/// A line of a record. `target` is the target's position in the plan; `at` is a time as RFC 3339, here and below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The first line.
    Start(Box<Start>),
    Plan {
        plan: Plan,
    },
    /// The conditions on a target.
    Preflight {
        target: u32,
        when: When,
        checks: Vec<Check>,
    },
    /// The loads of a step began.
    Step {
        step: StepId,
        engine: EngineInfo,
        at: String,
        /// The load actually run, if it differs from the plan; a note says why.
        instead: Option<Box<Measure>>,
    },
    Window {
        step: StepId,
        target: u32,
        /// The position on the disk, in a zone measurement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<ZonePoint>,
        window: Window,
    },
    Outcome {
        step: StepId,
        target: u32,
        zone: Option<ZonePoint>,
        outcome: Outcome,
        /// The command that repeats it with fio.
        again: Option<String>,
    },
    /// CPU use while the loads of a step ran.
    Processors {
        step: StepId,
        did: Processors,
    },
    /// What the drives of a target moved while a load ran on it, by their own counters.
    Counted {
        step: StepId,
        target: u32,
        moved: BytesMoved,
    },
    /// An act other than a load was done.
    Act {
        step: StepId,
        /// Position of the target in the plan; `None` if the act is on all targets of the step at once.
        target: Option<u32>,
        at: String,
        result: Box<ActResult>,
    },
    /// A step was skipped, because its condition didn't hold or it had nothing to do.
    Skipped {
        step: StepId,
    },
    /// The run was resumed after it had ended or was cut off.
    Resume {
        at: String,
        /// drivebench's version.
        version: String,
    },
    Note {
        /// A full sentence.
        text: String,
    },
    /// Results of another tool; such a record has no plan.
    Imported(Box<Imported>),
    /// Answers of another machine; such a record has no plan.
    Watched(Box<Watched>),
    /// The last line.
    End(End),
}

impl Event {
    /// Refuses a plan or a load that can't be executed, and counts that no drive reaches, whose sums would overflow.
    pub(super) fn checked(self) -> Result<Self, String> {
        let fits = match &self {
            Self::Start(start) if humantime::parse_rfc3339(&start.at).is_err() => {
                return Err("its start has no time in RFC 3339".to_owned());
            }
            Self::Plan { plan } => plan.check().map(|()| true)?,
            Self::Step { instead: Some(m), .. } => m.check().map(|()| true)?,
            Self::Window { window: w, .. } => {
                [w.bytes, w.ops, w.errors].iter().all(|n| *n < MOST_OF_WINDOW)
                    && w.from_ns.max(w.to_ns) < MOST
            }
            Self::Outcome { outcome: o, .. } => {
                [o.bytes_read, o.bytes_written, o.ops].iter().all(|n| *n < MOST)
                    && lasts(o.seconds)
                    && lasts(o.fsync_seconds)
            }
            Self::Act { result, .. } => {
                let observed = result.observed.as_ref().is_none_or(|observed| {
                    let json = observed.json().and_then(|json| serde_json::from_str(json.get()));
                    observed.fits() && json.is_ok_and(|json| is_plausible(&json))
                });
                result.bytes.max(result.files) < MOST && lasts(result.seconds) && observed
            }
            Self::Watched(watched) => watched.fits(),
            Self::Imported(imported) => imported.loads.iter().all(|load| load.seconds.is_none_or(lasts)),
            _ => true,
        };
        let unfit = || "a count or a time is larger than any drive can reach, or negative".to_owned();
        fits.then_some(self).ok_or_else(unfit)
    }
}

/// Upper limit of the bytes, operations and nanoseconds of a load: 72 PB, two years.
pub const MOST: u64 = 1 << 56;

/// Whether all numbers in a value are plausible. Temperatures in °C may be negative.
fn is_plausible(value: &Value) -> bool {
    match value {
        Value::Number(n) => n.as_f64().is_some_and(|n| (-273.0..MOST as f64).contains(&n)),
        Value::Array(all) => all.iter().all(is_plausible),
        Value::Object(all) => all.values().all(is_plausible),
        _ => true,
    }
}

/// Whether a duration is plausible, s.
pub fn lasts(seconds: f64) -> bool {
    (0.0..MOST as f64 / 1e9).contains(&seconds)
}

/// An observation by an act of one experiment. Each kind has a tag in records.
pub trait Observation: Kind {
    /// Whether its numbers make sense together; whether each is plausible is checked for all observations.
    fn fits(&self) -> bool {
        true
    }

    /// Bytes read and written that the result doesn't include.
    fn moved(&self) -> (u64, u64) {
        (0, 0)
    }
}

pub type Observed = Tagged<dyn Observation>;

crate::family!(Observation);

impl<T: Observation> From<T> for Observed {
    fn from(observation: T) -> Self {
        (Arc::new(observation) as Arc<dyn Observation>).into()
    }
}

/// Upper limit of the bytes and operations of a window: 281 TB. A load may have tens of thousands of windows.
const MOST_OF_WINDOW: u64 = 1 << 48;

/// The result of an act other than a load. Fields that don't apply to its kind are empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActResult {
    pub seconds: f64,
    /// It was cancelled before it was done.
    pub cut_short: bool,
    /// Time for which drivebench was suspended, s. The act is then cut short, because its time is not the drive's.
    pub suspended: f64,
    /// Bytes moved.
    pub bytes: u64,
    pub files: u64,
    /// The commands that were run.
    pub commands: Vec<String>,
    /// How long the kernel took to make the drives of a new pool agree, or to fill a drive of it again, s.
    pub filled_seconds: Option<f64>,
    pub observed: Option<Observed>,
}

impl ActResult {
    /// What was observed, if it is of this kind.
    pub fn get<T: Observation>(&self) -> Option<&T> {
        self.observed.as_ref()?.get()
    }

    /// Changes what was observed, if it is of this kind.
    pub fn change<T: Observation + Clone>(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(mut observed) = self.get::<T>().cloned() {
            change(&mut observed);
            self.observed = Some(observed.into());
        }
    }
}

/// Name, machine id and boot id, which distinguishes a reboot from a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    pub boot_id: Option<String>,
    pub machine_id: Option<String>,
    #[serde(rename = "host_name")]
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    pub schema: u32,
    pub run: String,
    pub at: String,
    /// drivebench's version.
    pub version: String,
    pub command: Vec<String>,
    pub experiment: String,
    /// The targets' labels, for lists.
    pub targets: Vec<String>,
    #[serde(flatten)]
    pub host: Host,
    pub inventory: Inventory,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub how: How,
    pub at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Finished,
    /// It was stopped by a signal.
    Interrupted,
    /// Its time limit ended it before all was measured.
    TimeUp,
    /// Something failed; earlier results stay valid.
    Failed(String),
}

impl End {
    pub fn status(end: Option<&Self>) -> RunStatus {
        match end.map(|end| &end.how) {
            Some(How::Finished) => RunStatus::Finished,
            Some(How::Interrupted) => RunStatus::Interrupted,
            Some(How::TimeUp) => RunStatus::TimeUp,
            Some(How::Failed(_)) => RunStatus::Failed,
            None => RunStatus::Unfinished,
        }
    }
}

/// When conditions were recorded: before the first load, or after the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    Before,
    After,
}
