//! What drives are called, and how filesystems lie on them.

use super::Finding;
use crate::{
    inventory::{Block, Drive, Inventory, Medium},
    sysroot::serial_number::is_made_up,
    units::{decimal_bytes, listed, percent, size},
};

/// Flash and most disks write in blocks of 4 KiB at least, whatever they tell.
const WRITE_BLOCK: u64 = 4096;
/// A filesystem fuller than this is slow and near its end.
const FULL: f64 = 0.95;

/// No serial, or one that nobody gave this drive.
pub(super) fn serial(drive: &Drive) -> Option<Finding> {
    // Drives of a virtual machine rarely have one, and nobody unplugs them.
    let usb = drive.usb.is_some();
    let advice = "Results are kept under the bay: leave it there, or they are taken for another drive's.";
    match &drive.serial {
        None if usb => {
            let what = format!("{} tells no serial of its own.", drive.label().replace(" (no serial)", ""));
            Some(Finding::of("no-serial", [drive], what, advice))
        }
        Some(serial) if is_made_up(serial) && !drive.shared_serial => {
            let what = format!("{} has a serial that looks made up: others may have it too.", drive.label());
            Some(Finding::of("made-up-serial", [drive], what, advice))
        }
        _ => None,
    }
}

/// Drives here that have one serial.
pub(super) fn twins(inventory: &Inventory) -> Vec<Finding> {
    let mut serials: Vec<&String> = inventory
        .drives
        .iter()
        .filter(|drive| drive.shared_serial)
        .filter_map(|d| d.serial.as_ref())
        .collect();
    serials.sort();
    serials.dedup();
    let of_serial = |serial: &String| {
        let same: Vec<&Drive> =
            inventory.drives.iter().filter(|drive| drive.serial.as_ref() == Some(serial)).collect();
        let bays: Vec<String> =
            same.iter().map(|drive| drive.bay.clone().unwrap_or_else(|| drive.name.clone())).collect();
        let what = format!("The drives in bays {} have one serial, {serial}.", listed(&bays));
        let advice = "They are told apart by bay: leave them there, and name them bay:PORT.";
        Finding::of("shared-serial", same, what, advice)
    };
    serials.into_iter().map(of_serial).collect()
}

/// Partitions and filesystems that make the drive write more than asked.
pub(super) fn alignment(drive: &Drive) -> Vec<Finding> {
    let physical = u64::from(drive.physical_block.max(drive.logical_block));
    let unit = if drive.medium == Medium::Flash { physical.max(WRITE_BLOCK) } else { physical };
    let mut found = Vec::new();
    for part in &drive.partitions {
        let off = part.start.saturating_mul(512) % unit;
        if off != 0 {
            let what = format!(
                "{} on {} begins {off} B past a block of {}: writes touch two blocks each.",
                part.name,
                drive.label(),
                size(unit)
            );
            let advice = "Make the partition anew on a multiple of 1 MiB, as parted and fdisk do today.";
            found.push(Finding::of("misaligned-partition", [drive], what, advice));
        }
    }
    let parts = drive.partitions.iter().map(|part| (&part.name, &part.content));
    for (name, content) in parts.chain([(&drive.name, &drive.content)]) {
        let small = content.block_size.map(u64::from).filter(|&block| (1..physical).contains(&block));
        if let Some(block) = small {
            let filesystem = content.filesystem.as_deref().unwrap_or("filesystem");
            let what = format!(
                "The {filesystem} on {name} writes in blocks of {}, {} in blocks of {}: it reads before it writes.",
                size(block),
                drive.label(),
                size(physical)
            );
            let advice = format!("Make the filesystem anew with blocks of {} or more.", size(physical));
            found.push(Finding::of("small-blocks", [drive], what, advice));
        }
    }
    found
}

/// Filesystems with next to no room, each once however often it is mounted.
pub(super) fn full(inventory: &Inventory) -> Vec<Finding> {
    let mut seen: Vec<Block<'_>> = Vec::new();
    let mut found = Vec::new();
    for mount in &inventory.mounts {
        let Some(space) = mount.space.filter(|space| space.size > 0) else { continue };
        let used = 1.0 - space.free as f64 / space.size as f64;
        let blocks = inventory.blocks_of(mount);
        // A read-only image is always full.
        if used < FULL
            || mount.read_only()
            || blocks.is_empty()
            || blocks.iter().any(|block| seen.contains(block))
        {
            continue;
        }
        let what =
            format!("{} is {} full, {} are free.", mount.path, percent(used), decimal_bytes(space.free));
        let advice =
            "Make room before measuring: a full filesystem and a full flash drive are slower than others.";
        found.push(Finding::of("full", inventory.drives_of(mount), what, advice));
        seen.extend(blocks);
    }
    found
}
