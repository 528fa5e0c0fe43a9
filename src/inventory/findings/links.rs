//! Links that are slower than they could be, and links that are shared.

use super::Finding;
use crate::{
    inventory::{Bus, BusKind, Drive, Inventory, bus_ceilings::of_link},
    units::{count, listed},
};

/// A link below what drive and port could do.
pub(super) fn slow(inventory: &Inventory, drive: &Drive) -> Option<Finding> {
    let link = drive.link_mbps?;
    let label = drive.label();
    if let Some(usb) = &drive.usb {
        let has_usb3 = inventory.buses.iter().any(|bus| bus.kind == BusKind::Usb && bus.mbps >= Some(5000.0));
        let what = match (usb.superspeed, usb.version) {
            _ if link > 480.0 || !has_usb3 => return None,
            (Some(true), _) => format!("{label} can do 5 Gb/s, its link runs at {link} Mb/s."),
            (None, Some(version)) if version > 2.0 => format!(
                "{label} runs at {link} Mb/s and tells of USB {version:.1}, as USB 3 drives do on a USB 2 link."
            ),
            _ => return None,
        };
        let advice = "Use a USB 3 port (blue) and a cable with nine wires; plug it in with one swift push.";
        return Some(Finding::of("usb3-on-usb2", [drive], what, advice));
    }
    let most = drive.link_max_mbps.filter(|most| *most > link * 1.01)?;
    let gigabits = |mbps: f64| format!("{} Gb/s", (mbps / 100.0).round() / 10.0);
    let what = format!("{label} runs at {}, it could do {}.", gigabits(link), gigabits(most));
    let pi5 = inventory.machine.soc.as_deref() == Some("bcm2712");
    let advice = match drive.bus.as_deref() {
        Some("nvme") if pi5 => {
            "The board has one lane; dtparam=pciex1_gen=3 doubles its speed and is not certified."
        }
        Some("nvme") => {
            "Look whether another slot has more lanes or a newer generation, and whether the card sits well."
        }
        _ => "Try another cable and another port.",
    };
    Some(Finding::of("slow-link", [drive], what, advice))
}

/// What is on a bus: drives, and network ports with their names.
struct Sharers<'a> {
    drives: Vec<&'a Drive>,
    ports: Vec<String>,
    asked: f64,
}

/// Links that all on them together can't use in full. Of several in a row with the same on them the narrowest counts,
/// and of equals the outermost.
pub(super) fn shared(inventory: &Inventory) -> Vec<Finding> {
    let mut found: Vec<(&Bus, Sharers<'_>, f64)> = Vec::new();
    for bus in inventory.buses.iter().filter(|bus| bus.limits == Some(true)) {
        let Some(ceiling) = &bus.ceiling else { continue };
        let most = ceiling.practical.unwrap_or(ceiling.theory);
        let sharers = sharers(inventory, bus);
        if sharers.drives.is_empty()
            || sharers.drives.len() + sharers.ports.len() < 2
            || sharers.asked <= most
        {
            continue;
        }
        let same = |(_, other, _): &(&Bus, Sharers<'_>, f64)| {
            other.drives == sharers.drives && other.ports == sharers.ports
        };
        match found.iter_mut().find(|one| same(one)) {
            Some((_, _, narrowest)) if *narrowest <= most => {}
            Some(one) => *one = (bus, sharers, most),
            None => found.push((bus, sharers, most)),
        }
    }
    // A part of a bus that carries no less than the whole says nothing new.
    let tightest = |bus: &Bus, most: f64| {
        let above = inventory.buses_above(bus.parent.as_deref());
        !found.iter().any(|(other, _, carries)| *carries <= most && above.iter().any(|up| up.id == other.id))
    };
    let telling = found.iter().filter(|(bus, _, most)| tightest(bus, *most));
    telling.map(|(bus, sharers, most)| describe(bus, sharers, *most)).collect()
}

fn sharers<'a>(inventory: &'a Inventory, bus: &Bus) -> Sharers<'a> {
    let below = |upstream: &Option<String>| {
        inventory.buses_above(upstream.as_deref()).iter().any(|above| above.id == bus.id)
    };
    let drives: Vec<&Drive> = inventory.drives.iter().filter(|drive| below(&drive.upstream)).collect();
    let wired = |port: &&crate::inventory::NetworkPort| !port.wireless && port.connected == Some(true);
    let ports: Vec<_> = inventory.ports.iter().filter(|port| below(&port.upstream)).filter(wired).collect();
    let asked = drives.iter().filter_map(|drive| drive.link_mbps).map(of_link).sum::<f64>()
        + ports.iter().filter_map(|port| port.mbps).map(|mbps| mbps / 8.0).sum::<f64>();
    let ports = ports.iter().map(|port| format!("Ethernet {}", port.name)).collect();
    Sharers { drives, ports, asked }
}

fn describe(bus: &Bus, sharers: &Sharers<'_>, most: f64) -> Finding {
    let mut who = vec![count(sharers.drives.len() as u64, "drive")];
    who.extend(sharers.ports.iter().cloned());
    let what = format!("{} share {}: together they can't pass about {most:.0} MB/s.", listed(&who), bus.id);
    let advice = if sharers.ports.is_empty() {
        "Put drives that work at once on buses that don't share."
    } else {
        "What clients read or write passes it twice; Ethernet or drives on another bus would help."
    };
    Finding::of("shared-bus", sharers.drives.iter().copied(), what, advice)
}
