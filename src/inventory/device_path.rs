//! Where a drive hangs: bus, controller, bay, link and driver, read off its path through the device tree.

use std::cmp::Ordering;

use super::{
    Drive,
    hubs::{is_usb_port, speed, usb_id},
    pcie::{pcie, pcie_max},
};
use crate::sysroot::Sysroot;

/// Fills in where the drive at `dir` (a path without links) hangs. Returns the directory of its USB device, if it has one.
pub(super) fn read(root: &Sysroot, dir: &str, drive: &mut Drive) -> Option<String> {
    drive.driver = driver(root, dir);
    let parts: Vec<&str> = dir.split('/').collect();
    let before = |found: usize| parts.get(found.wrapping_sub(1)).map(|part| (*part).to_owned());
    let position = |is: fn(&str) -> bool| parts.iter().rposition(|part| is(part));
    let up_to = |last: usize| parts[..=last].join("/");
    let pci = || parts.iter().rev().find(|part| is_pci(part)).map(|part| (*part).to_owned());

    if let Some(found) = position(is_usb_port) {
        let device = up_to(found);
        let port = parts[found].split_once('-').map(|(_, port)| port.to_owned());
        drive.bus = Some("usb".to_owned());
        drive.bay = port.map(|port| match lun(&parts) {
            Some(lun) if lun != "0" => format!("{port}:{lun}"),
            _ => port,
        });
        drive.link_mbps = speed(root, &device);
        if let Some(hub) = position(|part| numbered(part, "usb")) {
            drive.bus_mbps = speed(root, &up_to(hub));
            drive.controller = Some(usb_id(&parts, hub, drive.bus_mbps));
        }
        return Some(device);
    }
    if let Some(found) = position(|part| part == "mmc_host") {
        let kind = root.word(&format!("{dir}/device/type"));
        drive.bus = Some("mmc".to_owned());
        drive.bay = Some(if kind.as_deref() == Some("MMC") { "eMMC" } else { "SD slot" }.to_owned());
        drive.controller = before(found);
    } else if position(|part| part == "nvme").is_some() {
        drive.bus = Some("nvme".to_owned());
        drive.bay = pci();
        drive.controller = pci();
        let link = |read: fn(&Sysroot, &str) -> Option<(String, f64)>| {
            position(is_pci).and_then(|found| Some(read(root, &up_to(found))?.1))
        };
        (drive.link_mbps, drive.link_max_mbps) = (link(pcie), link(pcie_max));
    } else if let Some(found) = position(|part| numbered(part, "ata")) {
        let ata = up_to(found);
        let port = root.word(&format!("{ata}/ata_port/{}/port_no", parts[found]));
        drive.bus = Some("ata".to_owned());
        drive.bay = Some(port.map_or_else(|| parts[found].to_owned(), |port| format!("ata-{port}")));
        drive.controller = before(found);
        let link = parts[found].replacen("ata", "link", 1);
        let spd = |file: &str| root.word(&format!("{ata}/{link}/ata_link/{link}/{file}")).and_then(sata_mbps);
        (drive.link_mbps, drive.link_max_mbps) = (spd("sata_spd"), spd("sata_spd_limit"));
    } else if let Some(found) = position(|part| part.starts_with("target")) {
        drive.bus = Some("scsi".to_owned());
        drive.bay = parts.get(found + 1).and_then(|hctl| hctl.split_once(':')).map(|(_, ctl)| ctl.to_owned());
        drive.controller = position(|part| numbered(part, "host")).and_then(before);
    } else if let Some(found) = position(|part| numbered(part, "virtio")) {
        drive.bus = Some("virtio".to_owned());
        drive.bay = before(found);
        drive.controller = before(found);
    } else if let Some(found) = position(|part| part.starts_with("vbd-")) {
        drive.bus = Some("xen".to_owned());
        drive.bay = Some(parts[found].to_owned());
    }
    None
}

/// An NVMe drive that may be reached over several paths stands below a virtual subsystem; its first controller is real.
pub(super) fn physical(root: &Sysroot, dir: &str) -> String {
    let through_controller = || {
        let (subsystem, name) = dir.rsplit_once('/')?;
        let subsystem = subsystem.contains("/nvme-subsystem/").then_some(subsystem)?;
        let controller = root.list(subsystem).into_iter().find(|entry| numbered(entry, "nvme"))?;
        Some(format!("{}/{name}", root.real(&format!("{subsystem}/{controller}"))?))
    };
    through_controller().unwrap_or_else(|| dir.to_owned())
}

/// The driver nearest above the drive that isn't the SCSI disk driver, which every such drive has.
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

/// The last number of `0:0:0:1`, the SCSI unit: slots of a card reader share one USB port.
fn lun<'a>(parts: &[&'a str]) -> Option<&'a str> {
    let target = parts.iter().rposition(|part| part.starts_with("target"))?;
    parts.get(target + 1)?.rsplit(':').next()
}

/// `6.0 Gbps`.
fn sata_mbps(text: String) -> Option<f64> {
    let gigabits: f64 = text.strip_suffix("Gbps")?.trim().parse().ok()?;
    (gigabits.is_finite() && gigabits > 0.0).then_some(gigabits * 1000.0)
}

/// Puts drives in the order of their buses and bays, numbers by value.
pub(super) fn sort(drives: &mut [Drive]) {
    drives.sort_by(|a, b| {
        let bus = |drive: &Drive| (drive.bus.is_none(), drive.bus.clone(), drive.controller.clone());
        bus(a)
            .cmp(&bus(b))
            .then_with(|| natural(a.bay.as_deref().unwrap_or(""), b.bay.as_deref().unwrap_or("")))
            .then_with(|| natural(&a.name, &b.name))
    });
}

/// The order of names with numbers in them: `1.9` before `1.10`.
pub fn natural(a: &str, b: &str) -> Ordering {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_path_components_apart() {
        assert!(["1-1", "2-1.4.3", "10-2"].iter().all(|part| is_usb_port(part)));
        assert!(
            !["1-1.", "1-1:1.0", "usb1", "1", "-1", "fd500000.pcie"].iter().any(|part| is_usb_port(part))
        );
        assert!(["0000:01:00.0", "10000:e1:00.0"].iter().all(|part| is_pci(part)));
        assert!(!["pci0000:00", "1-1.3:1.0", "0:0:0:0", "0000:00:1d"].iter().any(|part| is_pci(part)));
        assert!(numbered("ata12", "ata") && !numbered("ata", "ata") && !numbered("ata1x", "ata"));
    }

    #[test]
    fn bays_sort_by_number() {
        let mut bays = ["1.10", "1.2", "2", "1.2.1", "1", "SD slot"];
        bays.sort_by(|a, b| natural(a, b));
        assert_eq!(bays, ["SD slot", "1", "1.2", "1.2.1", "1.10", "2"]);
    }

    #[test]
    fn links_have_their_speed() {
        assert_eq!(sata_mbps("6.0 Gbps".to_owned()), Some(6000.0));
        assert_eq!(sata_mbps("<unknown>".to_owned()), None);
    }
}
