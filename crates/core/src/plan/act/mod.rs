//! The trait of acts, and the acts that several experiments use.

mod files;
mod load;
mod pool;

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

pub use files::{FileSet, FileWork, Files};
pub use load::{AtLeast, FILL, Measure, Rule, zone_bytes};
pub use pool::{BuildPool, RebuildPool, RemovePool};

use super::{Cost, Step, StepId};
use crate::{
    inventory::Inventory,
    record::ActResult,
    run::{Execution, RunError, Troubles},
    tagged::{Kind, Tagged},
    target::Target,
};

/// Makes a file for the loads that follow. It is removed when the plan ends or when the target's next one is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScratchFile {
    /// Its size; loads never write beyond it.
    pub bytes: u64,
}

/// Has people move drives to bays. Later steps find their targets there, whatever device names the kernel assigns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MoveDrives {
    /// The number of the arrangement, from 1.
    pub number: u32,
    /// The bay of each of the plan's targets, with its bus, see [`crate::inventory::Drive::full_bay`].
    pub bays: Vec<String>,
}

/// What an act changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    Nothing,
    /// Scratch files, removed afterwards.
    OwnFiles,
    /// The state of a drive, but not its content; as a description.
    DriveState(&'static str),
    /// The content of these drives is lost; their identities.
    Erases(Vec<String>),
    /// Blocks of these drives are overwritten and put back; their identities. It needs the same consent, because a bad drive may lose them.
    PutsBack(Vec<String>),
}

impl Changes {
    /// In words, after `changes:`.
    pub fn describe(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::OwnFiles => "own files, removed afterwards".to_owned(),
            Self::DriveState(how) => (*how).to_owned(),
            Self::Erases(drives) => format!("erases {}", drives.join(", ")),
            Self::PutsBack(drives) => {
                format!("overwrites blocks of {} and puts them back", drives.join(", "))
            }
        }
    }
}

/// Special needs of an act, for the executor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether it measures nothing, so that other activity of the machine doesn't matter.
    pub measures_nothing: bool,
    /// Whether it finds or makes its target itself, which may not exist before.
    pub finds_target: bool,
    /// Whether its target may lack drives.
    pub accepts_missing_drives: bool,
    /// Bytes that the kernel or other programs move for it and no result counts.
    pub uncounted: Uncounted,
}

/// Whether the counters of drives show the bytes that an act moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Uncounted {
    #[default]
    Nothing,
    /// The drives of its target move more bytes than are counted.
    Target,
    /// Any drive may move more bytes than are counted, or count from 0 again.
    All,
}

/// Consent that a person must give, by an option or at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The name of the option.
    pub option: &'static str,
    /// What has to be typed, such as the serial of a drive.
    pub word: String,
    /// What will be done: `take Ultra 4C530001 away`.
    pub act: String,
    /// What a person should know first.
    pub warnings: Vec<String>,
}

/// What a step does. An act defines how it is described, what it costs and changes, and how it is performed.
/// An act of one experiment is implemented in that experiment's folder.
pub trait Act: Kind {
    /// A label such as `write`. Steps with the same label and target are repetitions.
    fn label(&self) -> String;

    /// The maximum cost for each of its targets.
    fn cost(&self) -> Cost {
        Cost::of_seconds(0.0)
    }

    fn changes(&self) -> Changes;

    /// A description; `None` if the plan has no line for it, or one for all repetitions.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Refuses what can't be done, as a damaged or edited record may contain.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Maximum space that it needs on its target's filesystem, bytes.
    fn space(&self) -> u64 {
        0
    }

    /// Whether its time and bytes count as those of the run.
    fn is_work(&self) -> bool {
        false
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The speed that the seconds of its cost assume, bytes per second, if it takes as long as the drive needs.
    fn assumed_rate(&self) -> Option<f64> {
        None
    }

    /// Whether it ends with a sync, whose duration is unknown.
    fn is_open_ended(&self) -> bool {
        false
    }

    /// Whether it depends on state that the step before it on the same target left and that is lost when the process ends.
    fn continues(&self) -> bool {
        false
    }

    /// Whether the next step on the same target depends on state that it leaves and that is lost when the process ends.
    /// After a standby it measures the spin-up.
    fn prepares(&self) -> bool {
        false
    }

    /// Whether later steps on the same target use what it makes, which is lost when the process ends. A resumed run repeats it.
    fn sets_up(&self) -> bool {
        false
    }

    /// The numbers, from 0, of the members of the target's pool that it names.
    fn members(&self) -> Vec<u32> {
        Vec::new()
    }

    /// What a person must agree to before the run begins, besides erasing drives.
    fn consent(&self) -> Option<Consent> {
        None
    }

    /// Refuses what can't be done here, before anything is changed: a program, a right or space is missing. The error says what to do.
    /// `store` is the directory of the results.
    fn require(&self, _on: &Target, _inventory: &Inventory, _store: &Path) -> Result<(), String> {
        Ok(())
    }

    /// Performs it, and returns the targets on which it failed.
    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError>;
}

/// Upper limit of the bytes of a drive.
const LARGEST: u64 = i64::MAX as u64;

/// Refuses negative durations and those longer than any run; seconds.
fn duration_fits(seconds: f64) -> Result<(), String> {
    const LONG: f64 = 1e12;
    if (0.0..=LONG).contains(&seconds) { Ok(()) } else { Err(format!("lasts {seconds} s")) }
}

pub type AnyAct = Tagged<dyn Act>;

crate::family!(Act);

impl<T: Act> From<T> for AnyAct {
    fn from(act: T) -> Self {
        (Arc::new(act) as Arc<dyn Act>).into()
    }
}

impl AnyAct {
    /// Refuses what can't be done, see [`Plan::check`](super::Plan::check).
    pub(super) fn check_all(&self) -> Result<(), String> {
        self.check()?;
        let cost = self.cost();
        let bytes = cost.written.max(cost.read).max(self.space());
        if bytes > LARGEST {
            return Err(format!("has {bytes} bytes, more than any drive"));
        }
        cost.seconds.map_or(Ok(()), duration_fits)
    }
}

crate::kind!("scratch_file", ScratchFile as Act);

impl Act for ScratchFile {
    fn label(&self) -> String {
        "scratch file".to_owned()
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn space(&self) -> u64 {
        self.bytes
    }

    fn sets_up(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        for target in step.targets() {
            let (cancel, at) = (run.cancel.clone(), &run.plan.targets[target]);
            run.ctx.world.make_scratch(target, at, self.bytes, &cancel)?;
            run.readable.insert(target, 0);
            run.starts.remove(&target);
            run.emit_act(step.id, Some(target), ActResult::default())?;
        }
        Ok(Troubles::new())
    }
}

crate::kind!("move_drives", MoveDrives as Act);

impl Act for MoveDrives {
    fn label(&self) -> String {
        format!("arrangement {}", self.number)
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("drives are moved by hand")
    }

    fn needs(&self) -> Needs {
        // Counters of drives that were moved start again at 0.
        Needs { uncounted: Uncounted::All, ..Needs::default() }
    }

    /// `steps` has already waited until the drives are in their bays.
    fn perform(&self, _: &mut Execution<'_, '_>, _: &Step) -> Result<Troubles, RunError> {
        Ok(Troubles::new())
    }
}
