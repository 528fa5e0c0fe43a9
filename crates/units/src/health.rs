//! What a drive reports: its health and wear, and its power state.

use serde::{Deserialize, Serialize};

/// Health and wear of a drive. Fields that it doesn't report are `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// The source: `smartctl -d sat` or `sysfs`.
    pub source: Option<String>,
    /// Why nothing is known; `None` if something is.
    pub unknown: Option<String>,
    /// Whether the drive says that it is healthy.
    pub passed: Option<bool>,
    /// Used share of its rated life, such as 0.02; can exceed 1.
    pub wear: Option<f64>,
    /// Remaining share of its spare blocks.
    pub spare: Option<f64>,
    /// Bytes written in its lifetime.
    pub written: Option<u64>,
    /// Hours in operation.
    pub hours: Option<u64>,
    /// Temperature, degrees Celsius.
    pub temperature: Option<f64>,
    /// Sectors that were replaced.
    pub reallocated: Option<u64>,
    /// Unreadable sectors that wait for reallocation.
    pub pending: Option<u64>,
    /// Errors that it could not correct, when reading, writing or checking itself.
    pub uncorrectable: Option<u64>,
    /// Interface CRC errors, usually from the cable.
    pub cable_errors: Option<u64>,
    /// Entries that its error log has counted; refused commands are among them.
    pub logged_errors: Option<u64>,
    /// How its last self-test failed, as smartctl words it; `None` if an extended one has passed since.
    pub self_test: Option<String>,
    /// Critical warnings of an NVMe drive.
    pub warnings: Vec<Warning>,
    /// Attributes below their threshold that predict a failure, as smartctl names them.
    pub failing: Vec<String>,
}

/// A bit of an NVMe drive's critical warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    Spare,
    Temperature,
    Reliability,
    ReadOnly,
    Backup,
    PersistentMemory,
    Other,
}

impl Warning {
    /// The known warnings in words, in the order of their bits.
    const ALL: [(Self, &str); 6] = [
        (Self::Spare, "too few spare blocks"),
        (Self::Temperature, "temperature outside its limits"),
        (Self::Reliability, "less reliable after many errors"),
        (Self::ReadOnly, "now read-only"),
        (Self::Backup, "backup of its volatile memory failed"),
        (Self::PersistentMemory, "persistent memory is unreliable"),
    ];

    pub fn from_bits(bits: u64) -> Vec<Self> {
        let named = Self::ALL.into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        let other = (bits >> Self::ALL.len() != 0).then_some(Self::Other);
        named.map(|(_, (warning, _))| warning).chain(other).collect()
    }

    pub fn words(self) -> &'static str {
        let known = Self::ALL.into_iter().find(|(warning, _)| *warning == self);
        known.map_or("a warning that is not in NVMe 2.0", |(_, words)| words)
    }
}

impl Health {
    /// Whether it only warns of its temperature.
    pub fn is_only_hot(&self) -> bool {
        !self.warnings.is_empty() && self.warnings.iter().all(|warning| *warning == Warning::Temperature)
    }

    /// Whether it reports that it is failing: its overall state, an attribute or a warning other than of heat.
    pub fn is_failing(&self) -> bool {
        let warns = self.passed == Some(false) || !self.warnings.is_empty();
        (warns && !self.is_only_hot()) || !self.failing.is_empty()
    }

    /// Whether data on it is at risk.
    pub fn endangers_data(&self) -> bool {
        let lost = [self.pending, self.uncorrectable].into_iter().flatten().any(|n| n > 0);
        self.is_failing() || self.self_test.is_some() || lost
    }
}

/// Power state that a drive reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// Standby: its disks do not rotate.
    Standby,
    /// Active or idle: its disks rotate.
    Awake,
    /// Not reported, or not reliably.
    #[default]
    Unknown,
}
