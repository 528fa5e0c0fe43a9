//! USB descriptors and settings of a drive or its bridge.

use serde::{Deserialize, Serialize};

use crate::sysroot::Sysroot;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usb {
    /// Current kernel name of its port: `1-1.3`.
    pub device: String,
    /// Vendor and product number of the stick or bridge: `152d:0578`.
    pub id: String,
    /// USB version reported over this link; USB 3 devices report 2.1 on a USB 2 link.
    pub version: Option<f64>,
    /// Whether it supports 5 Gb/s or more, where known.
    pub superspeed: Option<bool>,
    /// Whether it supports USB Attached SCSI (UAS); `None` if its descriptors can't be read.
    pub offers_uas: Option<bool>,
    /// Maximum current it reports, mA.
    pub max_power_ma: Option<u32>,
    /// Whether it reports a power supply of its own.
    pub self_powered: Option<bool>,
    /// Whether the kernel suspends it when it is idle.
    pub autosuspend: Option<bool>,
}

pub(super) fn read(root: &Sysroot, dir: &str) -> Usb {
    let word = |file: &str| root.word(&format!("{dir}/{file}"));
    let id = [word("idVendor"), word("idProduct")].map(Option::unwrap_or_default).join(":");
    let speed: Option<f64> = root.number(&format!("{dir}/speed"));
    let fast = speed.is_some_and(|speed| speed >= 5000.0).then_some(true);
    Usb {
        device: dir.rsplit('/').next().unwrap_or_default().to_owned(),
        version: word("version").and_then(|text| text.parse().ok()).filter(|v: &f64| v.is_finite()),
        superspeed: fast.or_else(|| root.bytes(&format!("{dir}/bos_descriptors")).map(|b| is_superspeed(&b))),
        offers_uas: root.bytes(&format!("{dir}/descriptors")).map(|bytes| offers_uas(&bytes)),
        max_power_ma: word("bMaxPower").and_then(|text| text.strip_suffix("mA")?.parse().ok()),
        self_powered: self_powered(root, dir),
        autosuspend: word("power/control").map(|control| control == "auto"),
        id,
    }
}

/// Bit 6 of the configuration attributes.
pub(super) fn self_powered(root: &Sysroot, dir: &str) -> Option<bool> {
    let attributes = u8::from_str_radix(&root.word(&format!("{dir}/bmAttributes"))?, 16).ok()?;
    Some(attributes & 0x40 != 0)
}

/// USB descriptors: each begins with its length and its type.
fn descriptors(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(*rest.first()?).max(2);
        let (one, tail) = rest.split_at_checked(length)?;
        rest = tail;
        Some(one)
    })
}

/// Whether an alternate setting is mass storage (8), SCSI (6), UAS (0x62).
fn offers_uas(bytes: &[u8]) -> bool {
    descriptors(bytes).any(|one| one[1] == 4 && one.get(5..8) == Some(&[0x08, 0x06, 0x62]))
}

/// Whether a device capability (0x10) is SuperSpeed (3) or SuperSpeedPlus (0x0a).
fn is_superspeed(bytes: &[u8]) -> bool {
    descriptors(bytes).any(|one| one[1] == 0x10 && matches!(one.get(2), Some(0x03 | 0x0a)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bridge with a bulk-only and a UAS setting: configuration, two interfaces, an endpoint between.
    const BRIDGE: [u8; 34] = [
        9, 2, 34, 0, 1, 1, 0, 0x80, 250, 9, 4, 0, 0, 2, 8, 6, 0x50, 0, 7, 5, 0x81, 2, 0, 2, 0, 9, 4, 0, 1, 4,
        8, 6, 0x62, 0,
    ];

    #[test]
    fn finds_uas_among_the_settings() {
        assert!(offers_uas(&BRIDGE));
        assert!(!offers_uas(&BRIDGE[..25]), "only the bulk-only setting");
        assert!(!offers_uas(&BRIDGE[..30]), "cut in the middle");
        assert!(!offers_uas(&[0; 64]) && !offers_uas(&[255, 4]) && !offers_uas(&[]));
    }

    #[test]
    fn finds_superspeed_among_the_capabilities() {
        let bos = [5, 0x0f, 22, 0, 2, 7, 0x10, 2, 2, 0, 0, 0, 10, 0x10, 3, 0, 0x0e, 0, 1, 10, 0xff, 7];
        assert!(is_superspeed(&bos) && !is_superspeed(&bos[..12]));
    }
}
