//! Published failure rates of drives, and reasons why health is unknown.

use super::{Drive, Inventory, Medium};

/// Published annual failure rate of a kind of drive; no forecast for one drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailureRate {
    /// Kind of drive: `hard disks`.
    pub kind: &'static str,
    /// Share that failed per year.
    pub annual: f64,
    pub source: &'static str,
}

const DISKS: FailureRate = FailureRate { kind: "hard disks", annual: 0.0157, source: "Backblaze, 2024" };
const SSDS: FailureRate =
    FailureRate { kind: "SSDs", annual: 0.009, source: "Backblaze, all years to mid-2023" };

impl Drive {
    /// Failure rate of this kind of drive in a data centre; none for sticks, cards and kinds without published data.
    pub fn failure_rate(&self) -> Option<FailureRate> {
        match (self.medium, self.bus.as_deref()) {
            (Medium::Rotating, _) => Some(DISKS),
            (Medium::Flash, Some("ata" | "nvme" | "scsi")) => Some(SSDS),
            (Medium::Flash, Some("usb")) if !self.removable => Some(SSDS),
            _ => None,
        }
    }
}

impl Inventory {
    /// Reasons why health is unknown, each with its drives.
    pub fn unknown_health(&self) -> Vec<(&str, Vec<&str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for drive in &self.drives {
            let health = drive.health.as_ref();
            let Some(reason) = health.and_then(|health| health.unknown.as_deref()) else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, drives)) => drives.push(&drive.name),
                None => reasons.push((reason, vec![&drive.name])),
            }
        }
        reasons
    }
}
