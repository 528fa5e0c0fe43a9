//! Names that follow a drive when it moves: vendor, model, serial, world-wide name.

use std::collections::HashMap;

use super::Drive;
use crate::sysroot::{
    Sysroot,
    serial_number::{is_made_up, is_serial},
};

/// Fills in who the drive at `dir` is. `usb` is the directory of its USB device, if it has one.
pub(super) fn read(
    root: &Sysroot,
    dir: &str,
    usb: Option<&str>,
    udev: &HashMap<String, String>,
    drive: &mut Drive,
) {
    let device = |file: &str| root.word(&format!("{dir}/device/{file}"));
    let of_usb = |file: &str| usb.and_then(|usb| root.word(&format!("{usb}/{file}")));
    let of_udev = |key: &str| udev.get(key).map(|text| text.replace('_', " ").trim().to_owned());
    let told = |text: Option<String>| text.filter(|text| !text.is_empty());

    // libata says ATA where the maker should stand, and PCI's numbers are no names.
    drive.vendor = device("vendor")
        .filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"))
        .or_else(|| of_usb("manufacturer"))
        .or_else(|| told(of_udev("ID_VENDOR")))
        .or_else(|| drive.card.as_ref()?.maker.clone());
    drive.model = device("model")
        .or_else(|| (drive.bus.as_deref() == Some("mmc")).then(|| device("name")).flatten())
        .or_else(|| of_usb("product"))
        .or_else(|| told(of_udev("ID_MODEL")));
    drive.serial =
        [of_usb("serial"), unit_serial(root, dir), device("serial"), root.word(&format!("{dir}/serial"))]
            .into_iter()
            .flatten()
            .chain(udev.get("ID_SERIAL_SHORT").cloned())
            .find(|serial| is_serial(serial));
    drive.wwid = device("cid").or_else(|| device("wwid")).or_else(|| root.word(&format!("{dir}/wwid")));
}

/// Page 0x80 of a SCSI drive: four bytes of header, then the serial.
fn unit_serial(root: &Sysroot, dir: &str) -> Option<String> {
    let page = root.bytes(&format!("{dir}/device/vpd_pg80"))?;
    let text = String::from_utf8(page.get(4..)?.to_vec()).ok()?;
    let serial: String = text.chars().filter(|c| !c.is_control()).collect();
    Some(serial.trim().to_owned())
}

/// Marks drives whose serial isn't theirs alone.
pub(super) fn mark_shared_serials(drives: &mut [Drive]) {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for serial in drives.iter().filter_map(|drive| drive.serial.clone()) {
        *seen.entry(serial).or_default() += 1;
    }
    for drive in drives {
        drive.shared_serial = drive.serial.as_ref().is_some_and(|serial| seen[serial] > 1);
    }
}

impl Drive {
    /// The drive for people: `Cruzer Blade 4C530001 in bay 1.1`, `virtio drive vda (no serial)`.
    pub fn label(&self) -> String {
        let mut label = match (&self.model, &self.bus) {
            (Some(model), _) => model.clone(),
            (None, Some(bus)) => format!("{bus} drive {}", self.name),
            (None, None) => format!("drive {}", self.name),
        };
        match &self.serial {
            Some(serial) => label += &format!(" {serial}"),
            None => label += " (no serial)",
        }
        match (self.bus.as_deref(), &self.bay) {
            (Some("usb"), Some(bay)) => label += &format!(" in bay {bay}"),
            (Some("mmc"), Some(bay)) if bay == "SD slot" => label += " in the SD slot",
            (_, Some(bay)) if self.serial.is_none() && self.model.is_some() => label += &format!(" at {bay}"),
            _ => {}
        }
        label
    }

    /// What the drive is kept under: serial, world-wide name or CID, and its size; where the serial is missing, made
    /// up, or another drive here has it too, also where it hangs. Stable between boots; only with its own serial does it
    /// follow the drive to another bay.
    pub fn identity(&self) -> String {
        if let Some(name) = self.own_name() {
            return format!("{name}+{}", self.sectors);
        }
        let name = self.serial.as_ref().or(self.wwid.as_ref()).map_or("unnamed", String::as_str);
        format!("{name}+{}@{}", self.sectors, self.full_bay())
    }

    /// A serial or CID that is its own, so that it is known in another bay too.
    pub fn own_name(&self) -> Option<&String> {
        let own_serial = self.serial.as_ref().filter(|serial| !self.shared_serial && !is_made_up(serial));
        let cid = self.wwid.as_ref().filter(|_| self.bus.as_deref() == Some("mmc"));
        cid.or(own_serial)
    }

    /// Model and serial, wherever it is: `Cruzer Blade 4C530001`.
    pub fn name_for_people(&self) -> String {
        let words = [self.model.as_deref(), self.serial.as_deref()];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        if words.is_empty() { self.identity() } else { words.join(" ") }
    }

    /// The bay with its controller, unlike [`Drive::bay`] never the same for two drives.
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
    fn an_own_serial_names_a_drive_wherever_it_is() {
        let moved = Drive { bay: Some("1.4".to_owned()), name: "sdq".to_owned(), ..stick() };
        assert_eq!(stick().identity(), "4C530001+121077760");
        assert_eq!(stick().identity(), moved.identity());
        assert_eq!(stick().label(), "Cruzer Blade 4C530001 in bay 1.1");
    }

    #[test]
    fn twins_and_the_nameless_are_told_apart_by_bay() {
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
    fn repeated_characters_are_no_serial() {
        assert!(is_serial("4C530001") && is_serial("overlayblk"));
        assert!(!is_serial("") && !is_serial("000000000000") && !is_serial("."));
    }

    #[test]
    fn made_up_serials_are_seen() {
        for serial in ["0123456789ABCDEF", "123456789012", "abcdef", "000000000033", "000000001"] {
            assert!(is_made_up(serial), "{serial}");
        }
        for serial in ["4C530001", "12345", "S6PUNX0R123456A", "1234567890AC", "00000012345"] {
            assert!(!is_made_up(serial), "{serial}");
        }
    }

    #[test]
    fn drives_that_tell_nothing_have_a_label() {
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
