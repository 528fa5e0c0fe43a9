//! The trait of acts, and the acts that several experiments use.

mod files;
mod load;
mod pool;

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

pub use files::{FileSet, FileWork, Files};
pub use load::{AtLeast, FILL, Measure, Rule, zone_bytes};
pub use pool::{BuildPool, Predict, Prediction, RebuildPool, RemovePool};

use super::{Cost, Step, StepId};
use crate::{
    inventory::Inventory,
    run::{Execution, RunError, Troubles, act},
    tagged::{Kind, Tagged},
    target::Target,
    units::duration,
};

/// Makes a file for the loads that follow. It is removed when the plan ends or when the target's next one is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScratchFile {
    /// Its size; loads never write beyond it.
    pub bytes: u64,
}

/// No load on a drive for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    pub seconds: f64,
}

/// Sends a disk to standby: by command or, if it refuses, by waiting for its own timer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standby {
    /// The drive's node.
    pub device: String,
    /// The maximum wait for its own timer, s.
    pub patience: f64,
}

impl Standby {
    /// How long a disk may take to stop rotating after it accepted the command, s.
    pub const SETTLE: f64 = 10.0;
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
}

impl Changes {
    /// In words, after `changes:`.
    pub fn describe(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::OwnFiles => "own files, removed afterwards".to_owned(),
            Self::DriveState(how) => (*how).to_owned(),
            Self::Erases(drives) => format!("erases {}", drives.join(", ")),
        }
    }
}

/// What the executor does differently for an act.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// It measures nothing: what else the machine does meanwhile is of no account.
    pub measures_nothing: bool,
    /// It finds or makes its target itself: before, that may not be there.
    pub finds_target: bool,
    /// Its target may lack drives by now.
    pub takes_what_is_left: bool,
    /// The kernel or other programs move bytes for it that no result counts.
    pub uncounted: Uncounted,
}

/// Whether the counters of drives tell what an act moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Uncounted {
    #[default]
    Nothing,
    /// The drives of its target move more bytes than are counted.
    Target,
    /// Any drive may move more bytes than are counted, or count from 0 again.
    All,
}

/// Something that a person must agree to, by an option or at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The name of the option.
    pub option: &'static str,
    /// What has to be typed, such as the serial of a drive.
    pub word: String,
    /// What is done then: `take Ultra 4C530001 away`.
    pub act: String,
    /// What a person should know before.
    pub warnings: Vec<String>,
}

/// What a step does. An act owns its life: how it is described, what it costs and changes, and how it is done.
/// One that only one experiment needs is implemented in that experiment's folder.
pub trait Act: Kind {
    /// Such as `write`. Steps with the same label and target are repetitions.
    fn label(&self) -> String;

    /// The maximum cost for each of its targets.
    fn cost(&self) -> Cost;

    fn changes(&self) -> Changes;

    /// A description; `None` if the plan has no line for it, or one for all repetitions.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Refuses what can't be done, as a damaged or edited record may contain.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// The most space that it needs on its target's filesystem, bytes.
    fn space(&self) -> u64 {
        0
    }

    /// Its time and its bytes are a part of what a run took.
    fn is_work(&self) -> bool {
        false
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// It ends with a sync, which takes as long as it takes.
    fn is_open_ended(&self) -> bool {
        false
    }

    /// It depends on state that the step before it on the same target left and that is lost when the process ends.
    fn continues(&self) -> bool {
        false
    }

    /// The step after it on the same target depends on state that it leaves and that is lost when the process ends.
    /// After a standby it measures the spin-up.
    fn prepares(&self) -> bool {
        false
    }

    /// Later steps on the same target use what it makes, which is lost when the process ends: a resumed run does it again.
    fn sets_up(&self) -> bool {
        false
    }

    /// The numbers of the members that it names of the pool that its target stands for, from 0.
    fn members(&self) -> Vec<u32> {
        Vec::new()
    }

    /// What a person must agree to before the run begins, besides erasing drives.
    fn consent(&self) -> Option<Consent> {
        None
    }

    /// Refuses, before anything is changed, what can't be done here: a program, a right or room is missing; and what to do. `store` is the
    /// directory of the results.
    fn require(&self, _on: &Target, _inventory: &Inventory, _store: &Path) -> Result<(), String> {
        Ok(())
    }

    /// Does it, and returns the targets on which it failed.
    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError>;
}

/// No drive has more bytes.
const LARGEST: u64 = i64::MAX as u64;

/// Refuses what lasts longer than any run, or less than nothing; seconds.
fn duration_fits(seconds: f64) -> Result<(), String> {
    const LONG: f64 = 1e12;
    if (0.0..=LONG).contains(&seconds) { Ok(()) } else { Err(format!("lasts {seconds} s")) }
}

/// An act of some kind.
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

    fn cost(&self) -> Cost {
        Cost::of_seconds(0.0)
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn space(&self) -> u64 {
        self.bytes
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::scratch_file::perform(run, step, self)
    }
}

crate::kind!("pause", Pause as Act);

impl Act for Pause {
    fn label(&self) -> String {
        "pause".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(self.seconds)
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn describe(&self) -> Option<String> {
        Some(format!("idle for {}", duration(self.seconds)))
    }

    fn continues(&self) -> bool {
        true
    }

    fn prepares(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::pause(run, step, self)
    }
}

crate::kind!("standby", Standby as Act);

impl Act for Standby {
    fn label(&self) -> String {
        "standby".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(Self::SETTLE + self.patience)
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("the drive goes to standby")
    }

    fn describe(&self) -> Option<String> {
        let patience = duration(self.patience);
        Some(format!("hdparm -y; if refused, up to {patience} for its own timer"))
    }

    fn prepares(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::standby::perform(run, step, self)
    }
}

crate::kind!("move_drives", MoveDrives as Act);

impl Act for MoveDrives {
    fn label(&self) -> String {
        format!("arrangement {}", self.number)
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(0.0)
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
