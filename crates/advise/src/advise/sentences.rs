//! Names of drives and numbers in answers.

use crate::{
    analyse::Estimate,
    inventory::{Drive, Inventory},
    units::rate,
};

/// A unique name of a drive: `the SD card`, its model, or its model and its bay.
pub(super) fn name(inventory: &Inventory, drive: &Drive) -> String {
    if drive.in_sd_slot() {
        let slots = inventory.drives.iter().filter(|d| d.in_sd_slot() && d.sectors > 0);
        if slots.count() == 1 {
            return "the SD card".to_owned();
        }
    }
    let Some(model) = &drive.model else { return drive.node() };
    let same: Vec<&Drive> = inventory.drives.iter().filter(|d| d.model.as_ref() == Some(model)).collect();
    let bay =
        |d: &Drive| d.bay_name.clone().or_else(|| d.bay.clone()).filter(|_| d.bus.as_deref() == Some("usb"));
    // Every bus has a port 1, so two drives may be in a bay 1.
    let alone = same.iter().filter(|d| bay(d) == bay(drive)).count() == 1;
    match bay(drive) {
        _ if same.len() == 1 => model.clone(),
        Some(bay) if alone => format!("{model} in bay {bay}"),
        _ => format!("{model} ({})", drive.name),
    }
}

/// A speed with its interval, as far as it has one.
pub(super) fn speed(e: &Estimate) -> String {
    with_interval(e, rate)
}

pub(super) fn with_interval(e: &Estimate, write: fn(f64) -> String) -> String {
    let known = e.low > 0.0 || e.high.is_finite();
    if known { e.text(write) } else { format!("{} (no interval)", write(e.value)) }
}

/// A ratio: `1.9 times`.
pub(super) fn times(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.0} times") } else { format!("{ratio:.1} times") }
}

/// The noun for `n` drives: `the drive`, `both drives`, `the 4 drives`.
pub(super) fn the_drives(n: usize) -> String {
    match n {
        1 => "the drive".to_owned(),
        2 => "both drives".to_owned(),
        n => format!("the {n} drives"),
    }
}
