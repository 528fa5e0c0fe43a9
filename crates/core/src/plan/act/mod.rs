//! The acts of steps: what each costs and changes, and how it is described.

mod boot;
mod existing;
mod files;
mod in_use;
mod load;
mod pool;
mod power;
mod protocol;
mod pull;
mod share;
mod swap;

use serde::{Deserialize, Serialize};

pub use boot::RecordBoot;
pub use existing::Existing;
pub use files::{FileSet, FileWork, Files};
pub use in_use::PullInUse;
pub use load::{AtLeast, FILL, Measure, Rule, zone_bytes};
pub use pool::{BuildPool, NotPredicted, Predict, Prediction, RebuildPool, RemovePool};
pub use power::PowerCut;
pub use protocol::Protocol;
pub use pull::{FileTree, FillTree, Pull, PullBy, SecondPull, TREE_DIRECTORIES};
pub use share::{Errand, Part, Protection, ShareTest, Via};
pub use swap::{SwapMedium, SwapTest, SwapWhat, SwapWork};

use super::{Cost, StepId};
use crate::units::{count, decimal_bytes, duration};

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

/// The act of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    ScratchFile(ScratchFile),
    Load(Measure),
    Files(Files),
    Pause(Pause),
    Standby(Standby),
    MoveDrives(MoveDrives),
    BuildPool(BuildPool),
    RebuildPool(RebuildPool),
    RemovePool(RemovePool),
    Predict(Predict),
    FillTree(FillTree),
    Pull(Pull),
    PullInUse(PullInUse),
    PowerCut(PowerCut),
    Swap(SwapTest),
    Share(ShareTest),
    RecordBoot(RecordBoot),
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

impl Act {
    /// Such as `write`. Steps with the same label and target are repetitions.
    pub fn label(&self) -> String {
        match self {
            Self::ScratchFile(_) => "scratch file".to_owned(),
            Self::Load(m) => m.label.clone(),
            Self::Files(files) => files.label(),
            Self::Pause(_) => "pause".to_owned(),
            Self::Standby(_) => "standby".to_owned(),
            Self::MoveDrives(moves) => format!("arrangement {}", moves.number),
            Self::BuildPool(_) => "build".to_owned(),
            Self::RebuildPool(_) => "rebuild".to_owned(),
            Self::RemovePool(_) => "remove".to_owned(),
            Self::Predict(_) => "predict".to_owned(),
            Self::FillTree(_) => "files".to_owned(),
            Self::Pull(_) | Self::PullInUse(_) => "pull".to_owned(),
            Self::PowerCut(_) => "power cut".to_owned(),
            Self::Swap(_) => "swap".to_owned(),
            Self::Share(_) => "share".to_owned(),
            Self::RecordBoot(_) => "boot".to_owned(),
        }
    }

    /// The maximum cost for each of its targets.
    pub fn cost(&self) -> Cost {
        match self {
            Self::ScratchFile(_) | Self::MoveDrives(_) | Self::Predict(_) => Cost::of_seconds(0.0),
            // Filling takes as long as the drives need.
            Self::BuildPool(build) => Cost { written: build.most, seconds: None, ..Cost::default() },
            Self::RebuildPool(rebuild) => Cost { written: rebuild.most, seconds: None, ..Cost::default() },
            Self::RemovePool(_) => Cost { seconds: None, ..Cost::default() },
            Self::FillTree(fill) => Cost { written: fill.tree.bytes, seconds: None, ..Cost::default() },
            // Copying back what is missing takes as long as the drives need.
            Self::Pull(pull) => Cost { written: pull.most, seconds: None, ..Cost::default() },
            Self::PullInUse(pull) => Cost { read: pull.bytes, seconds: None, ..Cost::default() },
            // Filling takes as long as the drive needs.
            Self::PowerCut(cut) => {
                Cost { written: cut.tree.bytes.saturating_add(cut.most), seconds: None, ..Cost::default() }
            }
            // Filling memory takes as long as the medium needs.
            Self::Swap(swap) => {
                let made = if swap.medium.is_file() { swap.area } else { 0 };
                let written = if swap.medium.is_zram() { 0 } else { made.saturating_add(swap.most) };
                Cost { written, seconds: None, ..Cost::default() }
            }
            // As long as the link and the drive need.
            Self::Share(share) => {
                let each = share.kept().saturating_mul(u64::from(share.runs));
                // The server's drive, and the client's: of each way, and once more after each start of the server.
                let times = |part| 1 + share.ways().filter(|via| via.has(part)).count() as u64;
                let of_client = if share.client_dir.is_some() { 2 * times(Part::ClientDrive) } else { 0 };
                let ways = times(Part::Drive) + of_client;
                let moved = each.saturating_mul(ways);
                Cost { written: moved, read: moved, seconds: None }
            }
            Self::RecordBoot(_) => Cost::of_seconds(RecordBoot::SECONDS),
            Self::Load(m) => m.cost(),
            Self::Files(files) => files.cost(),
            Self::Pause(pause) => Cost::of_seconds(pause.seconds),
            Self::Standby(standby) => Cost::of_seconds(Standby::SETTLE + standby.patience),
        }
    }

    /// Refuses acts that can't be done, see [`Plan::check`](super::Plan::check).
    pub(super) fn check(&self) -> Result<(), String> {
        /// Longer than any run, s.
        const LONG: f64 = 1e12;
        let (cost, size) = match self {
            Self::Load(m) => m.check().map(|()| (m.cost(), m.reach))?,
            Self::ScratchFile(file) => (Cost::default(), file.bytes),
            Self::Share(share) => share.check().map(|()| (self.cost(), share.held()))?,
            Self::Swap(swap) => swap.check().map(|()| (self.cost(), swap.area))?,
            act => (act.cost(), 0),
        };
        let bytes = cost.written.max(cost.read).max(size);
        if bytes > i64::MAX as u64 {
            return Err(format!("has {bytes} bytes, more than any drive"));
        }
        let seconds = match self {
            Self::Pull(Pull { seconds, .. }) | Self::PullInUse(PullInUse { seconds, .. }) => Some(*seconds),
            _ => cost.seconds,
        };
        match seconds {
            Some(seconds) if !(0.0..=LONG).contains(&seconds) => Err(format!("lasts {seconds} s")),
            _ => Ok(()),
        }
    }

    pub fn changes(&self) -> Changes {
        match self {
            Self::Load(m) if !m.load.writes() => Changes::Nothing,
            Self::ScratchFile(_)
            | Self::Load(_)
            | Self::Files(_)
            | Self::FillTree(_)
            | Self::PowerCut(_)
            | Self::Share(_) => Changes::OwnFiles,
            Self::Pull(_) => Changes::DriveState("a drive is taken away and brought back"),
            Self::PullInUse(_) => Changes::DriveState(
                "a drive of a pool in use is taken away and brought back; no file is written",
            ),
            Self::Swap(SwapTest { medium: SwapMedium::Device { drive }, .. }) => {
                Changes::Erases(vec![drive.clone()])
            }
            Self::Swap(_) => {
                Changes::DriveState("the kernel swaps to an area of ours, which is removed afterwards")
            }
            Self::Pause(_) | Self::Predict(_) | Self::RecordBoot(_) => Changes::Nothing,
            Self::BuildPool(BuildPool { drives, .. }) => Changes::Erases(drives.clone()),
            Self::RebuildPool(_) => Changes::DriveState("a drive is taken out of the pool and filled again"),
            Self::RemovePool(_) => Changes::DriveState("the pool is removed"),
            Self::Standby(_) => Changes::DriveState("the drive goes to standby"),
            Self::MoveDrives(_) => Changes::DriveState("drives are moved by hand"),
        }
    }

    /// A description; `None` if the plan has no line for it, or one for all repetitions.
    pub fn describe(&self) -> Option<String> {
        match self {
            Self::ScratchFile(_)
            | Self::Load(_)
            | Self::MoveDrives(_)
            | Self::Predict(_)
            | Self::RemovePool(_) => None,
            Self::BuildPool(build) if build.layout.is_redundant() => {
                Some(format!("{}, then wait until its drives agree", build.layout))
            }
            Self::BuildPool(build) => Some(build.layout.to_string()),
            Self::RebuildPool(rebuild) => Some(format!(
                "drive {} is taken out and filled again, as a new one would be",
                rebuild.member + 1
            )),
            Self::Files(files) => Some(files.describe().to_owned()),
            Self::FillTree(fill) => {
                let (files, bytes) = (count(fill.tree.files(), "file"), decimal_bytes(fill.tree.bytes));
                Some(format!("{files} of many sizes, {bytes}"))
            }
            Self::Pull(pull) => {
                let (seconds, drive, how) = (duration(pull.seconds), pull.member + 1, pull.by.words());
                let back = if pull.as_new { "then back as if it were a new one" } else { "then back" };
                let second = pull.second.as_ref().map(|second| {
                    format!("; while it is filled, drive {} is away for {seconds}, too", second.member + 1)
                });
                Some(format!(
                    "after {seconds} of reads and synced writes, drive {drive} is away for {seconds} ({how}), {back}{}",
                    second.unwrap_or_default()
                ))
            }
            Self::PullInUse(pull) => Some(pull.describe()),
            Self::PowerCut(cut) => {
                let (files, bytes) = (count(cut.tree.files(), "file"), decimal_bytes(cut.tree.bytes));
                let seconds = duration(cut.seconds);
                let ledger =
                    cut.ledger.as_ref().map(|at| format!("; the ledger is in {at}")).unwrap_or_default();
                Some(format!(
                    "{files}, {bytes}; then synced writes until a person cuts the power, for at most {seconds}; after that, a check{ledger}"
                ))
            }
            Self::Swap(swap) => Some(swap.describe()),
            Self::Share(share) => Some(share.describe()),
            Self::RecordBoot(_) => {
                Some("systemd's times of this boot, and what was read until now".to_owned())
            }
            Self::Pause(pause) => Some(format!("idle for {}", duration(pause.seconds))),
            Self::Standby(standby) => {
                let patience = duration(standby.patience);
                Some(format!("hdparm -y; if refused, up to {patience} for its own timer"))
            }
        }
    }

    /// It depends on state that the step before it on the same target left and that is lost when the process ends.
    pub fn continues(&self) -> bool {
        match self {
            Self::Load(m) => m.continues(),
            Self::Files(files) => files.work == FileWork::Read,
            act => matches!(act, Self::Pause(_)),
        }
    }

    /// The step after it on the same target depends on state that it leaves and that is lost when the process ends.
    /// After a standby it measures the spin-up.
    pub fn prepares(&self) -> bool {
        matches!(self, Self::Pause(_) | Self::Standby(_))
    }
}

/// A plan adds each kind as it is.
macro_rules! acts {
    ($($kind:ident($type:ident)),*) => {
        $(impl From<$type> for Act {
            fn from(act: $type) -> Self {
                Self::$kind(act)
            }
        })*
    };
}

acts!(
    ScratchFile(ScratchFile),
    Load(Measure),
    Files(Files),
    Pause(Pause),
    Standby(Standby),
    MoveDrives(MoveDrives),
    BuildPool(BuildPool),
    RebuildPool(RebuildPool),
    RemovePool(RemovePool),
    Predict(Predict),
    FillTree(FillTree),
    Pull(Pull),
    PullInUse(PullInUse),
    PowerCut(PowerCut),
    Swap(SwapTest),
    Share(ShareTest),
    RecordBoot(RecordBoot)
);
