//! What a drive keeps its data on, as believed: USB bridges say "rotating" of anything.

use std::collections::HashMap;

use super::{Drive, Medium};
use crate::sysroot::Sysroot;

/// What the drive at `dir` is believed to be; `drive` is filled in but for this.
pub(super) fn believed(root: &Sysroot, dir: &str, udev: &HashMap<String, String>, drive: &Drive) -> Medium {
    let told = if drive.rotational { Medium::Rotating } else { Medium::Flash };
    let rate = || root.bytes(&format!("{dir}/device/vpd_pgb1")).and_then(|page| by_rate(&page));
    // udev asks the disk itself, through the bridge.
    let rpm = udev.get("ID_ATA_ROTATION_RATE_RPM").and_then(|rpm| rpm.parse::<u32>().ok());
    match drive.bus.as_deref() {
        Some("mmc" | "nvme") => Medium::Flash,
        Some("ata" | "scsi") => told,
        Some("usb") => match rpm {
            Some(0) => Medium::Flash,
            Some(_) => Medium::Rotating,
            // A bridge that says nothing is taken to rotate, so one that does not has been told so.
            None if !drive.rotational || is_flash(drive) => Medium::Flash,
            None => rate().unwrap_or_default(),
        },
        _ => Medium::Unknown,
    }
}

/// Sticks and cards say that they can be removed, SSDs have it in their name.
fn is_flash(drive: &Drive) -> bool {
    let model = drive.model.as_deref().unwrap_or_default();
    drive.removable || model.split(|c: char| !c.is_alphanumeric()).any(|word| word == "SSD")
}

/// Page 0xb1 of a SCSI drive: turns a minute, 1 for none; 0 says nothing.
fn by_rate(page: &[u8]) -> Option<Medium> {
    match u16::from_be_bytes([*page.get(4)?, *page.get(5)?]) {
        1 => Some(Medium::Flash),
        0x0401..=0xfffe => Some(Medium::Rotating),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    fn of(drive: Drive, rpm: Option<&str>) -> Medium {
        let udev = rpm.map(|rpm| ("ID_ATA_ROTATION_RATE_RPM".to_owned(), rpm.to_owned()));
        let mut tree = Tree::new();
        tree.bytes("sys/x/device/vpd_pgb1", &[0, 0xb1, 0, 0x3c, 0x15, 0x18]);
        believed(&tree.sysroot(), "/sys/x", &udev.into_iter().collect(), &drive)
    }

    #[test]
    fn a_bridge_is_not_believed_when_it_says_rotating() {
        let usb = || Drive { bus: Some("usb".to_owned()), rotational: true, ..Drive::default() };
        let model = |name: &str| Some(name.to_owned());
        assert_eq!(of(Drive { removable: true, ..usb() }, None), Medium::Flash, "a stick");
        assert_eq!(of(Drive { model: model("SSD 870 EVO"), ..usb() }, None), Medium::Flash);
        assert_eq!(of(Drive { model: model("XSSDX"), ..usb() }, Some("5400")), Medium::Rotating);
        assert_eq!(of(usb(), Some("0")), Medium::Flash, "the disk itself says so");
        assert_eq!(of(Drive { rotational: false, ..usb() }, None), Medium::Flash);
        assert_eq!(of(usb(), None), Medium::Rotating, "5400 turns a minute in its page");
        assert_eq!(of(Drive { bus: None, ..usb() }, None), Medium::Unknown);
        assert_eq!((by_rate(&[0; 6]), by_rate(&[0; 5])), (None, None));
    }
}
