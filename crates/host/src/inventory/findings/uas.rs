//! Whether a USB bridge uses the right driver: uas or usb-storage.

use super::{Code, Finding};
use crate::inventory::{Drive, Inventory, Usb};

/// Bridges that fail under UAS, by vendor and product number, with the reason.
const BREAK: [(&str, &str); 4] = [
    ("0984:0301", "the kernel disables UAS for its firmware 1.28"),
    ("2537:1068", "the kernel disables UAS for it"),
    ("357d:7788", "the kernel disables UAS for it"),
    ("4971:1012", "the kernel disables UAS for it"),
];

/// ASMedia bridges with broken and with working UAS share these numbers; the kernel distinguishes them.
const UNCLEAR: [&str; 2] = ["174c:5106", "174c:55aa"];

pub(super) fn driver(inventory: &Inventory, drive: &Drive) -> Option<Finding> {
    let usb = drive.usb.as_ref()?;
    match drive.driver.as_deref()? {
        "uas" => breaks(drive, usb),
        "usb-storage" if usb.offers_uas == Some(true) && !inventory.machine.usb_without_uas() => {
            unused(drive, usb)
        }
        _ => None,
    }
}

fn breaks(drive: &Drive, usb: &Usb) -> Option<Finding> {
    let label = drive.label();
    if let Some((_, why)) = BREAK.iter().find(|(id, _)| *id == usb.id) {
        let what = format!("{label} uses uas, but its bridge {} is known to fail with it ({why}).", usb.id);
        let advice = format!("Add usb-storage.quirks={}:u to the kernel's command line.", usb.id);
        return Some(Finding::of(Code::UasBreaks, [drive], what, advice));
    }
    usb.id.starts_with("0bc2:").then(|| {
        let what = format!("{label} uses uas, with which Seagate bridges don't report SMART.");
        let advice = format!(
            "To read its health, add usb-storage.quirks={}:u to the kernel's command line. That makes it slower.",
            usb.id
        );
        Finding::of(Code::UasHidesHealth, [drive], what, advice)
    })
}

fn unused(drive: &Drive, usb: &Usb) -> Option<Finding> {
    let label = drive.label();
    if BREAK.iter().any(|(id, _)| *id == usb.id) || UNCLEAR.contains(&usb.id.as_str()) {
        return None;
    }
    let (what, advice) = if usb.quirks.as_ref().is_some_and(|quirks| quirks.contains('u')) {
        (
            format!("{label} supports UAS, but a quirk for {} forces usb-storage.", usb.id),
            "If the reason is unknown, remove the quirk, measure again, and check the kernel log for resets.",
        )
    } else {
        (
            format!("{label} supports UAS but uses usb-storage, which handles one request at a time."),
            "Check `dmesg | grep -i uas` for the reason. `modprobe uas` and plugging it in again may help.",
        )
    };
    Some(Finding::of(Code::UasUnused, [drive], what, advice))
}
