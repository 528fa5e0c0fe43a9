//! Serial numbers and alignment.

use std::collections::BTreeMap;

use super::{Code, Finding};
use crate::{
    inventory::{Drive, Inventory, Medium},
    sysroot::is_placeholder,
    units::{listed, size},
};

/// Flash and most disks write blocks of at least 4 KiB, whatever they report.
const WRITE_BLOCK: u64 = 4096;

pub(super) fn serial(drive: &Drive) -> Option<Finding> {
    // Drives of virtual machines rarely have one, and stay where they are.
    let usb = drive.usb.is_some();
    let label = drive.label();
    let (code, what) = match &drive.serial {
        None if usb => (Code::NoSerial, format!("{} has no serial.", label.replace(" (no serial)", ""))),
        Some(serial) if is_placeholder(serial) && !drive.shared_serial => (
            Code::MadeUpSerial,
            format!("{label} has a placeholder serial, which other drives may have too."),
        ),
        _ => return None,
    };
    let advice = "Its results are stored under its bay. Keep it in that bay.";
    Some(Finding::of(code, [drive], what, advice))
}

pub(super) fn twins(inventory: &Inventory) -> Vec<Finding> {
    let mut serials: BTreeMap<&str, Vec<&Drive>> = BTreeMap::new();
    let shared = inventory.drives.iter().filter(|drive| drive.shared_serial);
    for (serial, drive) in shared.filter_map(|drive| Some((drive.serial.as_deref()?, drive))) {
        serials.entry(serial).or_default().push(drive);
    }
    let of_serial = |(serial, same): (&str, Vec<&Drive>)| {
        let bays: Vec<&str> =
            same.iter().map(|drive| drive.bay.as_ref().unwrap_or(&drive.name).as_str()).collect();
        let what = format!("The drives in bays {} have the same serial, {serial}.", listed(&bays));
        let advice = "They are identified by bay. Keep them in their bays, and name them as bay:PORT.";
        Finding::of(Code::SharedSerial, same, what, advice)
    };
    let twins = serials.into_iter().map(|(serial, same)| (serial, inventory.hardware(same)));
    twins.filter(|(_, same)| same.len() > 1).map(of_serial).collect()
}

/// Partitions that cause read-modify-write. Only those with a known signature are checked: an extended partition or that of a boot
/// loader is rarely written to.
pub(super) fn alignment(drive: &Drive) -> Vec<Finding> {
    let physical = u64::from(drive.physical_block.max(drive.logical_block));
    let unit = if drive.medium == Medium::Flash { physical.max(WRITE_BLOCK) } else { physical };
    let mut found = Vec::new();
    for part in drive.partitions.iter().filter(|part| part.content.filesystem.is_some()) {
        let off = part.start.saturating_mul(512) % unit;
        if off != 0 {
            let (name, label, block) = (&part.name, drive.label(), size(unit));
            let what = format!(
                "{name} on {label} starts {off} B into a block of {block}: each write touches two blocks."
            );
            let advice = "Recreate the partition at a multiple of 1 MiB, the default of parted and fdisk.";
            found.push(Finding::of(Code::MisalignedPartition, [drive], what, advice));
        }
    }
    found
}
