//! Have people move drives to bays.

use serde::{Deserialize, Serialize};

use super::{Changes, Cost, Kind};

/// Which drive is to be in which bay from now on. Later steps find their targets there, whatever device names the kernel
/// assigns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MoveDrives {
    /// The number of the arrangement, from 1.
    pub number: u32,
    /// The bay of each of the plan's targets, with its bus, see [`crate::inventory::Drive::full_bay`].
    pub bays: Vec<String>,
}

impl Kind for MoveDrives {
    fn label(&self) -> String {
        format!("arrangement {}", self.number)
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(0.0)
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("drives are moved by hand")
    }
}
