//! Which buses limit: what hangs on them can together ask for more than they carry.

use super::{Bus, BusKind, Drive, NetworkPort, bus_ceilings};

/// Fills in for each bus whether it limits what hangs on it.
pub(super) fn mark(buses: &mut [Bus], drives: &[Drive], ports: &[NetworkPort]) {
    for i in 0..buses.len() {
        buses[i].limits = limits(&buses[i], buses, drives, ports);
    }
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
        drives.iter().filter(|drive| on(&drive.upstream)).map(|d| d.link_mbps.map(bus_ceilings::of_link)),
    );
    let connected = ports.iter().filter(|port| on(&port.upstream) && port.connected != Some(false));
    asked.extend(connected.map(|port| port.mbps.map(|mbps| mbps / 8.0)));
    asked
}
