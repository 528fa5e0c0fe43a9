//! Power states of drives.

use serde::{Deserialize, Serialize};

/// Power state that a drive reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// It sleeps: its disks stand still.
    Standby,
    /// It is active, or idle with its disks turning.
    Awake,
    /// The drive does not report it, or its report is not reliable.
    #[default]
    Unknown,
}
