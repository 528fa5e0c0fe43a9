//! Record how the machine started.

use serde::{Deserialize, Serialize};

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
