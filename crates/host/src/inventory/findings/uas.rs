//! Whether a USB bridge uses the right driver: uas or usb-storage.

use super::{Code, Finding};
use crate::inventory::{Drive, Inventory};

/// Bridges for which the kernel disables UAS, or for some of them: those of ASMedia share their numbers with others. By vendor and
/// product number.
const WITHOUT_UAS: [&str; 6] = ["0984:0301", "174c:5106", "174c:55aa", "2537:1068", "357d:7788", "4971:1012"];

pub(super) fn driver(inventory: &Inventory, drive: &Drive) -> Option<Finding> {
    let usb = drive.usb.as_ref().filter(|usb| usb.offers_uas == Some(true))?;
    let (label, id) = (drive.label(), &usb.id);
    if drive.driver.as_deref() != Some("usb-storage")
        || inventory.machine.usb_without_uas()
        || WITHOUT_UAS.contains(&id.as_str())
    {
        return None;
    }
    let what = format!("{label} supports UAS but uses usb-storage, which handles one request at a time.");
    let advice = format!(
        "`dmesg | grep -i uas` tells why. If it is a quirk for {id} without a known reason, remove that from the kernel's command line."
    );
    Some(Finding::of(Code::UasUnused, [drive], what, advice))
}
