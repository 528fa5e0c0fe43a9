//! Send a disk to standby: by command or, if it refuses, by waiting for its own timer.

use serde::{Deserialize, Serialize};

use super::{Changes, Cost, Kind};
use crate::units::duration;

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

impl Kind for Standby {
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

    // The next read measures the spin-up.
    fn prepares(&self) -> bool {
        true
    }
}
