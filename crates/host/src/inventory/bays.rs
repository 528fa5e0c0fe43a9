//! Names of bays, given by the user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Drive, Inventory};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bays {
    /// Names by bay, with its bus: `3f980000.usb-usbv2-1.3`.
    #[serde(default)]
    pub bays: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum BayError {
    #[error(
        "there is no drive in a bay '{0}'; an empty bay is named with its bus, as in 3f980000.usb-usbv2-1.3"
    )]
    Empty(String),
    #[error("several buses have a bay '{bay}': {}", .buses.join(", "))]
    Ambiguous { bay: String, buses: Vec<String> },
    #[error(
        "'{0}' is not a valid bay name: use at most 32 letters, digits, - and _, with at least one letter"
    )]
    BadName(String),
    #[error("bay {bay} is already named '{name}'")]
    Taken { name: String, bay: String },
    #[error("no bay is named '{0}'")]
    Unknown(String),
}

impl Bays {
    /// Names a bay, given as shown by `list` if a drive is in it, else with its bus. Returns the bay with its bus.
    pub fn name(&mut self, inventory: &Inventory, bay: &str, name: &str) -> Result<String, BayError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let has_letter = name.contains(|c: char| c.is_ascii_alphabetic());
        if name.len() > 32 || !name.chars().all(allowed) || !has_letter {
            return Err(BayError::BadName(name.escape_debug().take(100).collect()));
        }
        let full = full_bay(inventory, bay)?;
        if let Some((other, _)) = self.bays.iter().find(|(other, taken)| *taken == name && **other != full) {
            return Err(BayError::Taken { name: name.to_owned(), bay: other.clone() });
        }
        self.bays.insert(full.clone(), name.to_owned());
        Ok(full)
    }

    /// Removes a name. Returns the bay that had it.
    pub fn forget(&mut self, name: &str) -> Result<String, BayError> {
        let bay = self.bays.iter().find(|(_, named)| *named == name).map(|(bay, _)| bay.clone());
        let bay = bay.ok_or_else(|| BayError::Unknown(name.escape_debug().take(100).collect()))?;
        self.bays.remove(&bay);
        Ok(bay)
    }
}

fn full_bay(inventory: &Inventory, bay: &str) -> Result<String, BayError> {
    let is_in_bay = |drive: &&Drive| drive.bay.as_deref() == Some(bay) || drive.full_bay() == bay;
    let mut found: Vec<String> = inventory.drives.iter().filter(is_in_bay).map(Drive::full_bay).collect();
    found.dedup();
    let is_on_bus = |id: &str| bay.strip_prefix(id).is_some_and(|rest| rest.starts_with('-'));
    match &found[..] {
        [one] => Ok(one.clone()),
        [] if inventory.buses.iter().any(|bus| is_on_bus(&bus.id)) => Ok(bay.to_owned()),
        [] => Err(BayError::Empty(bay.escape_debug().take(100).collect())),
        _ => Err(BayError::Ambiguous { bay: bay.to_owned(), buses: found }),
    }
}

impl Inventory {
    pub fn name_bays(&mut self, bays: &Bays) {
        for drive in &mut self.drives {
            drive.bay_name = bays.bays.get(&drive.full_bay()).cloned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures;

    #[test]
    fn a_bay_is_named_once_and_found_by_its_name() {
        let mut inventory = fixtures::pi_zero().inventory();
        let mut bays = Bays::default();
        assert_eq!(bays.name(&inventory, "1.3", "top-left").expect("names"), "3f980000.usb-usbv2-1.3");
        bays.name(&inventory, "3f980000.usb-usbv2-1.9", "spare").expect("an empty bay with its bus");
        assert!(matches!(bays.name(&inventory, "1.9", "x"), Err(BayError::Empty(_))));
        assert!(matches!(bays.name(&inventory, "1.2", "spare"), Err(BayError::Taken { .. })));
        for bad in ["", "1.3", "123", "a b", "ä", &"x".repeat(33)] {
            assert!(matches!(bays.name(&inventory, "1.2", bad), Err(BayError::BadName(_))), "{bad}");
        }
        inventory.name_bays(&bays);
        let named = inventory.drives.iter().find(|drive| drive.bay_name.is_some()).expect("a named bay");
        assert_eq!((named.name.as_str(), named.bay_name.as_deref()), ("sdd", Some("top-left")));
        assert_eq!(bays.forget("spare").expect("forgets"), "3f980000.usb-usbv2-1.9");
        assert!(bays.forget("spare").is_err());
    }

    #[test]
    fn a_bay_on_several_buses_is_ambiguous() {
        let inventory = fixtures::twins().inventory();
        let error = Bays::default().name(&inventory, "3", "left").expect_err("two");
        assert_eq!(
            error.to_string(),
            "several buses have a bay '3': 0000:00:14.0-usbv2-3, 0000:00:14.0-usbv3-3"
        );
    }
}
