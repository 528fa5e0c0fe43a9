//! What a drive reports: its health and wear, and its power state.

use serde::{Deserialize, Serialize};

/// What a drive doesn't report is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// The source: `smartctl -d sat` or `sysfs`; none if there is no source.
    pub source: Option<String>,
    pub unknown: Option<String>,
    pub passed: Option<bool>,
    /// Used share of its rated life, such as 0.02; can exceed 1.
    pub wear: Option<f64>,
    /// Remaining share of its spare blocks.
    pub spare: Option<f64>,
    pub written: Option<u64>,
    pub hours: Option<u64>,
    /// Degrees Celsius.
    pub temperature: Option<f64>,
    pub reallocated: Option<u64>,
    /// Unreadable sectors that wait for reallocation.
    pub pending: Option<u64>,
    pub uncorrectable: Option<u64>,
    /// Interface CRC errors, usually from the cable.
    pub cable_errors: Option<u64>,
    /// Attributes below their threshold, as smartctl names them.
    pub failing: Vec<String>,
}

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
