//! What steps do: one file for each kind of act says what it costs, what it changes and how it reads.

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

/// What every kind of act says of itself.
pub trait Kind {
    /// What it is called, such as `write`. Steps with the same label and target are repetitions.
    fn label(&self) -> String;

    /// The most it costs each of its targets.
    fn cost(&self) -> Cost;

    /// What it changes.
    fn changes(&self) -> Changes;

    /// What is done, in words; `None` where a plan has no line for it.
    fn describe(&self) -> Option<String> {
        None
    }

    /// It needs what the step before it on the same target left, which does not outlast the process.
    fn continues(&self) -> bool {
        false
    }

    /// The step after it on the same target needs what it leaves, which does not outlast the process.
    fn prepares(&self) -> bool {
        false
    }
}

/// What an act changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    /// Nothing.
    Nothing,
    /// Files made for the purpose, removed afterwards.
    OwnFiles,
    /// What a drive does, but not what is on it: in words.
    DriveState(&'static str),
    /// What is on these drives is lost; by their identities.
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
        /// What a step does.
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
    /// Make a file for the loads that follow.
    ScratchFile(ScratchFile),
    /// Run loads and time them.
    Load(Measure),
    /// Write or read files.
    Files(Files),
    /// Leave the drive alone.
    Pause(Pause),
    /// Send the drive to standby.
    Standby(Standby),
    /// Have people put drives into bays.
    MoveDrives(MoveDrives),
}
