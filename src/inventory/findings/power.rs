//! Power: too little of it, and drives that are put to sleep.

use super::Finding;
use crate::{
    inventory::{Drive, Inventory},
    units::listed,
};

/// Undervoltage, throttling, and what all drives together may draw.
pub(super) fn of_machine(inventory: &Inventory) -> Vec<Finding> {
    undervoltage(inventory).into_iter().chain(heat(inventory)).chain(budget(inventory)).collect()
}

fn undervoltage(inventory: &Inventory) -> Option<Finding> {
    let what = match inventory.machine.throttled? {
        bits if bits & 1 != 0 => {
            "The board has too little voltage now: it slows down, and drives may drop out."
        }
        bits if bits & 1 << 16 != 0 => "The board has had too little voltage since it started.",
        _ => return None,
    };
    let advice = "Use a supply with more current and a short thick cable, or give the drives a hub with its own supply.";
    Some(Finding::of("undervoltage", [], what, advice))
}

/// Bits 1 to 3 of the firmware's word are now, 17 to 19 since start; PCs count.
fn heat(inventory: &Inventory) -> Option<Finding> {
    let machine = &inventory.machine;
    // With undervoltage the clock is held down for that.
    let bits = machine.throttled.filter(|bits| bits & 0x1_0001 == 0).unwrap_or(0);
    let what = match (bits & 0b1110, bits >> 16 & 0b1110, machine.throttle_events) {
        (1.., ..) => "The processor is throttled now.".to_owned(),
        (_, 1.., _) => "The processor has been throttled since it started.".to_owned(),
        (_, _, Some(times @ 1..)) => {
            format!("The processor has been throttled for heat {times} times since it started.")
        }
        _ => return None,
    };
    Some(Finding::of(
        "throttled",
        [],
        what,
        "Cool it better: results taken meanwhile are the throttled machine's.",
    ))
}

/// Drives that state their draw and have no supply of their own, nor hang on a hub that has.
fn budget(inventory: &Inventory) -> Option<Finding> {
    let budget = inventory.machine.usb_budget_ma?;
    // A hub on the board says that it has a supply of its own, and what hangs on it still draws from the board.
    let outside = |drive: &Drive| {
        let above = inventory.buses_above(drive.upstream.as_deref());
        above
            .iter()
            .rev()
            .filter(|bus| bus.self_powered.is_some())
            .skip(1)
            .any(|hub| hub.self_powered == Some(true))
    };
    let draws = inventory.drives.iter().filter_map(|drive| {
        let usb = drive.usb.as_ref().filter(|usb| usb.self_powered != Some(true))?;
        Some((drive, usb.max_power_ma.filter(|&ma| ma > 0 && !outside(drive))?))
    });
    let drawing: Vec<(&Drive, u32)> = draws.collect();
    let total: u32 = drawing.iter().map(|(_, ma)| *ma).fold(0, u32::saturating_add);
    if total <= budget {
        return None;
    }
    let each: Vec<String> = drawing.iter().map(|(drive, ma)| format!("{} {ma} mA", drive.name)).collect();
    let what = format!(
        "USB drives may draw {total} mA by their own word ({}), the ports give {budget} mA in all.",
        listed(&each)
    );
    let advice = if budget == 600 {
        "Use a 5 V 5 A supply, which allows 1600 mA, or a hub with its own supply."
    } else {
        "Give some of them a hub with its own supply."
    };
    Some(Finding::of("usb-power", drawing.iter().map(|(drive, _)| *drive), what, advice))
}

pub(super) fn autosuspend(drive: &Drive) -> Option<Finding> {
    let usb = drive.usb.as_ref().filter(|usb| usb.autosuspend == Some(true))?;
    let what = format!(
        "{} may be put to sleep by the kernel when idle; the first access then waits.",
        drive.label()
    );
    let advice = format!(
        "echo on > /sys/bus/usb/devices/{}/power/control keeps it awake until the next start.",
        usb.device
    );
    Some(Finding::of("autosuspend", [drive], what, advice))
}
