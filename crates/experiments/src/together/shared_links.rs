//! Shared links of targets, by the inventory: buses, or one drive below several targets.

use std::collections::BTreeSet;

use crate::{
    inventory::{Bus, BusKind, Ceiling, Inventory},
    target::Target,
};

/// Something that several targets share.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct Shared {
    /// The targets, as positions in the plan.
    pub members: Vec<usize>,
    /// Its name: `the USB2 bus`.
    pub name: String,
    /// Its capacity, where known.
    pub ceiling: Option<Ceiling>,
    /// Whether it is a drive with several targets.
    pub drive: bool,
}

impl Shared {
    /// Usable capacity, bytes per second, where known.
    pub fn usable(&self) -> Option<f64> {
        self.ceiling.as_ref().map(Ceiling::usable)
    }

    /// Capacity by the signalling rate, bytes per second, where known.
    pub fn theory(&self) -> Option<f64> {
        self.ceiling.as_ref().map(|c| c.theory * 1e6)
    }
}

/// What some of these targets share, each set of targets once; the smallest sets first.
pub(in super::super) fn shared(inventory: &Inventory, targets: &[Target], members: &[usize]) -> Vec<Shared> {
    let mut all: Vec<Shared> = Vec::new();
    let mut add = |one: Shared| {
        if one.members.len() < 2 {
            return;
        }
        match all.iter_mut().find(|other| other.members == one.members) {
            // A shared drive comes before any bus. The slower of two links in a row limits.
            Some(other) => {
                let carries = |link: &Shared| link.usable().unwrap_or(f64::INFINITY);
                if !other.drive && carries(&one) < carries(other) {
                    *other = one;
                }
            }
            None => all.push(one),
        }
    };
    let drives = members.iter().flat_map(|&t| &targets[t].drives).map(|d| d.name.as_str());
    for name in drives.filter(|name| !name.is_empty()).collect::<BTreeSet<_>>() {
        let on = |t: &usize| targets[*t].drives.iter().any(|d| d.name == name);
        let members = members.iter().copied().filter(on).collect();
        add(Shared { members, name: format!("the drive {name}"), drive: true, ..Shared::default() });
    }
    for bus in inventory.buses.iter().rev() {
        let below = |t: &usize| {
            let above = |upstream| inventory.buses_above(upstream).iter().any(|b| b.id == bus.id);
            targets[*t].drives.iter().any(|d| above(d.upstream.as_deref()))
        };
        let members = members.iter().copied().filter(below).collect();
        add(Shared {
            members,
            name: name(bus, inventory),
            ceiling: bus.ceiling.clone(),
            ..Shared::default()
        });
    }
    all.sort_by_key(|one| one.members.len());
    all
}

/// What a bus is called; with its address where another has the same name.
fn name(bus: &Bus, inventory: &Inventory) -> String {
    let what = bus.what();
    let name = match bus.kind {
        BusKind::UsbHub => what.clone(),
        BusKind::Pcie if bus.chip.is_none() => format!("the {}", bus.link.as_deref().unwrap_or("PCIe link")),
        BusKind::Pcie => format!("the {what}"),
        BusKind::Sata | BusKind::Scsi => format!("the {what} controller"),
        BusKind::Usb | BusKind::Mmc => format!("the {what} bus"),
    };
    let twins = inventory.buses.iter().filter(|other| other.kind == bus.kind && other.what() == what).count();
    if twins > 1 { format!("{name} of {}", bus.address()) } else { name }
}
