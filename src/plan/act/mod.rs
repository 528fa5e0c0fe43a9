//! The acts of steps: one file per kind defines its cost, its changes and its description.

mod files;
mod load;
mod move_drives;
mod pause;
mod scratch_file;
mod standby;

use std::ops::Deref;

use serde::{Deserialize, Serialize};

pub use files::{FileSet, FileWork, Files};
pub use load::{Measure, Rule, zone_bytes};
pub use move_drives::MoveDrives;
pub use pause::Pause;
pub use scratch_file::ScratchFile;
pub use standby::Standby;

use super::{Cost, StepId};

/// The properties of every kind of act.
pub trait Kind {
    /// Its label, such as `write`. Steps with the same label and target are repetitions.
    fn label(&self) -> String;

    /// The maximum cost for each of its targets.
    fn cost(&self) -> Cost;

    /// What it changes.
    fn changes(&self) -> Changes;

    /// A description; `None` if the plan has no line for it.
    fn describe(&self) -> Option<String> {
        None
    }

    /// It depends on state that the step before it on the same target left and that is lost when the process ends.
    fn continues(&self) -> bool {
        false
    }

    /// The step after it on the same target depends on state that it leaves and that is lost when the process ends.
    fn prepares(&self) -> bool {
        false
    }
}

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

/// Registers the kinds: each is a variant of [`Act`] that holds the type from its file.
macro_rules! acts {
    ($($(#[$doc:meta])* $name:ident($type:ident),)*) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Act {
            $($(#[$doc])* $name($type),)*
        }

        impl Deref for Act {
            type Target = dyn Kind;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$name(act) => act,)*
                }
            }
        }

        $(impl From<$type> for Act {
            fn from(act: $type) -> Self {
                Self::$name(act)
            }
        })*
    };
}

acts! {
    ScratchFile(ScratchFile),
    Load(Measure),
    Files(Files),
    Pause(Pause),
    Standby(Standby),
    MoveDrives(MoveDrives),
}
