//! Drives whose real size is worth a test: false sizes are sold under names that no maker uses.
//!
//! Controllers are reprogrammed to claim more than they hold, and left with the names of their tools, such as `VendorCo ProductCode`
//! (<https://github.com/AltraMayor/f3/issues/222>). A false card has 0 as the number of its manufacturer (issue 15 there).

use super::{Code, Finding};
use crate::{
    inventory::{Drive, Medium},
    units::decimal_bytes,
};

/// What is sold as 64 GB and as 1 TB, bytes.
const LARGE: u64 = 60_000_000_000;
const HUGE: u64 = 990_000_000_000;

/// Words of names that say nothing about who made the drive.
const GENERIC: &str = "generic general vendorco productcode usb usb2 usb3 udisk disk flash flashdisk drive mass storage \
                       massstorage device memory stick removable media dev udrive pendrive";

impl Drive {
    /// Why its size should be tested, such as `its name is that of no maker`; `None` if nothing is suspicious.
    pub fn unproven_size(&self) -> Option<&'static str> {
        let is_stick = self.bus.as_deref() == Some("usb") && self.medium != Medium::Rotating;
        let name = [self.vendor.as_deref(), self.model.as_deref()].map(Option::unwrap_or_default).join(" ");
        let name = name.to_lowercase();
        let says_nothing =
            |word: &str| word.parse::<u64>().is_ok() || GENERIC.split(' ').any(|generic| generic == word);
        let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let usb2 = self.usb.as_ref().is_some_and(|usb| usb.superspeed == Some(false));
        // A card's CID begins with the number of its manufacturer and two letters.
        let cid = self.wwid.as_deref().filter(|_| self.card.is_some()).unwrap_or_default();
        let has = |from: usize, digits: &str| cid.get(from..).is_some_and(|rest| rest.starts_with(digits));
        let why = if is_stick && words.all(says_nothing) {
            "its name is that of no maker"
        } else if is_stick && self.removable && usb2 && self.bytes() >= HUGE {
            "it is a stick of 1 TB or more with USB 2"
        } else if has(0, "00") || has(0, "123456") || has(2, "0000") || has(2, "2020") {
            "its card id names no maker"
        } else {
            return None;
        };
        (self.bytes() >= LARGE).then_some(why)
    }
}

pub(super) fn size(drive: &Drive) -> Option<Finding> {
    let why = drive.unproven_size()?;
    let (label, size) = (drive.label(), decimal_bytes(drive.bytes()));
    let what = format!("Whether {label} holds the {size} it claims is not known: {why}.");
    Some(Finding::of(Code::UnprovenSize, [drive], what, "Test it with `drivebench run capacity`."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Card, Usb};

    fn stick(vendor: &str, model: &str, gigabytes: u64) -> Drive {
        let name = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Drive {
            bus: name("usb"),
            vendor: name(vendor),
            model: name(model),
            sectors: gigabytes * 1_000_000_000 / 512,
            removable: true,
            usb: Some(Usb { superspeed: Some(true), ..Usb::default() }),
            ..Drive::default()
        }
    }

    fn card(cid: &str, gigabytes: u64) -> Drive {
        let (bus, wwid) = (Some("mmc".to_owned()), Some(cid.to_owned()));
        Drive { bus, wwid, card: Some(Card::default()), usb: None, ..stick("", "SD", gigabytes) }
    }

    #[test]
    fn names_of_makers_are_not_suspicious_and_names_of_tools_are() {
        let makers = [
            ("SanDisk", "Ultra Fit"),
            ("SanDisk", "Ultra"),
            ("USB", "SanDisk 3.2Gen1"),
            ("Samsung", "Flash Drive FIT"),
            ("Samsung", "Flash Drive"),
            ("Kingston", "DataTraveler 3.0"),
            ("Lexar", "USB Flash Drive"),
            ("Verbatim", "STORE N GO"),
            ("TOSHIBA", "TransMemory"),
            ("Corsair", "Voyager GTX"),
            ("JetFlash", "Transcend 64GB"),
            ("Intenso", "Rainbow Line"),
            ("PNY", "USB 3.0 FD"),
            ("ASMT", "2115"),
            ("JMicron", "Generic"),
            ("Generic-", "SD/MMC"),
        ];
        for (vendor, model) in makers {
            assert_eq!(stick(vendor, model, 128).unproven_size(), None, "{vendor} {model}");
        }
        let tools = [
            ("General", "UDisk"),
            ("Generic", "Mass-Storage"),
            ("Generic", "Flash Disk"),
            ("VendorCo", "ProductCode"),
            ("", "Mass Storage Device"),
            ("USB", "DISK 3.0"),
            ("", ""),
        ];
        for (vendor, model) in tools {
            assert!(stick(vendor, model, 64).unproven_size().is_some(), "{vendor} {model}");
            assert_eq!(stick(vendor, model, 32).unproven_size(), None, "{vendor} {model}: small");
            let disk = Drive { medium: Medium::Rotating, ..stick(vendor, model, 2000) };
            assert_eq!(disk.unproven_size(), None, "{vendor} {model}: a disk");
        }
    }

    #[test]
    fn large_sticks_with_usb_2_and_cards_without_a_maker_are_suspicious() {
        let slow = |removable: bool, gigabytes| {
            let usb = Some(Usb { superspeed: Some(false), ..Usb::default() });
            Drive { usb, removable, ..stick("SanDisk", "Cruzer", gigabytes) }.unproven_size().is_some()
        };
        assert_eq!([slow(true, 2000), slow(true, 256), slow(false, 1000)], [true, false, false]);
        let suspicious = |cid: &str| card(cid, 128).unproven_size().is_some();
        let [sandisk, samsung] = ["035344534431323880", "1b534d4744345135"].map(suspicious);
        assert!(!sandisk && !samsung && !suspicious(""));
        // The first is that of f3's issue 15.
        for cid in ["0000000000000000000000375600ea00", "12345653443136", "9f00005344", "0320205344"] {
            assert!(suspicious(cid), "{cid}");
            assert_eq!(card(cid, 32).unproven_size(), None);
        }
    }
}
