//! Where findings come from: the run, its machine and its drives.

use serde::{Deserialize, Serialize};

use super::On;
use crate::units::RunStatus;

/// Where findings come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// When it was measured, as RFC 3339; empty where unknown.
    pub at: String,
    /// drivebench's version then.
    pub version: String,
    /// What became of the run.
    pub ended: RunStatus,
    /// The board, or what else the machine is called.
    pub board: Option<String>,
    /// The lab's scenario, where it ran in the lab.
    pub lab: Option<String>,
    /// The protocol that was followed exactly.
    pub protocol: Option<String>,
    /// What carries each target, in the order of the plan.
    pub carriers: Vec<Carrier>,
}

/// What carries a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carrier {
    /// The target as the person wrote it.
    pub target: String,
    /// All names it goes by.
    pub names: Vec<String>,
    /// What it is, in a line.
    pub describe: String,
    /// A file or a device; `None` where another tool measured it.
    pub on: Option<On>,
    /// Its drives, where they are known.
    pub drives: Vec<CarrierDrive>,
    /// Names of the layers between, such as `md0`.
    pub layers: Vec<String>,
}

/// A drive that carries a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CarrierDrive {
    /// What the drive is kept under, in whichever bay it is.
    pub identity: String,
    /// Vendor, where known.
    pub vendor: Option<String>,
    /// Model, where known.
    pub model: Option<String>,
    /// Serial number, where known.
    pub serial: Option<String>,
    /// Size, bytes.
    pub bytes: Option<u64>,
    /// The physical port, where known.
    pub bay: Option<String>,
    /// The physical port with its controller.
    pub full_bay: String,
    /// What links it: `usb`, `mmc`, `nvme`, `ata`.
    pub bus: Option<String>,
}

impl Carrier {
    /// The identities of its drives.
    pub fn identities(&self) -> impl Iterator<Item = &str> {
        self.drives.iter().map(|drive| drive.identity.as_str())
    }
}
