//! What the drives of a pool share: a hub, a bus, a controller, the host of a virtual machine.

use std::collections::{BTreeSet, HashMap};

use crate::{
    advise::Evidence,
    analyse::Estimate,
    inventory::{Bus, BusKind, Drive, Inventory},
    record::Store,
    units::{Direction, Layout, Pattern, count, listed, rate},
};

/// So many runs of the same of these drives are read; older ones are not.
const NEWEST: usize = 8;

/// A speed of several drives at once.
pub(super) struct Measured {
    run: String,
    writes: Estimate,
}

/// A line for each link that two or more of the drives share, with the largest group first.
pub(super) fn sentences(
    inventory: &Inventory,
    drives: &[&Drive],
    layout: Layout,
    measured: impl Fn(&[&Drive]) -> Option<Measured>,
) -> String {
    let mut groups = inventory.shared_buses(drives);
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let sentence = |(bus, group): (&Bus, Vec<usize>)| {
        let group: Vec<&Drive> = group.into_iter().map(|at| drives[at]).collect();
        sentence(bus, &who(&group, drives), layout, measured(&group))
    };
    let mut lines: Vec<String> = groups.into_iter().map(sentence).collect();
    let hosted: Vec<&Drive> = drives.iter().copied().filter(|drive| !drive.has_hardware()).collect();
    if !hosted.is_empty() && inventory.machine.lab.is_none() {
        let (who, are) = (who(&hosted, drives), if hosted.len() > 1 { "are" } else { "is" });
        lines.push(format!(
            "{who} {are} virtual or for tests: all may be on one disk, which fails as a whole."
        ));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// `Both drives`, or their names.
fn who(group: &[&Drive], all: &[&Drive]) -> String {
    match group.len() {
        n if n < all.len() => listed(&group.iter().map(|drive| drive.label()).collect::<Vec<_>>()),
        2 => "Both drives".to_owned(),
        n => format!("All {}", count(n as u64, "drive")),
    }
}

fn sentence(bus: &Bus, who: &str, layout: Layout, measured: Option<Measured>) -> String {
    let (place, what) = match bus.kind {
        BusKind::UsbHub => ("behind one hub", "the hub"),
        BusKind::Usb => ("on one USB bus", "its controller"),
        BusKind::Sata => ("on one SATA controller", "the controller"),
        BusKind::Scsi => ("on one SCSI controller", "the controller"),
        BusKind::Mmc => ("in one slot", "the slot"),
        BusKind::Pcie => ("behind one PCIe link", "the device on that link"),
    };
    let shares = matches!(bus.kind, BusKind::Usb | BusKind::UsbHub) || bus.limits == Some(true);
    let shares = match layout {
        _ if !shares => "",
        Layout::Single | Layout::Linear => ", and they share its speed when used at once",
        _ => ", and they share its speed",
    };
    let measured = measured.map_or_else(String::new, |measured| {
        let (writes, run) = (measured.writes.text(rate), measured.run);
        format!(" At once they write {writes} (measured: {run}).")
    });
    format!("{who} are {place}, {}: {what} is one failure for all of them{shares}.{measured}", bus.what())
}

/// What was measured of any of these drives, the newest first.
pub(super) fn evidence(store: &Store, drives: &[&Drive]) -> Vec<Evidence> {
    let Ok((runs, _)) = store.list() else { return Vec::new() };
    let names: BTreeSet<String> = drives.iter().map(|drive| drive.identity()).collect();
    // Counted for each set of drives: many runs of one must not hide the one of all.
    let mut read: HashMap<Vec<&String>, usize> = HashMap::new();
    let newest = runs.iter().rev().filter(|run| {
        let of: Vec<&String> = run.written.keys().filter(|name| names.contains(*name)).collect();
        let any = !of.is_empty();
        let count = read.entry(of).or_default();
        *count += 1;
        any && *count <= NEWEST
    });
    let findings = newest.filter_map(|run| crate::cli::stored::findings(store, &run.run).ok());
    findings.flat_map(|findings| Evidence::of(&findings)).collect()
}

/// The newest speed of sequential writes of exactly these drives at once, in the bays where they are now.
pub(super) fn measured(all: &[Evidence], inventory: &Inventory, group: &[&Drive]) -> Option<Measured> {
    let (found, writes) = at_once(all, inventory, group, Direction::Write).next()?;
    Some(Measured { run: found.run.clone(), writes: writes.clone() })
}

/// Sequential loads on exactly these drives at once, in the bays where they are now, with the sum of their speeds.
pub(super) fn at_once<'a>(
    all: &'a [Evidence],
    inventory: &'a Inventory,
    group: &'a [&Drive],
    direction: Direction,
) -> impl Iterator<Item = (&'a Evidence, &'a Estimate)> {
    let is = move |found: &&Evidence| {
        let load = found.load.as_ref();
        let is =
            load.is_some_and(|l| (l.direction, l.pattern) == (Some(direction), Some(Pattern::Sequential)));
        found.at_once && is && is_of_here(found, inventory, group)
    };
    all.iter().filter(is).filter_map(|found| Some((found, found.speed()?)))
}

/// Whether it is of exactly these drives, in the bays of this machine where they are now.
pub(super) fn is_of_here(found: &Evidence, inventory: &Inventory, drives: &[&Drive]) -> bool {
    let then: BTreeSet<_> = found.drives.iter().cloned().zip(found.bays.iter().cloned()).collect();
    let now = drives.iter().map(|drive| (drive.identity(), drive.full_bay())).collect();
    let here = then == now && found.board == inventory.machine.board;
    here && !found.indirect && (!found.modelled || inventory.machine.lab.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        advise::testing::{at_once as found_at_once, load, within},
        inventory::fixtures,
    };

    fn said(inventory: &Inventory, names: &[&str], layout: Layout, evidence: Option<&Evidence>) -> String {
        let find = |name: &&str| inventory.drives.iter().find(|drive| drive.name == *name).expect("a drive");
        let drives: Vec<&Drive> = names.iter().map(find).collect();
        let measured = |group: &[&Drive]| measured(std::slice::from_ref(evidence?), inventory, group);
        sentences(inventory, &drives, layout, measured)
    }

    #[test]
    fn what_drives_share_is_said_with_what_was_measured_of_them() {
        let pi = fixtures::pi_zero().inventory();
        let sticks = ["sda", "sdb", "sdc", "sdd"];
        let writes = |drives: &[&str]| {
            found_at_once(&pi, "r42", drives, load(false, 1 << 20, 1), within(35.0, 0.05), 40.0)
        };
        let all = said(&pi, &sticks, Layout::Raid10, Some(&writes(&sticks)));
        assert_eq!(
            all,
            "All 4 drives are behind one hub, hub 1: the hub is one failure for all of them, and they share its \
             speed. At once they write 35.0 MB/s ±5.0 % (measured: r42).\n"
        );
        // Of other drives, of reads, or in other bays, it says nothing of these.
        assert!(!said(&pi, &sticks, Layout::Raid10, Some(&writes(&sticks[..3]))).contains("MB/s"));
        let reads = found_at_once(&pi, "r43", &sticks, load(true, 1 << 20, 1), within(35.0, 0.05), 40.0);
        assert!(!said(&pi, &sticks, Layout::Raid10, Some(&reads)).contains("MB/s"));
        let moved = Evidence { bays: vec![String::new(); 4], ..writes(&sticks) };
        assert!(!said(&pi, &sticks, Layout::Raid10, Some(&moved)).contains("MB/s"));
        let two = said(&pi, &sticks[..2], Layout::Raid0, None);
        assert!(
            two.starts_with("Both drives are behind one hub") && two.contains("and they share its speed.")
        );
    }

    #[test]
    fn drives_on_one_controller_with_links_of_their_own_share_only_its_failure() {
        let pc = fixtures::pc().inventory();
        assert_eq!(
            said(&pc, &["sda", "sdb"], Layout::Raid1, None),
            "Both drives are on one SATA controller, SATA: the controller is one failure for all of them.\n"
        );
        assert_eq!(said(&pc, &["sda", "nvme0n1"], Layout::Raid1, None), "", "nothing is shared");
    }

    #[test]
    fn drives_of_a_virtual_machine_may_be_on_one_disk() {
        let machine = fixtures::virtual_machine().inventory();
        let text = said(&machine, &["vda"], Layout::Linear, None);
        assert!(
            text.ends_with("virtual or for tests: all may be on one disk, which fails as a whole.\n"),
            "{text}"
        );
    }
}
