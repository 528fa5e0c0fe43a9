//! Vendor, model, serial and world-wide name of a drive, and the identity made from them.

use super::{Drive, Inventory, drive::Udev, mounts::decode};
use crate::{
    sysroot::{Sysroot, is_placeholder, is_serial},
    units::{clean, hides},
};

/// Sets vendor, model, firmware, serial and WWN of the drive at `dir`. `usb` is the directory of its USB device, if any.
pub(super) fn read(root: &Sysroot, dir: &str, usb: Option<&str>, udev: &Udev, drive: &mut Drive) {
    let device = |file: &str| root.word(&format!("{dir}/device/{file}"));
    let usb_file = |file: &str| usb.and_then(|usb| root.word(&format!("{usb}/{file}")));
    let udev_value = |key: &str| {
        let text = udev.get(key).map(|text| text.replace('_', " ").trim().to_owned());
        text.filter(|text| !text.is_empty())
    };

    // libata reports "ATA" as vendor, PCI a number.
    drive.vendor = device("vendor")
        .filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"))
        .or_else(|| usb_file("manufacturer"))
        .or_else(|| udev_value("ID_VENDOR"))
        .or_else(|| drive.card.as_ref()?.maker.clone());
    let is_ata = drive.bus.as_deref() == Some("ata") || device("vendor").as_deref() == Some("ATA");
    let model = device("model");
    // The kernel has 16 characters of a SATA disk's model.
    let whole =
        udev_model(udev).filter(|whole| is_ata && model.as_ref().is_some_and(|cut| whole.starts_with(cut)));
    drive.model = whole
        .or(model)
        .or_else(|| (drive.bus.as_deref() == Some("mmc")).then(|| device("name")).flatten())
        .or_else(|| usb_file("product"))
        .or_else(|| udev_value("ID_MODEL"));
    // Of NVMe, SCSI and SATA, and eMMC; a USB bridge may report its own.
    drive.firmware = ["firmware_rev", "rev", "fwrev"].into_iter().find_map(device);
    let own = |file: &str| root.word(&format!("{dir}/{file}"));
    let short = udev.get("ID_SERIAL_SHORT").cloned();
    drive.serial = [usb_file("serial"), unit_serial(root, dir), device("serial"), own("serial"), short]
        .into_iter()
        .flatten()
        .find(|serial| is_serial(serial));
    // A reader with several slots has one serial for all cards.
    let slots =
        dir.split("/block/").next().and_then(|unit| unit.rsplit_once('/')).map_or(0, |(target, _)| {
            root.list(target).iter().filter(|unit| unit.matches(':').count() == 3).count()
        });
    drive.shared_serial = usb.is_some() && drive.removable && slots > 1;
    drive.wwid = device("cid").or_else(|| device("wwid")).or_else(|| own("wwid"));
}

/// All 40 characters of a model, from udev.
fn udev_model(udev: &Udev) -> Option<String> {
    let model = decode(udev.get("ID_MODEL_ENC")?, br"\x", 2, 16).trim().to_owned();
    (!model.is_empty()).then_some(model)
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
        drive.shared_serial |= all.iter().filter(|serial| Some(*serial) == drive.serial.as_ref()).count() > 1;
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
        // The label becomes part of a line.
        clean(&label).into_owned()
    }

    /// Key of the drive in records: serial, world-wide name or CID, and size. If the serial is missing, a placeholder or
    /// shared with another drive, the bay is part of the key. Stable across boots; with a unique serial also across bays.
    pub fn identity(&self) -> String {
        if let Some(name) = self.unique_id() {
            return format!("{name}+{}", self.sectors);
        }
        let name = self.serial.as_deref().or(self.wwid.as_deref()).unwrap_or("unnamed");
        // The namespaces of a controller share its bay, and often the size.
        let namespace = namespace(&self.name).filter(|(_, number)| *number != 1);
        let namespace = namespace.map(|(_, number)| format!("n{number}")).unwrap_or_default();
        format!("{name}+{}@{}{namespace}", self.sectors, self.full_bay())
    }

    /// A serial or CID that no other drive has, so that the drive is recognised in any bay.
    pub fn unique_id(&self) -> Option<&String> {
        let cid = self.wwid.as_ref().filter(|_| self.bus.as_deref() == Some("mmc"));
        cid.or(self.unique_serial())
    }

    /// A serial that no other drive has, and that is not a placeholder.
    pub fn unique_serial(&self) -> Option<&String> {
        self.serial.as_ref().filter(|serial| !self.shared_serial && !is_placeholder(serial))
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

/// An identity without the bay, which it has while the serial is not unique.
pub fn without_bay(identity: &str) -> &str {
    let size = identity.rfind('+').unwrap_or(0);
    identity[size..].find('@').map_or(identity, |at| &identity[..size + at])
}

/// The serial, CID or world-wide name in an identity.
pub fn name_in(identity: &str) -> &str {
    let whole = without_bay(identity);
    whole.rsplit_once('+').map_or(whole, |(name, _)| name)
}

impl Inventory {
    /// Whether both are one piece of hardware that fails as a whole: namespaces of one NVMe controller, paths to one disk,
    /// units of one disk. USB bridges and SATA disks with the same serial are different drives.
    pub fn are_one(&self, a: &Drive, b: &Drive) -> bool {
        let same = |name: fn(&Drive) -> Option<&String>| name(a).is_some() && name(a) == name(b);
        let serial = same(|d| d.serial.as_ref().filter(|serial| !is_placeholder(serial)));
        let wwid = same(|d| d.wwid.as_ref());
        let paths = |name: &String| {
            let paths = self.layers.iter().filter(|layer| layer.kind == "multipath");
            paths.filter(|layer| layer.members.contains(name)).map(|layer| &layer.name).next()
        };
        let by_bus = match (a.bus.as_deref(), b.bus.as_deref()) {
            (Some("nvme"), Some("nvme")) => same_controller(&a.name, &b.name) || (serial && wwid),
            (Some("scsi"), Some("scsi")) => wwid || (serial && same(|d| d.model.as_ref())),
            _ => false,
        };
        a.name == b.name || by_bus || (paths(&a.name).is_some() && paths(&a.name) == paths(&b.name))
    }

    /// Whether both are paths to the same content. Namespaces of a controller and units of a disk have content of their own.
    pub fn have_same_content(&self, a: &Drive, b: &Drive) -> bool {
        a.name == b.name || (a.wwid.is_some() && a.wwid == b.wwid && self.are_one(a, b))
    }

    /// The first drive of each piece of hardware.
    pub fn hardware<'a>(&self, drives: impl IntoIterator<Item = &'a Drive>) -> Vec<&'a Drive> {
        let mut first: Vec<&Drive> = Vec::new();
        for drive in drives {
            if !first.iter().any(|other| self.are_one(other, drive)) {
                first.push(drive);
            }
        }
        first
    }
}

/// `nvme0n1` and `nvme0n2` are namespaces of one controller.
fn same_controller(a: &str, b: &str) -> bool {
    let controller = |name: &str| namespace(name).map(|(controller, _)| controller);
    controller(a).is_some() && controller(a) == controller(b)
}

/// The numbers of an NVMe controller and namespace: 0 and 2 of `nvme0n2`.
fn namespace(name: &str) -> Option<(u32, u32)> {
    let (controller, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    Some((controller.parse().ok()?, namespace.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Layer, fixtures::Tree};

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
    fn namespaces_paths_and_units_of_one_drive_are_one() {
        let drive = |name: &str, bus: &str, serial: &str, wwid: &str| Drive {
            name: name.to_owned(),
            bus: Some(bus.to_owned()),
            model: Some("Model".to_owned()),
            serial: Some(serial.to_owned()),
            wwid: Some(wwid.to_owned()),
            ..Drive::default()
        };
        let one = |layers: &[Layer], a: &Drive, b: &Drive| {
            Inventory { layers: layers.to_vec(), ..Inventory::default() }.are_one(a, b)
        };
        let first = drive("nvme0n1", "nvme", "S1", "eui.1");
        assert!(one(&[], &first, &drive("nvme0n2", "nvme", "S1", "eui.2")), "namespaces");
        assert!(one(&[], &first, &drive("nvme1n1", "nvme", "S1", "eui.1")), "two ports");
        assert!(!one(&[], &first, &drive("nvme1n1", "nvme", "S2", "eui.1")), "drives with one made-up id");
        assert!(!one(&[], &first, &drive("nvme10n1", "nvme", "S2", "eui.2")));
        let sas = drive("sda", "scsi", "Z1", "naa.5000c500");
        assert!(one(&[], &sas, &drive("sdb", "scsi", "Z1", "naa.5000c500")), "two paths");
        assert!(one(&[], &sas, &drive("sdb", "scsi", "Z1", "naa.5000c501")), "two actuators");
        assert!(!one(&[], &sas, &drive("sdb", "scsi", "Z2", "naa.5000c501")));
        assert!(!one(&[], &drive("sda", "usb", "S1", "a"), &drive("sdb", "usb", "S1", "a")), "two bridges");
        let [a, b] = ["sda", "sdb"].map(|name| drive(name, "ata", name, name));
        let members = ["sda", "sdb"].map(str::to_owned).to_vec();
        let paths =
            Layer { kind: "multipath".to_owned(), name: "dm-0".to_owned(), members, ..Layer::default() };
        assert!(one(std::slice::from_ref(&paths), &a, &b) && !one(&[], &a, &b));
        let raid = Layer { kind: "raid1".to_owned(), ..paths };
        assert!(!one(&[raid], &a, &b));
        let same = |b: &Drive| Inventory::default().have_same_content(&first, b);
        assert!(same(&first) && same(&drive("nvme1n1", "nvme", "S1", "eui.1")));
        assert!(!same(&drive("nvme0n2", "nvme", "S1", "eui.2")), "another namespace");
        assert!(!same(&drive("nvme1n1", "nvme", "S2", "eui.1")), "drives with one made-up id");
    }

    #[test]
    fn namespaces_of_equal_size_have_identities_of_their_own() {
        let of = |name: &str| Drive {
            name: name.to_owned(),
            bus: Some("nvme".to_owned()),
            bay: Some("0000:01:00.0".to_owned()),
            ..stick()
        };
        let mut drives = ["nvme0n1", "nvme0n2", "nvme0n10"].map(of);
        mark_shared_serials(&mut drives);
        let [first, second, tenth] = drives.map(|drive| drive.identity());
        assert_eq!(second, format!("{first}n2"));
        assert_eq!(tenth, format!("{first}n10"));
    }

    #[test]
    fn models_of_sata_disks_are_whole() {
        let model = |cut: &str, whole: &str| {
            let mut tree = Tree::empty();
            let scsi = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";
            tree.disk(scsi, "sda", "8:0", 4096)
                .file(&format!("sys/devices/{scsi}/model"), &format!("{cut}\n"));
            tree.udev("8:0", &[("ID_MODEL", "ignored"), ("ID_MODEL_ENC", whole)]);
            tree.inventory().drives[0].model.clone()
        };
        let whole = r"Samsung\x20SSD\x20860\x20EVO\x20500GB\x20\x20\x20";
        assert_eq!(model("Samsung SSD 860 ", whole).as_deref(), Some("Samsung SSD 860 EVO 500GB"));
        assert_eq!(model("WDC WD40EFRX-68N", whole).as_deref(), Some("WDC WD40EFRX-68N"), "of another drive");
        assert_eq!(model("WDC WD40EFRX-68N", "").as_deref(), Some("WDC WD40EFRX-68N"));
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
