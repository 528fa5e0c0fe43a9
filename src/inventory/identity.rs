//! Vendor, model, serial and world-wide name of a drive, and the identity made from them.

use super::{Drive, drive::Udev};
use crate::{
    sysroot::{
        Sysroot,
        serial_number::{is_placeholder, is_serial},
    },
    units::hides,
};

/// Sets vendor, model, serial and WWN of the drive at `dir`. `usb` is the directory of its USB device, if any.
pub(super) fn read(root: &Sysroot, dir: &str, usb: Option<&str>, udev: &Udev, drive: &mut Drive) {
    let device = |file: &str| root.word(&format!("{dir}/device/{file}"));
    let of_usb = |file: &str| usb.and_then(|usb| root.word(&format!("{usb}/{file}")));
    let of_udev = |key: &str| {
        let text = udev.get(key).map(|text| text.replace('_', " ").trim().to_owned());
        text.filter(|text| !text.is_empty())
    };

    // libata reports "ATA" as vendor, PCI a number.
    drive.vendor = device("vendor")
        .filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"))
        .or_else(|| of_usb("manufacturer"))
        .or_else(|| of_udev("ID_VENDOR"))
        .or_else(|| drive.card.as_ref()?.maker.clone());
    drive.model = device("model")
        .or_else(|| (drive.bus.as_deref() == Some("mmc")).then(|| device("name")).flatten())
        .or_else(|| of_usb("product"))
        .or_else(|| of_udev("ID_MODEL"));
    let own = |file: &str| root.word(&format!("{dir}/{file}"));
    let short = udev.get("ID_SERIAL_SHORT").cloned();
    drive.serial = [of_usb("serial"), unit_serial(root, dir), device("serial"), own("serial"), short]
        .into_iter()
        .flatten()
        .find(|serial| is_serial(serial));
    drive.wwid = device("cid").or_else(|| device("wwid")).or_else(|| own("wwid"));
}

/// Page 0x80 of a SCSI drive: four bytes of header, then the serial.
fn unit_serial(root: &Sysroot, dir: &str) -> Option<String> {
    let page = root.bytes(&format!("{dir}/device/vpd_pg80"))?;
    let text = String::from_utf8(page.get(4..)?.to_vec()).ok()?;
    let serial: String = text.chars().filter(|c| !hides(*c)).collect();
    Some(serial.trim().to_owned())
}

pub(super) fn mark_shared_serials(drives: &mut [Drive]) {
    let all: Vec<String> = drives.iter().filter_map(|drive| drive.serial.clone()).collect();
    for drive in drives {
        drive.shared_serial = all.iter().filter(|serial| Some(*serial) == drive.serial.as_ref()).count() > 1;
    }
}

impl Drive {
    /// Model, serial and, for USB, bay: `Cruzer Blade 4C530001 in bay 1.1`, `virtio drive vda (no serial)`.
    pub fn label(&self) -> String {
        let mut label = match (&self.model, &self.bus) {
            (Some(model), _) => model.clone(),
            (None, Some(bus)) => format!("{bus} drive {}", self.name),
            (None, None) => format!("drive {}", self.name),
        };
        label += &self.serial.as_ref().map_or(" (no serial)".to_owned(), |serial| format!(" {serial}"));
        match (self.bus.as_deref(), &self.bay) {
            (Some("usb"), Some(bay)) => label += &format!(" in bay {bay}"),
            (Some("mmc"), _) if self.in_sd_slot() => label += " in the SD slot",
            (_, Some(bay)) if self.serial.is_none() && self.model.is_some() => label += &format!(" at {bay}"),
            _ => {}
        }
        label
    }

    /// Key of the drive in records: serial, world-wide name or CID, and size. If the serial is missing, a placeholder or
    /// shared with another drive, the bay is part of the key. Stable across boots; with a unique serial also across bays.
    pub fn identity(&self) -> String {
        if let Some(name) = self.unique_id() {
            return format!("{name}+{}", self.sectors);
        }
        let name = self.serial.as_deref().or(self.wwid.as_deref()).unwrap_or("unnamed");
        format!("{name}+{}@{}", self.sectors, self.full_bay())
    }

    /// A serial or CID that no other drive has, so that the drive is recognised in any bay.
    pub fn unique_id(&self) -> Option<&String> {
        let unique_serial =
            self.serial.as_ref().filter(|serial| !self.shared_serial && !is_placeholder(serial));
        let cid = self.wwid.as_ref().filter(|_| self.bus.as_deref() == Some("mmc"));
        cid.or(unique_serial)
    }

    /// Model and serial, without the bay: `Cruzer Blade 4C530001`.
    pub fn model_and_serial(&self) -> String {
        let words: Vec<&str> = self.model.iter().chain(&self.serial).map(String::as_str).collect();
        if words.is_empty() { self.identity() } else { words.join(" ") }
    }

    /// The bay with its controller: unlike [`Drive::bay`] unique on the machine.
    pub fn full_bay(&self) -> String {
        match (&self.controller, &self.bay) {
            (Some(controller), Some(bay)) if controller != bay => format!("{controller}-{bay}"),
            (_, Some(bay)) => bay.clone(),
            (_, None) => self.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stick() -> Drive {
        Drive {
            name: "sda".to_owned(),
            model: Some("Cruzer Blade".to_owned()),
            serial: Some("4C530001".to_owned()),
            bay: Some("1.1".to_owned()),
            bus: Some("usb".to_owned()),
            controller: Some("3f980000.usb-usbv2".to_owned()),
            sectors: 121_077_760,
            ..Drive::default()
        }
    }

    #[test]
    fn a_unique_serial_identifies_a_drive_in_any_bay() {
        let moved = Drive { bay: Some("1.4".to_owned()), name: "sdq".to_owned(), ..stick() };
        assert_eq!(stick().identity(), "4C530001+121077760");
        assert_eq!(stick().identity(), moved.identity());
        assert_eq!(stick().label(), "Cruzer Blade 4C530001 in bay 1.1");
    }

    #[test]
    fn drives_without_a_unique_serial_are_identified_by_bay() {
        let mut drives =
            [stick(), Drive { bay: Some("1.2".to_owned()), ..stick() }, Drive { serial: None, ..stick() }];
        mark_shared_serials(&mut drives);
        assert_eq!(
            drives.clone().map(|drive| drive.identity()),
            [
                "4C530001+121077760@3f980000.usb-usbv2-1.1",
                "4C530001+121077760@3f980000.usb-usbv2-1.2",
                "unnamed+121077760@3f980000.usb-usbv2-1.1"
            ]
        );
        assert_eq!(drives[2].label(), "Cruzer Blade (no serial) in bay 1.1");
    }

    #[test]
    fn a_repeated_character_is_no_serial() {
        assert!(is_serial("4C530001") && is_serial("overlayblk"));
        assert!(!is_serial("") && !is_serial("000000000000") && !is_serial("."));
    }

    #[test]
    fn placeholder_serials_are_recognised() {
        for serial in ["0123456789ABCDEF", "123456789012", "abcdef", "000000000033", "000000001"] {
            assert!(is_placeholder(serial), "{serial}");
        }
        for serial in ["4C530001", "12345", "S6PUNX0R123456A", "1234567890AC", "00000012345"] {
            assert!(!is_placeholder(serial), "{serial}");
        }
    }

    #[test]
    fn drives_without_model_or_serial_have_a_label() {
        let drive = Drive { name: "vda".to_owned(), bus: Some("virtio".to_owned()), ..Drive::default() };
        assert_eq!(drive.label(), "virtio drive vda (no serial)");
        assert_eq!(Drive { bus: None, ..drive }.label(), "drive vda (no serial)");
        let card = Drive {
            model: Some("SC32G".to_owned()),
            serial: Some("0x1f3a5b22".to_owned()),
            wwid: Some("035344534333324780".to_owned()),
            bus: Some("mmc".to_owned()),
            bay: Some("SD slot".to_owned()),
            ..Drive::default()
        };
        assert_eq!(card.label(), "SC32G 0x1f3a5b22 in the SD slot");
        assert_eq!(card.identity(), "035344534333324780+0");
    }
}
