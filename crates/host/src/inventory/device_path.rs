//! Bus, controller, bay, link speed and driver of a drive, from its path in `/sys/devices`.

use std::cmp::Ordering;

use super::{Drive, drive::SD_SLOT};
use crate::sysroot::Sysroot;

/// Sets the location of the drive at `dir` (a path without links). Returns the directory of its USB device, if any.
pub(super) fn read(root: &Sysroot, dir: &str, drive: &mut Drive) -> Option<String> {
    drive.driver = driver(root, dir);
    let parts: Vec<&str> = dir.split('/').collect();
    let before = |found: usize| parts.get(found.wrapping_sub(1)).map(|part| (*part).to_owned());
    let position = |fits: fn(&str) -> bool| parts.iter().rposition(|part| fits(part));
    let up_to = |last: usize| parts[..=last].join("/");

    if let Some(found) = position(is_usb_port) {
        let device = up_to(found);
        drive.bus = Some("usb".to_owned());
        drive.bay = parts[found].split_once('-').map(|(_, port)| match lun(&parts) {
            Some(lun) if lun != "0" => format!("{port}:{lun}"),
            _ => port.to_owned(),
        });
        drive.link_mbps = usb_speed(root, &device);
        if let Some(hub) = position(|part| numbered(part, "usb")) {
            drive.bus_mbps = usb_speed(root, &up_to(hub));
            drive.controller = Some(usb_id(&parts, hub, drive.bus_mbps));
        }
        return Some(device);
    }
    let (bus, bay, controller) = if let Some(found) = position(|part| part == "mmc_host") {
        let is_emmc = root.word(&format!("{dir}/device/type")).as_deref() == Some("MMC");
        ("mmc", Some(if is_emmc { "eMMC" } else { SD_SLOT }.to_owned()), before(found))
    } else if position(|part| part == "nvme").is_some() {
        let found = position(is_pci);
        let link = |kind: &str| Some(pcie(root, &up_to(found?), kind)?.1);
        (drive.link_mbps, drive.link_max_mbps) = (link("current"), link("max"));
        let address = found.map(|found| parts[found].to_owned());
        ("nvme", address.clone(), address)
    } else if let Some(found) = position(|part| numbered(part, "ata")) {
        let ata = up_to(found);
        let port = root.word(&format!("{ata}/ata_port/{}/port_no", parts[found]));
        let link = parts[found].replacen("ata", "link", 1);
        let spd = |file: &str| root.word(&format!("{ata}/{link}/ata_link/{link}/{file}")).and_then(sata_mbps);
        (drive.link_mbps, drive.link_max_mbps) = (spd("sata_spd"), spd("sata_spd_limit"));
        let bay = port.map_or_else(|| parts[found].to_owned(), |port| format!("ata-{port}"));
        ("ata", Some(bay), before(found))
    } else if let Some(found) = position(|part| part.starts_with("target")) {
        let bay = parts.get(found + 1).and_then(|hctl| hctl.split_once(':')).map(|(_, ctl)| ctl.to_owned());
        ("scsi", bay, position(|part| numbered(part, "host")).and_then(before))
    } else if let Some(found) = position(|part| numbered(part, "virtio")) {
        ("virtio", before(found), before(found))
    } else if let Some(found) = position(|part| part.starts_with("vbd-")) {
        ("xen", Some(parts[found].to_owned()), None)
    } else {
        return None;
    };
    (drive.bus, drive.bay, drive.controller) = (Some(bus.to_owned()), bay, controller);
    None
}

/// Directory of the physical device. A multipath NVMe drive is below a virtual subsystem; its first controller is real.
pub(super) fn physical(root: &Sysroot, dir: &str) -> String {
    let through_controller = || {
        let (subsystem, name) = dir.rsplit_once('/')?;
        let subsystem = subsystem.contains("/nvme-subsystem/").then_some(subsystem)?;
        let controller = root.list(subsystem).into_iter().find(|entry| numbered(entry, "nvme"))?;
        Some(format!("{}/{name}", root.real(&format!("{subsystem}/{controller}"))?))
    };
    through_controller().unwrap_or_else(|| dir.to_owned())
}

/// The nearest driver above the drive, other than the generic SCSI disk driver `sd`.
fn driver(root: &Sysroot, dir: &str) -> Option<String> {
    let mut at = dir;
    while let Some((parent, _)) = at.rsplit_once('/').filter(|(parent, _)| parent.matches('/').count() > 2) {
        match root.link_name(&format!("{parent}/driver")) {
            Some(name) if name != "sd" => return Some(name),
            _ => at = parent,
        }
    }
    None
}

/// The LUN, last in `0:0:0:1`: slots of a card reader share one USB port.
fn lun<'a>(parts: &[&'a str]) -> Option<&'a str> {
    let target = parts.iter().rposition(|part| part.starts_with("target"))?;
    parts.get(target + 1)?.rsplit(':').next()
}

pub(super) fn sort(drives: &mut [Drive]) {
    drives.sort_by(|a, b| {
        let bus = |drive: &Drive| (drive.bus.is_none(), drive.bus.clone(), drive.controller.clone());
        bus(a)
            .cmp(&bus(b))
            .then_with(|| natural_order(a.bay.as_deref().unwrap_or(""), b.bay.as_deref().unwrap_or("")))
            .then_with(|| natural_order(&a.name, &b.name))
    });
}

/// Natural sort order: `1.9` before `1.10`.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let pieces = |text: &str| -> Vec<(u64, String)> {
        let mut pieces: Vec<(u64, String)> = vec![(0, String::new())];
        for c in text.chars() {
            let last = pieces.len() - 1;
            match c.to_digit(10) {
                Some(digit) if pieces[last].1.is_empty() => {
                    pieces[last].0 = pieces[last].0.saturating_mul(10).saturating_add(u64::from(digit));
                }
                Some(digit) => pieces.push((u64::from(digit), String::new())),
                None => pieces[last].1.push(c),
            }
        }
        pieces
    };
    pieces(a).cmp(&pieces(b)).then_with(|| a.cmp(b))
}

/// `1-1.3`: bus, then ports from the root hub down.
pub(super) fn is_usb_port(part: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    part.split_once('-').is_some_and(|(bus, ports)| digits(bus) && ports.split('.').all(digits))
}

/// `0000:01:00.0`; the domain may be longer.
pub(super) fn is_pci(part: &str) -> bool {
    let fields: Vec<&str> = part.split([':', '.']).collect();
    fields.len() == 4
        && fields[0].len() >= 4
        && part.matches('.').count() == 1
        && fields.iter().all(|field| u32::from_str_radix(field, 16).is_ok())
}

/// `ata3` for `ata`.
pub(super) fn numbered(part: &str, kind: &str) -> bool {
    part.strip_prefix(kind)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The id of a root hub. An xHCI controller has two root hubs with the same port numbers.
pub(super) fn usb_id(parts: &[&str], hub: usize, speed: Option<f64>) -> String {
    let up = |n: usize| hub.checked_sub(n).and_then(|i| parts.get(i)).copied().unwrap_or_default();
    // `xhci-hcd.0` is numbered in probe order; the address is the directory above.
    let controller = if up(1).starts_with("xhci-hcd.") { up(2) } else { up(1) };
    let version = if speed.is_some_and(|speed| speed >= 5000.0) { 3 } else { 2 };
    format!("{controller}-usbv{version}")
}

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
    fn bays_sort_by_number() {
        let mut bays = ["1.10", "1.2", "2", "1.2.1", "1", "SD slot"];
        bays.sort_by(|a, b| natural_order(a, b));
        assert_eq!(bays, ["SD slot", "1", "1.2", "1.2.1", "1.10", "2"]);
    }

    #[test]
    fn recognises_path_components() {
        assert!(["1-1", "2-1.4.3", "10-2"].iter().all(|part| is_usb_port(part)));
        assert!(
            !["1-1.", "1-1:1.0", "usb1", "1", "-1", "fd500000.pcie"].iter().any(|part| is_usb_port(part))
        );
        assert!(["0000:01:00.0", "10000:e1:00.0"].iter().all(|part| is_pci(part)));
        assert!(!["pci0000:00", "1-1.3:1.0", "0:0:0:0", "0000:00:1d"].iter().any(|part| is_pci(part)));
        assert!(numbered("ata12", "ata") && !numbered("ata", "ata") && !numbered("ata1x", "ata"));
    }

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
