//! Power states of drives.

use serde::{Deserialize, Serialize};

/// Power state that a drive reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// Standby: its disks do not rotate.
    Standby,
    /// Active or idle: its disks rotate.
    Awake,
    /// Not reported, or the report is not reliable.
    #[default]
    Unknown,
}
