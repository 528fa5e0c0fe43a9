//! What the drives of a pool share: a hub, a bus, a controller.

use crate::{
    inventory::{Bus, BusKind, Drive, Inventory},
    units::{count, listed},
};

/// A line for each link that two or more of the drives share, with the largest group first.
pub(super) fn sentences(inventory: &Inventory, drives: &[&Drive]) -> String {
    let mut groups = inventory.shared_buses(drives);
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let sentence = |(bus, group): (&Bus, Vec<usize>)| {
        let who = match group.len() {
            n if n == drives.len() => format!("The {}", count(n as u64, "drive")),
            _ => listed(&group.into_iter().map(|at| drives[at].label()).collect::<Vec<_>>()),
        };
        sentence(bus, &who) + "\n"
    };
    groups.into_iter().map(sentence).collect()
}

fn sentence(bus: &Bus, who: &str) -> String {
    let shares = matches!(bus.kind, BusKind::Usb | BusKind::UsbHub) || bus.limits == Some(true);
    let shares = if shares { ", and they share its speed" } else { "" };
    format!("{who} share one link, {}: it is one failure for all of them{shares}.", bus.what())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures;

    fn said(inventory: &Inventory, names: &[&str]) -> String {
        let find = |name: &&str| inventory.drives.iter().find(|drive| drive.name == *name).expect("a drive");
        sentences(inventory, &names.iter().map(find).collect::<Vec<&Drive>>())
    }

    #[test]
    fn what_drives_share_is_said() {
        let pi = fixtures::pi_zero().inventory();
        assert_eq!(
            said(&pi, &["sda", "sdb", "sdc", "sdd"]),
            "The 4 drives share one link, hub 1: it is one failure for all of them, and they share its speed.\n"
        );
        let pc = fixtures::pc().inventory();
        assert_eq!(
            said(&pc, &["sda", "sdb"]),
            "The 2 drives share one link, SATA: it is one failure for all of them.\n"
        );
        assert_eq!(said(&pc, &["sda", "nvme0n1"]), "", "nothing is shared");
    }
}
