//! Power: undervoltage, throttling, USB current, autosuspend.

use super::{Code, Finding};
use crate::{
    inventory::{Drive, Inventory},
    units::listed,
};

/// By the firmware's bits: 0 is undervoltage and 1 to 3 are throttling now, 16 to 19 the same since boot.
pub(super) fn throttling(inventory: &Inventory) -> Option<Finding> {
    let machine = &inventory.machine;
    let has = |bits: u32| machine.throttled.is_some_and(|set| set & bits != 0);
    let (code, now, what, advice) = if has(0x1_0001) {
        let advice = "It slows the board, and drives may disconnect: use a stronger power supply and a short, thick cable, or a powered hub.";
        (Code::Undervoltage, has(1), "undervoltage", advice)
    } else if has(0xe_000e) {
        (Code::Throttled, has(0xe), "throttling", "Improve the cooling: throttling makes results lower.")
    } else {
        return None;
    };
    let when = if now { "now" } else { "since boot" };
    Some(Finding::of(code, [], format!("The machine reports {what} {when}."), advice))
}

/// Drives that report their current and are powered by the board.
pub(super) fn budget(inventory: &Inventory) -> Option<Finding> {
    let budget = inventory.machine.usb_budget_ma?;
    // A hub on the board reports a supply of its own, but its devices draw from the board: skip the innermost.
    let external = |drive: &Drive| {
        let above = inventory.buses_above(drive.upstream.as_deref());
        above.iter().rev().filter_map(|bus| bus.self_powered).skip(1).any(|own_supply| own_supply)
    };
    let draws = inventory.drives.iter().filter_map(|drive| {
        let usb = drive.usb.as_ref().filter(|usb| usb.self_powered != Some(true))?;
        Some((drive, usb.max_power_ma.filter(|&ma| ma > 0 && !external(drive))?))
    });
    let drawing: Vec<(&Drive, u32)> = draws.collect();
    let total: u32 = drawing.iter().map(|(_, ma)| *ma).fold(0, u32::saturating_add);
    if total <= budget {
        return None;
    }
    let each: Vec<String> = drawing.iter().map(|(drive, ma)| format!("{} {ma} mA", drive.name)).collect();
    let what = format!(
        "USB drives may draw {total} mA ({}), but the ports supply {budget} mA in total.",
        listed(&each)
    );
    let advice = if budget == 600 {
        "Use a 5 V 5 A power supply, which allows 1600 mA, or a powered hub."
    } else {
        "Connect some of them through a powered hub."
    };
    Some(Finding::of(Code::UsbPower, drawing.iter().map(|(drive, _)| *drive), what, advice))
}

pub(super) fn autosuspend(drive: &Drive) -> Option<Finding> {
    let usb = drive.usb.as_ref().filter(|usb| usb.autosuspend == Some(true))?;
    let what = format!("The kernel may suspend {} when idle, which delays the next access.", drive.label());
    let file = format!("/sys/bus/usb/devices/{}/power/control", usb.device);
    let advice = format!("echo on > {file} disables that until the next boot.");
    Some(Finding::of(Code::Autosuspend, [drive], what, advice))
}
