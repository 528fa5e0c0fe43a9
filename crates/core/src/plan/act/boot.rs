//! Record how the machine started.

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, Needs, Step};
use crate::run::{Execution, RunError, Troubles, act};

/// Records how long this start of the machine took, by systemd's own times, and what was read from the step's target meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordBoot {
    /// How many runs of the store are searched for earlier boots, at most.
    pub earlier: u32,
}

impl RecordBoot {
    /// The time limits of two questions to systemd, s.
    pub const SECONDS: f64 = 40.0;
}

#[typetag::serde(name = "record_boot")]
impl Act for RecordBoot {
    fn label(&self) -> String {
        "boot".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(Self::SECONDS)
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn describe(&self) -> Option<String> {
        Some("systemd's times of this boot, and what was read until now".to_owned())
    }

    fn needs(&self) -> Needs {
        Needs { looks_back: true, ..Needs::default() }
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::boot::record(run, step, self)
    }
}
