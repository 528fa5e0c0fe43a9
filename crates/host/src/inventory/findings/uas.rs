//! Whether a USB bridge uses the right driver: uas or usb-storage.

use super::{Code, Finding};
use crate::inventory::{Drive, Inventory};

/// Bridges for which the kernel disables UAS, or for some of them: those of ASMedia share their numbers with others. By vendor and
/// product number.
const WITHOUT_UAS: [&str; 6] = ["0984:0301", "174c:5106", "174c:55aa", "2537:1068", "357d:7788", "4971:1012"];

pub(super) fn driver(inventory: &Inventory, drive: &Drive) -> Option<Finding> {
    let usb = drive.usb.as_ref()?;
    let (label, id) = (drive.label(), &usb.id);
    let (code, what, advice) = match drive.driver.as_deref()? {
        "uas" if id.starts_with("0bc2:") => (
            Code::UasHidesHealth,
            format!("{label} uses uas, with which Seagate bridges don't report SMART."),
            format!(
                "To read its health, add usb-storage.quirks={id}:u to the kernel's command line. That makes it slower."
            ),
        ),
        "usb-storage"
            if usb.offers_uas == Some(true)
                && !inventory.machine.usb_without_uas()
                && !WITHOUT_UAS.contains(&id.as_str()) =>
        {
            (
                Code::UasUnused,
                format!("{label} supports UAS but uses usb-storage, which handles one request at a time."),
                format!(
                    "`dmesg | grep -i uas` tells why. If it is a quirk for {id} without a known reason, remove that from the kernel's command line."
                ),
            )
        }
        _ => return None,
    };
    Some(Finding::of(code, [drive], what, advice))
}
