//! Which of its two drivers a USB bridge uses, and which it should.

use super::Finding;
use crate::inventory::{Drive, Inventory, Usb};

/// Bridges that break under UAS, by vendor and product number, and what is known of them.
const BREAK: [(&str, &str); 4] = [
    ("0984:0301", "the kernel keeps its firmware 1.28 from UAS"),
    ("2537:1068", "the kernel keeps it from UAS"),
    ("357d:7788", "the kernel keeps it from UAS"),
    ("4971:1012", "the kernel keeps it from UAS"),
];

/// ASMedia sold bridges with broken and with working UAS under these numbers; the kernel tells them apart.
const UNCLEAR: [&str; 2] = ["174c:5106", "174c:55aa"];

pub(super) fn choice(inventory: &Inventory, drive: &Drive) -> Option<Finding> {
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
        let what = format!("{label} runs by uas, and its bridge {} is known to break there ({why}).", usb.id);
        let advice = format!("Add usb-storage.quirks={}:u to the kernel's command line.", usb.id);
        return Some(Finding::of("uas-breaks", [drive], what, advice));
    }
    usb.id.starts_with("0bc2:").then(|| {
        let what = format!("{label} runs by uas, and Seagate's bridges refuse SMART there.");
        let advice = format!(
            "To read its health, add usb-storage.quirks={}:u to the kernel's command line; that costs speed.",
            usb.id
        );
        Finding::of("uas-hides-health", [drive], what, advice)
    })
}

fn unused(drive: &Drive, usb: &Usb) -> Option<Finding> {
    let label = drive.label();
    if BREAK.iter().any(|(id, _)| *id == usb.id) || UNCLEAR.contains(&usb.id.as_str()) {
        return None;
    }
    let (what, advice) = if usb.quirks.as_ref().is_some_and(|quirks| quirks.contains('u')) {
        (
            format!("{label} offers UAS, and a quirk for {} keeps it on usb-storage.", usb.id),
            "If nobody knows why, take the quirk out, measure again and watch the kernel's log for resets.",
        )
    } else {
        (
            format!("{label} offers UAS and runs by usb-storage, one request at a time."),
            "See why with `dmesg | grep -i uas`; `modprobe uas` and plugging it in again may be all.",
        )
    };
    Some(Finding::of("uas-unused", [drive], what, advice))
}
