//! What is known of drives' lives: their own words together, and how others' fared.

use super::{Drive, Inventory, Medium};

/// How drives of a kind fared elsewhere: a prior, no forecast for one drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// What it is about: `hard disks`.
    pub kind: &'static str,
    /// Share that failed in a year.
    pub annual: f64,
    /// Where that was seen.
    pub source: &'static str,
}

const DISKS: Prior = Prior { kind: "hard disks", annual: 0.0157, source: "Backblaze, 2024" };
const SSDS: Prior = Prior { kind: "SSDs", annual: 0.009, source: "Backblaze, all years to mid-2023" };

impl Drive {
    /// How its like fared in a datacentre; none for sticks, cards and what nobody counted.
    pub fn prior(&self) -> Option<Prior> {
        match (self.medium, self.bus.as_deref()) {
            (Medium::Rotating, _) => Some(DISKS),
            (Medium::Flash, Some("ata" | "nvme" | "scsi")) => Some(SSDS),
            (Medium::Flash, Some("usb")) if !self.removable => Some(SSDS),
            _ => None,
        }
    }
}

impl Inventory {
    /// Why drives' health isn't known, each reason with the drives it holds for.
    pub fn unknown_health(&self) -> Vec<(&str, Vec<&str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for drive in &self.drives {
            let Some(reason) = drive.health.as_ref().and_then(|health| health.unknown.as_deref()) else {
                continue;
            };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, drives)) => drives.push(&drive.name),
                None => reasons.push((reason, vec![&drive.name])),
            }
        }
        reasons
    }
}
