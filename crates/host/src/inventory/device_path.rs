//! Bus, controller, bay, link speed and driver of a drive, from its path in `/sys/devices`.

use std::cmp::Ordering;

use super::{
    Drive,
    drive::SD_SLOT,
    link_speed::{pcie, sata_mbps, usb_speed},
    sysfs_path::{is_pci, is_usb_port, numbered, usb_id},
};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bays_sort_by_number() {
        let mut bays = ["1.10", "1.2", "2", "1.2.1", "1", "SD slot"];
        bays.sort_by(|a, b| natural_order(a, b));
        assert_eq!(bays, ["SD slot", "1", "1.2", "1.2.1", "1.10", "2"]);
    }
}
