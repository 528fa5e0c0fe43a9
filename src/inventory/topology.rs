//! What hangs on what: the links between the processor and each drive or network port, and what they carry.

use serde::{Deserialize, Serialize};

use super::{
    Ceiling, Drive, Inventory, Machine, NetworkPort, ceilings,
    device_path::{is_pci, is_usb_port, numbered, speed},
    usb,
};
use crate::sysroot::Sysroot;

/// A link that may be shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bus {
    /// An address that outlives a boot: `0000:01:00.0-usbv3`, `fe340000.mmc`; hubs add their port.
    pub id: String,
    /// What kind of link it is.
    pub kind: BusKind,
    /// The chip, where it has a name people know: `VL805`, `RP1`.
    pub chip: Option<String>,
    /// How it hangs on what is above it, where that has grades of its own: `PCIe 2.0 x1`.
    pub link: Option<String>,
    /// What it carries in one direction, Mb/s (10^6 bits), less the line code for PCIe.
    pub mbps: Option<f64>,
    /// The bus above, by its id; none where it hangs on the processor.
    pub parent: Option<String>,
    /// The kernel's name of today: `usb1`, `1-1`.
    pub device: Option<String>,
    /// Whether a hub has a supply of its own, by its own word.
    pub self_powered: Option<bool>,
    /// What can pass at most.
    pub ceiling: Option<Ceiling>,
    /// What hangs on it could together ask for more than it carries; `None` where that isn't known.
    pub limits: Option<bool>,
}

/// Kinds of links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BusKind {
    /// PCI Express, from the processor to a chip with ports of its own.
    #[default]
    Pcie,
    /// A USB root hub: all ports of one speed of one controller.
    Usb,
    /// A USB hub, outside or on the board.
    UsbHub,
    /// A SATA controller; each port is a link of its own.
    Sata,
    /// A SAS or SCSI controller.
    Scsi,
    /// An SD or eMMC host.
    Mmc,
}

impl Bus {
    /// What it is: `USB3`, `VL805`, `hub 1.2`.
    pub fn what(&self) -> String {
        match self.kind {
            BusKind::Usb if self.mbps >= Some(5000.0) => "USB3",
            BusKind::Usb => "USB2",
            BusKind::UsbHub => return format!("hub {}", self.id.rsplit('-').next().unwrap_or_default()),
            BusKind::Pcie => self.chip.as_deref().unwrap_or("PCIe link"),
            BusKind::Sata => "SATA",
            BusKind::Scsi => "SCSI",
            BusKind::Mmc => "SD",
        }
        .to_owned()
    }

    /// Where its controller is: `0000:01:00.0`.
    pub fn address(&self) -> &str {
        let version = self.id.find("-usbv");
        version.map_or(self.id.as_str(), |end| &self.id[..end])
    }
}

/// Gathers buses while drives and ports are read, each once.
pub(super) struct Topology<'a> {
    root: &'a Sysroot,
    machine: &'a Machine,
    buses: Vec<Bus>,
}

impl<'a> Topology<'a> {
    /// Begins with the USB ports of the machine, used or not.
    pub(super) fn new(root: &'a Sysroot, machine: &'a Machine) -> Self {
        let mut topology = Self { root, machine, buses: Vec::new() };
        for name in root.list("/sys/bus/usb/devices").into_iter().filter(|name| numbered(name, "usb")) {
            if let Some(dir) = root.real(&format!("/sys/bus/usb/devices/{name}")) {
                topology.above(&dir);
            }
        }
        topology
    }

    /// All buses, with what they carry and whether it limits.
    pub(super) fn finish(mut self, drives: &[Drive], ports: &[NetworkPort]) -> Vec<Bus> {
        for i in 0..self.buses.len() {
            self.buses[i].limits = limits(&self.buses[i], &self.buses, drives, ports);
        }
        self.buses
    }

    /// The innermost bus above what stands at `dir` (a path without links), all above it added.
    pub(super) fn above(&mut self, dir: &str) -> Option<String> {
        let parts: Vec<&str> = dir.split('/').collect();
        let mut parent: Option<String> = None;
        let mut pci: Option<&str> = None;
        let mut deep = 0;
        let mut hub = String::new();
        for (i, &part) in parts.iter().enumerate() {
            let here = || parts[..=i].join("/");
            let next = parts.get(i + 1).copied().unwrap_or_default();
            let before = i.checked_sub(1).map_or("", |i| parts[i]);
            if is_pci(part) {
                pci = Some(part);
                deep += 1;
                // Ports face each other in pairs, and the lower one stands for the link. What ends a link alone
                // (NVMe, a network port) has that as its own speed.
                if deep % 2 == 0 && (is_pci(next) || numbered(next, "usb")) {
                    self.add_pcie(part, &here(), &mut parent);
                }
            } else if part.ends_with(".pcie") && !next.starts_with("pci") {
                self.add_behind_pcie(part, &here(), &mut parent);
            } else if numbered(part, "usb") {
                hub = usb_id(&parts, i, speed(self.root, &here()));
                self.add_usb(&hub, part, &here(), BusKind::Usb, &mut parent);
            } else if is_usb_port(part) && is_usb_port(next) {
                let port = part.split_once('-').map_or(part, |(_, port)| port);
                self.add_usb(&format!("{hub}-{port}"), part, &here(), BusKind::UsbHub, &mut parent);
            } else if part == "mmc_host" {
                self.add_mmc(before, next, &mut parent);
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
            let bus = Bus { id: id.to_owned(), parent: parent.clone(), ..read(self) };
            let ceiling = ceilings::of(&bus, self.machine);
            self.buses.push(Bus { ceiling, ..bus });
        }
        *parent = Some(id.to_owned());
    }

    fn add_pcie(&mut self, id: &str, dir: &str, parent: &mut Option<String>) {
        let chip = chip(self.root, dir);
        // Where the kernel doesn't tell the link, the board does: the VL805 has one lane of the second generation.
        let known = chip.as_deref() == Some("VL805") && self.machine.soc.as_deref() == Some("bcm2711");
        let link = pcie(self.root, dir).or_else(|| known.then(|| ("PCIe 2.0 x1".to_owned(), 4000.0)));
        let Some((link, mbps)) = link else { return };
        self.add(id, parent, |_| Bus { chip, link: Some(link), mbps: Some(mbps), ..Bus::default() });
    }

    /// The Pi 5's RP1 shows its parts beside the PCI device that they are behind.
    fn add_behind_pcie(&mut self, id: &str, dir: &str, parent: &mut Option<String>) {
        let root = self.root;
        let below = |dir: &str, is: fn(&str) -> bool| -> Vec<String> {
            root.list(dir).into_iter().filter(|name| is(name)).map(|name| format!("{dir}/{name}")).collect()
        };
        let domains = below(dir, |name| name.starts_with("pci"));
        let ports = domains.iter().flat_map(|domain| below(domain, is_pci));
        let ends: Vec<String> = ports.flat_map(|port| below(&port, is_pci)).collect();
        let told = ends.iter().find(|end| chip(root, end).as_deref() == Some("RP1"));
        let known = self.machine.soc.as_deref() == Some("bcm2712");
        if told.is_none() && !known {
            return;
        }
        let link = told.and_then(|end| pcie(root, end)).unwrap_or(("PCIe 2.0 x4".to_owned(), 16_000.0));
        self.add(id, parent, |_| Bus {
            chip: Some("RP1".to_owned()),
            link: Some(link.0),
            mbps: Some(link.1),
            ..Bus::default()
        });
    }

    fn add_usb(&mut self, id: &str, device: &str, dir: &str, kind: BusKind, parent: &mut Option<String>) {
        self.add(id, parent, |this| Bus {
            kind,
            mbps: speed(this.root, dir),
            device: Some(device.to_owned()),
            self_powered: usb::self_powered(this.root, dir).filter(|_| kind == BusKind::UsbHub),
            ..Bus::default()
        });
    }

    fn add_mmc(&mut self, id: &str, host: &str, parent: &mut Option<String>) {
        self.add(id, parent, |_| Bus { kind: BusKind::Mmc, device: Some(host.to_owned()), ..Bus::default() });
    }

    fn add_controller(&mut self, id: &str, kind: BusKind, dir: &[&str], parent: &mut Option<String>) {
        let dir = &dir[..=dir.iter().rposition(|part| *part == id).unwrap_or(dir.len().saturating_sub(1))];
        let deep = dir.iter().filter(|part| is_pci(part)).count();
        self.add(id, parent, |this| {
            // A controller in the chipset has no link of its own.
            let link = pcie(this.root, &dir.join("/")).filter(|_| deep % 2 == 0);
            let (link, mbps) = link.unzip();
            Bus { kind, link, mbps, ..Bus::default() }
        });
    }
}

/// `hostN` of an adapter, not one that the kernel makes up for USB or SATA.
fn is_scsi_host(part: &str, before: &str, parts: &[&str]) -> bool {
    let emulated = |part: &&str| numbered(part, "usb") || numbered(part, "ata") || numbered(part, "virtio");
    numbered(part, "host") && before != "nvme" && !parts.iter().any(emulated)
}

/// The id of a root hub: one xHCI controller is two buses, and their ports are numbered alike.
pub(super) fn usb_id(parts: &[&str], hub: usize, speed: Option<f64>) -> String {
    let up = |n: usize| hub.checked_sub(n).and_then(|i| parts.get(i)).copied().unwrap_or_default();
    // `xhci-hcd.0` is a number in the order of finding; the address is above it.
    let controller = if up(1).starts_with("xhci-hcd.") { up(2) } else { up(1) };
    let version = if speed.is_some_and(|speed| speed >= 5000.0) { 3 } else { 2 };
    format!("{controller}-usbv{version}")
}

fn chip(root: &Sysroot, dir: &str) -> Option<String> {
    let id = |file: &str| root.word(&format!("{dir}/{file}"));
    match (id("vendor")?.as_str(), id("device")?.as_str()) {
        ("0x1106", "0x3483") => Some("VL805".to_owned()),
        ("0x1de4", "0x0001") => Some("RP1".to_owned()),
        _ => None,
    }
}

/// A PCIe link's name and what it carries: transfers times width, less the line code.
pub(super) fn pcie(root: &Sysroot, dir: &str) -> Option<(String, f64)> {
    pcie_link(root, dir, "current")
}

/// What a PCIe device's link could be at most.
pub(super) fn pcie_max(root: &Sysroot, dir: &str) -> Option<(String, f64)> {
    pcie_link(root, dir, "max")
}

fn pcie_link(root: &Sysroot, dir: &str, which: &str) -> Option<(String, f64)> {
    let speed = root.word(&format!("{dir}/{which}_link_speed"))?;
    let transfers: f64 = speed.split(' ').next()?.parse().ok()?;
    let width: u32 = root.number(&format!("{dir}/{which}_link_width"))?;
    if !(1..=32).contains(&width) || !(1.0..=256.0).contains(&transfers) {
        return None;
    }
    // 8 bits in 10 up to 5 GT/s, 128 in 130 above.
    let code = if transfers > 5.0 { 128.0 / 130.0 } else { 0.8 };
    let generation = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0].iter().position(|&known| known == transfers);
    let name = generation.map_or_else(|| "PCIe".to_owned(), |n| format!("PCIe {}.0", n + 1));
    Some((format!("{name} x{width}"), (transfers * 1000.0 * code * f64::from(width)).round()))
}

/// Whether all that hangs on a bus could ask for more than it carries. One thing alone shares with nobody.
fn limits(bus: &Bus, buses: &[Bus], drives: &[Drive], ports: &[NetworkPort]) -> Option<bool> {
    let asked = asks(&bus.id, buses, drives, ports, 0);
    if asked.len() < 2 {
        return Some(false);
    }
    let carries = bus.ceiling.as_ref()?.theory;
    let known: f64 = asked.iter().flatten().sum();
    if known > carries { Some(true) } else { asked.iter().all(Option::is_some).then_some(false) }
}

/// What each thing on a bus can ask for, MB/s: drives and ports by their links, all the ports of a USB root hub as one.
fn asks(id: &str, buses: &[Bus], drives: &[Drive], ports: &[NetworkPort], depth: usize) -> Vec<Option<f64>> {
    let on = |upstream: &Option<String>| upstream.as_deref() == Some(id);
    let mut asked = Vec::new();
    for child in buses.iter().filter(|child| on(&child.parent) && depth < buses.len()) {
        match child.kind {
            BusKind::Usb => asked.push(child.ceiling.as_ref().map(|ceiling| ceiling.theory)),
            _ => asked.extend(asks(&child.id, buses, drives, ports, depth + 1)),
        }
    }
    asked.extend(
        drives.iter().filter(|drive| on(&drive.upstream)).map(|d| d.link_mbps.map(ceilings::of_link)),
    );
    let connected = ports.iter().filter(|port| on(&port.upstream) && port.connected != Some(false));
    asked.extend(connected.map(|port| port.mbps.map(|mbps| mbps / 8.0)));
    asked
}

impl Inventory {
    /// The bus with this id.
    pub fn bus(&self, id: &str) -> Option<&Bus> {
        self.buses.iter().find(|bus| bus.id == id)
    }

    /// The buses between a drive or port and the processor, innermost first.
    pub fn buses_above(&self, upstream: Option<&str>) -> Vec<&Bus> {
        let mut above: Vec<&Bus> = Vec::new();
        let mut at = upstream;
        while let Some(bus) = at.and_then(|id| self.bus(id)).filter(|_| above.len() < self.buses.len()) {
            above.push(bus);
            at = bus.parent.as_deref();
        }
        above
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn names_pcie_links() {
        let mut tree = Tree::new();
        let mut link = |speed: &str, width: &str| {
            tree.files("sys/x", &[("current_link_speed", speed), ("current_link_width", width)]);
            pcie(&tree.sysroot(), "/sys/x")
        };
        assert_eq!(link("5.0 GT/s PCIe", "1"), Some(("PCIe 2.0 x1".to_owned(), 4000.0)));
        assert_eq!(link("8.0 GT/s PCIe", "4"), Some(("PCIe 3.0 x4".to_owned(), 31508.0)));
        assert_eq!(link("Unknown", "0"), None);
        assert_eq!(link("5.0 GT/s", "255"), None);
    }

    #[test]
    fn a_ring_of_buses_ends() {
        let bus = |id: &str, parent: &str| Bus {
            id: id.to_owned(),
            parent: Some(parent.to_owned()),
            ..Bus::default()
        };
        let inventory = Inventory { buses: vec![bus("a", "b"), bus("b", "a")], ..Inventory::default() };
        assert_eq!(inventory.buses_above(Some("a")).len(), 2);
    }
}
