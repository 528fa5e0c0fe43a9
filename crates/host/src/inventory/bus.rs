//! Links between the processor and drives or network ports, as values.

use serde::{Deserialize, Serialize};

use super::{Drive, Inventory, Machine};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bus {
    /// Address, stable across boots: `0000:01:00.0-usbv3`, `fe340000.mmc`; hubs add their port.
    pub id: String,
    pub kind: BusKind,
    /// Chip name, where known: `VL805`, `RP1`.
    pub chip: Option<String>,
    /// Link to the bus above, where that has a generation and width: `PCIe 2.0 x1`.
    pub link: Option<String>,
    /// Speed in one direction, Mb/s (10^6 bits); for PCIe after line coding.
    pub mbps: Option<f64>,
    /// Id of the bus above; none if it is connected to the processor.
    pub parent: Option<String>,
    /// Whether a hub reports a power supply of its own.
    pub self_powered: Option<bool>,
    pub ceiling: Option<Ceiling>,
    /// Whether the devices on it can together exceed its speed; `None` if unknown.
    pub limits: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BusKind {
    /// PCI Express, from the processor to a chip with ports.
    #[default]
    Pcie,
    /// A USB root hub: all ports of one speed of one controller.
    Usb,
    UsbHub,
    /// A SATA controller; each port is a link of its own.
    Sata,
    Scsi,
    Mmc,
}

impl Bus {
    /// Short name: `USB3`, `VL805`, `hub 1.2`.
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

    /// Address of its controller: `0000:01:00.0`.
    pub fn address(&self) -> &str {
        let version = self.id.find("-usbv");
        version.map_or(self.id.as_str(), |end| &self.id[..end])
    }
}

/// Highest throughput of a link, MB/s (10^6 bytes).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceiling {
    /// Throughput after line coding, computed from the signal rate, MB/s.
    pub theory: f64,
    /// Throughput in practice, MB/s, where it was measured.
    pub practical: Option<f64>,
    /// Source of the figures: documented, measured by others, inferred.
    pub source: String,
}

impl Ceiling {
    /// Throughput in practice if it is known, or else in theory, bytes per second.
    pub fn usable(&self) -> f64 {
        self.practical.unwrap_or(self.theory) * 1e6
    }
}

impl Inventory {
    pub fn bus(&self, id: &str) -> Option<&Bus> {
        self.buses.iter().find(|bus| bus.id == id)
    }

    /// The links above two or more of these drives, with the positions of these; of several above the same drives the
    /// innermost.
    pub fn shared_buses(&self, drives: &[&Drive]) -> Vec<(&Bus, Vec<usize>)> {
        let mut groups: Vec<(&Bus, Vec<usize>)> = Vec::new();
        let above = |drive: &Drive| self.buses_above(drive.upstream.as_deref());
        for bus in drives.iter().flat_map(|drive| above(drive)) {
            let below = |at: &usize| above(drives[*at]).iter().any(|b| b.id == bus.id);
            let group: Vec<usize> = (0..drives.len()).filter(below).collect();
            if group.len() > 1 && groups.iter().all(|(_, other)| *other != group) {
                groups.push((bus, group));
            }
        }
        groups
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

/// Throughput of a USB link after line coding, MB/s: none for USB up to 480 Mb/s, 8b/10b at 5 Gb/s, 128b/132b above.
pub(super) fn link_ceiling(mbps: f64) -> f64 {
    match mbps {
        mbps if mbps < 5000.0 => mbps / 8.0,
        5000.0 => mbps / 10.0,
        mbps => (mbps / 8.0 * 128.0 / 132.0).round(),
    }
}

pub(super) fn ceiling(bus: &Bus, machine: &Machine) -> Option<Ceiling> {
    let documented = |theory: f64| Ceiling { theory, practical: None, source: "documented".to_owned() };
    let measured = |theory: f64, practical: f64, place: &str| Ceiling {
        theory,
        practical: Some(practical),
        source: format!("measured by others {place}"),
    };
    match bus.kind {
        BusKind::Mmc => machine.sd_ceiling(),
        BusKind::Usb if bus.mbps == Some(480.0) && machine.usb_without_uas() => {
            Some(measured(60.0, 32.0, "on a Raspberry Pi of 2015"))
        }
        BusKind::Usb if bus.mbps == Some(480.0) => Some(measured(60.0, 40.0, "on xHCI controllers")),
        BusKind::Usb | BusKind::UsbHub => bus.mbps.map(|mbps| documented(link_ceiling(mbps))),
        BusKind::Pcie | BusKind::Sata | BusKind::Scsi => match bus.link.as_deref()? {
            "PCIe 2.0 x1" => Some(measured(500.0, 440.0, "with NVMe on a Raspberry Pi 5")),
            "PCIe 3.0 x1" => Some(measured(985.0, 850.0, "with NVMe on a Raspberry Pi 5")),
            _ => bus.mbps.map(|mbps| documented((mbps / 8.0).round())),
        },
    }
}

/// Marks the buses whose devices can together ask for more than the bus carries.
pub(super) fn mark_limits(inventory: &mut Inventory) {
    for i in 0..inventory.buses.len() {
        inventory.buses[i].limits = limits(inventory, &inventory.buses[i]);
    }
}

/// Whether the devices on a bus can together exceed its speed. A single device has the bus for itself.
fn limits(inventory: &Inventory, bus: &Bus) -> Option<bool> {
    let speeds = link_speeds(inventory, &bus.id, 0);
    if speeds.len() < 2 {
        return Some(false);
    }
    let ceiling = bus.ceiling.as_ref()?.theory;
    let total: f64 = speeds.iter().flatten().sum();
    if total > ceiling { Some(true) } else { speeds.iter().all(Option::is_some).then_some(false) }
}

/// Link speed of each device on a bus, MB/s: drives and network ports; a USB root hub counts once.
fn link_speeds(inventory: &Inventory, id: &str, depth: usize) -> Vec<Option<f64>> {
    let Inventory { buses, drives, ports, .. } = inventory;
    let on = |upstream: &Option<String>| upstream.as_deref() == Some(id);
    let mut speeds = Vec::new();
    for child in buses.iter().filter(|child| on(&child.parent) && depth < buses.len()) {
        match child.kind {
            BusKind::Usb => speeds.push(child.ceiling.as_ref().map(|ceiling| ceiling.theory)),
            _ => speeds.extend(link_speeds(inventory, &child.id, depth + 1)),
        }
    }
    let drives = drives.iter().filter(|drive| on(&drive.upstream));
    speeds.extend(drives.map(|drive| drive.link_mbps.map(link_ceiling)));
    let connected = ports.iter().filter(|port| on(&port.upstream) && port.connected != Some(false));
    speeds.extend(connected.map(|port| port.mbps.map(|mbps| mbps / 8.0)));
    speeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_buses_ends() {
        let bus = |id: &str, parent: &str| Bus {
            id: id.to_owned(),
            parent: Some(parent.to_owned()),
            ..Bus::default()
        };
        let inventory = Inventory { buses: vec![bus("a", "b"), bus("b", "a")], ..Inventory::default() };
        assert_eq!(inventory.buses_above(Some("a")).len(), 2);
    }

    #[test]
    fn line_coding_is_subtracted() {
        assert_eq!([12.0, 480.0, 5000.0, 10_000.0].map(link_ceiling), [1.5, 60.0, 500.0, 1212.0]);
    }
}
