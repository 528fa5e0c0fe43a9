//! Whether a drive sleeps.

use serde::{Deserialize, Serialize};

/// What a drive says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// It sleeps: its disks stand still.
    Standby,
    /// It is active, or idle with its disks turning.
    Awake,
    /// It does not say, or can't be believed.
    #[default]
    Unknown,
}
