//! Finds the buses between the processor and each drive or network port.

use super::{
    Bus, BusKind, Machine, bus,
    device_path::{is_pci, is_usb_port, numbered, pcie, usb_id, usb_speed},
    usb,
};
use crate::sysroot::Sysroot;

/// Collects buses while drives and ports are read, each once.
pub(super) struct Topology<'a> {
    root: &'a Sysroot,
    machine: &'a Machine,
    /// All buses that were found, with what they carry.
    pub(super) buses: Vec<Bus>,
}

impl<'a> Topology<'a> {
    /// Starts with all USB root hubs, used or not.
    pub(super) fn new(root: &'a Sysroot, machine: &'a Machine) -> Self {
        let mut topology = Self { root, machine, buses: Vec::new() };
        for name in root.list("/sys/bus/usb/devices").into_iter().filter(|name| numbered(name, "usb")) {
            if let Some(dir) = root.real(&format!("/sys/bus/usb/devices/{name}")) {
                topology.above(&dir);
            }
        }
        topology
    }

    /// The innermost bus above the device at `dir` (a path without links). Adds all buses above it.
    pub(super) fn above(&mut self, dir: &str) -> Option<String> {
        let parts: Vec<&str> = dir.split('/').collect();
        let mut parent: Option<String> = None;
        let mut pci: Option<&str> = None;
        let mut depth = 0;
        let mut hub = String::new();
        for (i, &part) in parts.iter().enumerate() {
            let dir = || parts[..=i].join("/");
            let next = parts.get(i + 1).copied().unwrap_or_default();
            let before = i.checked_sub(1).map_or("", |i| parts[i]);
            if is_pci(part) {
                pci = Some(part);
                depth += 1;
                // A link has an upper and a lower port; the lower one represents it. An endpoint (NVMe, network
                // port) has the link speed as its own.
                if depth % 2 == 0 && (is_pci(next) || numbered(next, "usb")) {
                    self.add_pcie(part, &dir(), &mut parent);
                }
            } else if part.ends_with(".pcie") && !next.starts_with("pci") {
                self.add_behind_pcie(part, &dir(), &mut parent);
            } else if numbered(part, "usb") {
                hub = usb_id(&parts, i, usb_speed(self.root, &dir()));
                self.add_usb(&hub, &dir(), BusKind::Usb, &mut parent);
            } else if is_usb_port(part) && is_usb_port(next) {
                let port = part.split_once('-').map_or(part, |(_, port)| port);
                self.add_usb(&format!("{hub}-{port}"), &dir(), BusKind::UsbHub, &mut parent);
            } else if part == "mmc_host" {
                self.add(before, &mut parent, |_| Bus { kind: BusKind::Mmc, ..Bus::default() });
            } else if numbered(part, "ata") {
                self.add_controller(before, BusKind::Sata, &parts[..i], &mut parent);
            } else if let Some(pci) = pci.filter(|_| is_scsi_host(part, before, &parts)) {
                self.add_controller(pci, BusKind::Scsi, &parts[..i], &mut parent);
            }
        }
        parent
    }

    fn add(&mut self, id: &str, parent: &mut Option<String>, read: impl FnOnce(&Self) -> Bus) {
        if !self.buses.iter().any(|bus| bus.id == id) {
            let found = Bus { id: id.to_owned(), parent: parent.clone(), ..read(self) };
            let ceiling = bus::ceiling(&found, self.machine);
            self.buses.push(Bus { ceiling, ..found });
        }
        *parent = Some(id.to_owned());
    }

    fn add_pcie(&mut self, id: &str, dir: &str, parent: &mut Option<String>) {
        let chip = chip(self.root, dir);
        // Some kernels don't report the link of the Raspberry Pi 4's VL805: it is PCIe 2.0 x1.
        let is_pi_4 = chip.as_deref() == Some("VL805") && self.machine.soc.as_deref() == Some("bcm2711");
        let link =
            pcie(self.root, dir, "current").or_else(|| is_pi_4.then(|| ("PCIe 2.0 x1".to_owned(), 4000.0)));
        let Some((link, mbps)) = link else { return };
        self.add(id, parent, |_| Bus { chip, link: Some(link), mbps: Some(mbps), ..Bus::default() });
    }

    /// The Pi 5's RP1: its devices are listed beside the PCI device, not below it.
    fn add_behind_pcie(&mut self, id: &str, dir: &str, parent: &mut Option<String>) {
        let root = self.root;
        let below = |dir: &str, fits: fn(&str) -> bool| -> Vec<String> {
            root.list(dir).into_iter().filter(|name| fits(name)).map(|name| format!("{dir}/{name}")).collect()
        };
        let domains = below(dir, |name| name.starts_with("pci"));
        let ports = domains.iter().flat_map(|domain| below(domain, is_pci));
        let ends: Vec<String> = ports.flat_map(|port| below(&port, is_pci)).collect();
        let reported = ends.iter().find(|end| chip(root, end).as_deref() == Some("RP1"));
        let is_pi_5 = self.machine.soc.as_deref() == Some("bcm2712");
        if reported.is_none() && !is_pi_5 {
            return;
        }
        let link = reported.and_then(|end| pcie(root, end, "current"));
        let (link, mbps) = Some(link.unwrap_or(("PCIe 2.0 x4".to_owned(), 16_000.0))).unzip();
        self.add(id, parent, |_| Bus { chip: Some("RP1".to_owned()), link, mbps, ..Bus::default() });
    }

    fn add_usb(&mut self, id: &str, dir: &str, kind: BusKind, parent: &mut Option<String>) {
        self.add(id, parent, |this| Bus {
            kind,
            mbps: usb_speed(this.root, dir),
            self_powered: usb::self_powered(this.root, dir).filter(|_| kind == BusKind::UsbHub),
            ..Bus::default()
        });
    }

    fn add_controller(&mut self, id: &str, kind: BusKind, dir: &[&str], parent: &mut Option<String>) {
        let dir = &dir[..=dir.iter().rposition(|part| *part == id).unwrap_or(dir.len().saturating_sub(1))];
        let depth = dir.iter().filter(|part| is_pci(part)).count();
        self.add(id, parent, |this| {
            // A controller in the chipset has no link.
            let link = pcie(this.root, &dir.join("/"), "current").filter(|_| depth % 2 == 0);
            let (link, mbps) = link.unzip();
            Bus { kind, link, mbps, ..Bus::default() }
        });
    }
}

/// `hostN` of a SCSI adapter, not of USB or SATA.
fn is_scsi_host(part: &str, before: &str, parts: &[&str]) -> bool {
    let emulated = |part: &&str| numbered(part, "usb") || numbered(part, "ata") || numbered(part, "virtio");
    numbered(part, "host") && before != "nvme" && !parts.iter().any(emulated)
}

fn chip(root: &Sysroot, dir: &str) -> Option<String> {
    let id = |file: &str| root.word(&format!("{dir}/{file}"));
    match (id("vendor")?.as_str(), id("device")?.as_str()) {
        ("0x1106", "0x3483") => Some("VL805".to_owned()),
        ("0x1de4", "0x0001") => Some("RP1".to_owned()),
        _ => None,
    }
}
