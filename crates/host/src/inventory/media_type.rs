//! Media type of a drive. USB bridges often report "rotating" for flash.

use super::{Drive, Medium, drive::Udev};
use crate::sysroot::Sysroot;

/// Media type of the drive at `dir`; the other fields of `drive` are already set.
pub(super) fn infer(root: &Sysroot, dir: &str, udev: &Udev, drive: &Drive) -> Medium {
    let reported = if drive.rotational { Medium::Rotating } else { Medium::Flash };
    let rate = || root.bytes(&format!("{dir}/device/vpd_pgb1")).and_then(|page| by_rate(&page));
    // udev reads the rotation rate from the disk itself, through the bridge.
    let rpm = udev.get("ID_ATA_ROTATION_RATE_RPM").and_then(|rpm| rpm.parse::<u32>().ok());
    match drive.bus.as_deref() {
        Some("mmc" | "nvme") => Medium::Flash,
        Some("ata" | "scsi") => reported,
        Some("usb") => match rpm {
            Some(0) => Medium::Flash,
            Some(_) => Medium::Rotating,
            // The kernel assumes rotation unless the device reports otherwise.
            None if !drive.rotational || is_flash(drive) => Medium::Flash,
            None => rate().unwrap_or_default(),
        },
        _ => Medium::Unknown,
    }
}

/// Models of disks that a hypervisor or the kernel makes up, in capitals.
const VIRTUAL: [&str; 8] = [
    "QEMU ",
    "VBOX ",
    "VMWARE ",
    "VIRTUAL DISK",
    "AMAZON ELASTIC BLOCK STORE",
    "PERSISTENTDISK",
    "NVME_CARD-PD",
    "SCSI_DEBUG",
];

impl Drive {
    /// Whether it is a test device of the kernel, whose content is lost at the next boot.
    pub fn is_for_tests(&self) -> bool {
        self.name.starts_with("nullb") || self.model.as_deref() == Some("scsi_debug")
    }

    /// A drive of its own, as far as that is known: not one of a virtual machine, a network or a RAID controller.
    pub fn has_hardware(&self) -> bool {
        let model = self.model.as_deref().unwrap_or_default().to_uppercase();
        let made_up = VIRTUAL.iter().any(|name| model.starts_with(name));
        !made_up && !matches!(self.bus.as_deref(), None | Some("virtio" | "xen"))
    }
}

/// Sticks and cards are removable; SSDs have "SSD" in their model name.
fn is_flash(drive: &Drive) -> bool {
    let model = drive.model.as_deref().unwrap_or_default();
    drive.removable || model.split(|c: char| !c.is_alphanumeric()).any(|word| word == "SSD")
}

/// Page 0xb1 of a SCSI drive: revolutions per minute, 1 for non-rotating, 0 for not reported.
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
        let mut tree = Tree::empty();
        tree.bytes("sys/x/device/vpd_pgb1", &[0, 0xb1, 0, 0x3c, 0x15, 0x18]);
        infer(&tree.sysroot(), "/sys/x", &udev.into_iter().collect(), &drive)
    }

    #[test]
    fn rotating_behind_a_usb_bridge_is_checked_against_other_sources() {
        let usb = || Drive { bus: Some("usb".to_owned()), rotational: true, ..Drive::default() };
        let model = |name: &str| Some(name.to_owned());
        assert_eq!(of(Drive { removable: true, ..usb() }, None), Medium::Flash, "a stick");
        assert_eq!(of(Drive { model: model("SSD 870 EVO"), ..usb() }, None), Medium::Flash);
        assert_eq!(of(Drive { model: model("XSSDX"), ..usb() }, Some("5400")), Medium::Rotating);
        assert_eq!(of(usb(), Some("0")), Medium::Flash, "reported by the disk itself");
        assert_eq!(of(Drive { rotational: false, ..usb() }, None), Medium::Flash);
        assert_eq!(of(usb(), None), Medium::Rotating, "5400 rpm in page 0xb1");
        assert_eq!(of(Drive { bus: None, ..usb() }, None), Medium::Unknown);
        assert_eq!((by_rate(&[0; 6]), by_rate(&[0; 5])), (None, None));
    }
}
