//! Limiting buses: those whose devices can together ask for more than the bus carries.

use super::{Bus, BusKind, Inventory, bus_ceilings::link_ceiling};

pub(super) fn mark(inventory: &mut Inventory) {
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
