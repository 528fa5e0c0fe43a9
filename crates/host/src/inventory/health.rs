//! Reasons why the health of drives is unknown.

use super::Inventory;

impl Inventory {
    /// Reasons why health is unknown, each with its drives.
    pub fn unknown_health(&self) -> Vec<(&str, Vec<&str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for drive in &self.drives {
            let health = drive.health.as_ref();
            let Some(reason) = health.and_then(|health| health.unknown.as_deref()) else { continue };
            match reasons.iter_mut().find(|(listed, _)| *listed == reason) {
                Some((_, drives)) => drives.push(&drive.name),
                None => reasons.push((reason, vec![&drive.name])),
            }
        }
        reasons
    }
}
