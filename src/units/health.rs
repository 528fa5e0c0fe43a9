//! What a drive says of its own state and wear.

use serde::{Deserialize, Serialize};

/// A drive's state by its own word. What it doesn't tell is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Who was asked: `smartctl -d sat`, `sysfs`; none where nobody could be.
    pub source: Option<String>,
    /// Why nothing is known, where nothing is.
    pub unknown: Option<String>,
    /// Its overall verdict on itself.
    pub passed: Option<bool>,
    /// Share of its rated life that is used: 0.02; above 1 it is beyond that.
    pub wear: Option<f64>,
    /// Share of its reserve blocks that is left.
    pub spare: Option<f64>,
    /// Bytes written to it over its life.
    pub written: Option<u64>,
    /// Hours it was on.
    pub hours: Option<u64>,
    /// Degrees Celsius.
    pub temperature: Option<f64>,
    /// Sectors it has replaced.
    pub reallocated: Option<u64>,
    /// Sectors it could not read and waits to replace.
    pub pending: Option<u64>,
    /// Errors of its medium that it could not correct.
    pub uncorrectable: Option<u64>,
    /// Transfers that arrived damaged over its cable.
    pub cable_errors: Option<u64>,
    /// Attributes that are below their limit now, as smartctl names them.
    pub failing: Vec<String>,
}
