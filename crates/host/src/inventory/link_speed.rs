//! Speeds of USB, PCIe and SATA links, as the kernel reports them.

use crate::sysroot::Sysroot;

/// Speeds from this value on are damaged numbers, Mb/s; no link is as fast.
const TOO_FAST: f64 = 1e7;

/// Speed of a USB device's link, Mb/s. QEMU's hub reports 12 Mb/s for itself and for devices on it, but the limit is the
/// port that it is plugged into.
pub(super) fn usb_speed(root: &Sysroot, dir: &str) -> Option<f64> {
    let (above, _) = dir.rsplit_once('/')?;
    let emulated = |dir: &str| root.word(&format!("{dir}/product")).as_deref() == Some("QEMU USB Hub");
    if emulated(dir) || emulated(above) {
        return usb_speed(root, above);
    }
    root.number(&format!("{dir}/speed")).filter(|speed: &f64| *speed > 0.0 && *speed < TOO_FAST)
}

/// Name and speed of a PCIe device's `current` or `max` link, Mb/s: transfers times width, after line coding.
pub(super) fn pcie(root: &Sysroot, dir: &str, kind: &str) -> Option<(String, f64)> {
    let speed = root.word(&format!("{dir}/{kind}_link_speed"))?;
    let transfers: f64 = speed.split(' ').next()?.parse().ok()?;
    let width: u32 = root.number(&format!("{dir}/{kind}_link_width"))?;
    if !(1..=32).contains(&width) || !(1.0..=256.0).contains(&transfers) {
        return None;
    }
    // 8b/10b up to 5 GT/s, 128b/130b above.
    let code = if transfers > 5.0 { 128.0 / 130.0 } else { 0.8 };
    let generation = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0].iter().position(|&rate| rate == transfers);
    let name = generation.map_or_else(|| "PCIe".to_owned(), |n| format!("PCIe {}.0", n + 1));
    Some((format!("{name} x{width}"), (transfers * 1000.0 * code * f64::from(width)).round()))
}

/// `6.0 Gbps`.
pub(super) fn sata_mbps(text: String) -> Option<f64> {
    let gigabits: f64 = text.strip_suffix("Gbps")?.trim().parse().ok()?;
    Some(gigabits * 1000.0).filter(|mbps| *mbps > 0.0 && *mbps < TOO_FAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn an_emulated_hub_is_as_fast_as_its_port() {
        let mut tree = Tree::empty();
        tree.file("sys/usb1/speed", "480\n");
        for (device, product) in [("1-1", "QEMU USB Hub"), ("1-1/1-1.1", "Cruzer"), ("1-2", "USB1.1 Hub")] {
            tree.files(&format!("sys/usb1/{device}"), &[("speed", "12\n"), ("product", product)]);
        }
        let of = |device: &str| usb_speed(&tree.sysroot(), &format!("/sys/usb1/{device}"));
        assert_eq!([of("1-1"), of("1-1/1-1.1"), of("1-2")], [Some(480.0), Some(480.0), Some(12.0)]);
    }

    #[test]
    fn speeds_of_no_link_are_unknown() {
        for speed in ["1e308", "1e999", "inf", "NaN", "-1", "0"] {
            let mut tree = Tree::empty();
            tree.file("sys/usb1/1-1/speed", speed);
            assert_eq!(usb_speed(&tree.sysroot(), "/sys/usb1/1-1"), None, "{speed}");
            assert_eq!(sata_mbps(format!("{speed} Gbps")), None, "{speed}");
        }
    }

    #[test]
    fn names_pcie_links() {
        let mut tree = Tree::empty();
        let mut link = |speed: &str, width: &str| {
            tree.files("sys/x", &[("current_link_speed", speed), ("current_link_width", width)]);
            pcie(&tree.sysroot(), "/sys/x", "current")
        };
        assert_eq!(link("5.0 GT/s PCIe", "1"), Some(("PCIe 2.0 x1".to_owned(), 4000.0)));
        assert_eq!(link("8.0 GT/s PCIe", "4"), Some(("PCIe 3.0 x4".to_owned(), 31508.0)));
        assert_eq!(link("Unknown", "0"), None);
        assert_eq!(link("5.0 GT/s", "255"), None);
    }

    #[test]
    fn reads_sata_speeds() {
        assert_eq!(sata_mbps("6.0 Gbps".to_owned()), Some(6000.0));
        assert_eq!(sata_mbps("<unknown>".to_owned()), None);
    }
}
