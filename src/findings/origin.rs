//! Where findings come from: the run, its machine and its drives.

use serde::{Deserialize, Serialize};

use super::On;
use crate::units::RunStatus;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// When it was measured, as RFC 3339; empty where unknown.
    pub at: String,
    pub version: String,
    pub ended: RunStatus,
    /// The board, or what else the machine is called.
    pub board: Option<String>,
    /// The lab's scenario, where it ran in the lab.
    pub lab: Option<String>,
    pub protocol: Option<String>,
    /// What carries each target, in the order of the plan.
    pub carriers: Vec<Carrier>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carrier {
    /// The target as the person wrote it.
    pub target: String,
    pub names: Vec<String>,
    pub describe: String,
    /// A file or a device; `None` where another tool measured it.
    pub on: Option<On>,
    pub drives: Vec<CarrierDrive>,
    /// Names of the layers between, such as `md0`.
    pub layers: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CarrierDrive {
    /// What the drive is kept under, in whichever bay it is.
    pub identity: String,
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub bytes: Option<u64>,
    pub bay: Option<String>,
    /// The physical port with its controller.
    pub full_bay: String,
    /// What links it: `usb`, `mmc`, `nvme`, `ata`.
    pub bus: Option<String>,
}

impl Carrier {
    pub fn identities(&self) -> impl Iterator<Item = &str> {
        self.drives.iter().map(|drive| drive.identity.as_str())
    }
}
