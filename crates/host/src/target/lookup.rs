//! Finds a drive by bay, serial, identity or label.

use std::path::Path;

use super::TargetError;
use crate::inventory::{Block, Drive, Inventory, Mount};

const PREFIXES: [&str; 3] = ["bay:", "serial:", "label:"];

pub(super) fn has_prefix(text: &str) -> bool {
    PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// The path of a named drive or filesystem, see [`super::Target::resolve`].
pub(super) fn find(inventory: &Inventory, name: &str) -> Result<String, TargetError> {
    let (prefix, wanted) = name.split_once(':').filter(|_| has_prefix(name)).unwrap_or(("", name));
    let is_one_of =
        |values: [Option<&str>; 3]| values.into_iter().flatten().any(|v| v.eq_ignore_ascii_case(wanted));
    let by_bay =
        |drive: &Drive| is_one_of([drive.bay.as_deref(), Some(&drive.full_bay()), drive.bay_name.as_deref()]);
    let by_serial =
        |drive: &Drive| is_one_of([drive.serial.as_deref(), drive.wwid.as_deref(), Some(&drive.identity())]);
    let by_label = |block: &Block<'_>| block.content().label.as_deref() == Some(wanted);
    let named = |block: &Block<'_>| match (prefix, block) {
        ("bay", Block::Drive(drive)) => by_bay(drive),
        ("serial", Block::Drive(drive)) => by_serial(drive),
        ("bay" | "serial", _) => false,
        ("", Block::Drive(drive)) => by_serial(drive) || by_label(block),
        _ => by_label(block),
    };
    let mut found: Vec<Block<'_>> = inventory.blocks().filter(named).collect();
    // The members of a btrfs carry its label too.
    let members = |block: &Block<'_>| match block {
        Block::Layer(layer) => layer.members.clone(),
        _ => Vec::new(),
    };
    let spanned: Vec<String> = found.iter().flat_map(members).collect();
    found.retain(|block| !spanned.iter().any(|member| member == block.name()));
    let shown: String = name.escape_debug().take(300).collect();
    match found[..] {
        [block] => Ok(mount_point_or_node(inventory, block)),
        [] => {
            let link = format!("/dev/disk/by-id/{name}");
            let is_link = !name.is_empty() && !name.contains(['/', '\0']) && Path::new(&link).exists();
            let named = |drive: &Drive| match &drive.serial {
                Some(serial) if !drive.shared_serial => serial.clone(),
                _ => format!("bay:{}", drive.full_bay()),
            };
            let candidates = inventory.drives.iter().map(named).collect();
            if is_link { Ok(link) } else { Err(TargetError::Unknown { name: shown, candidates }) }
        }
        _ => {
            let candidate = |&block: &Block<'_>| match block {
                Block::Drive(drive) => format!("{} as bay:{}", drive.label(), drive.full_bay()),
                Block::Partition(drive, _) => format!("{} on {}", node(inventory, block), drive.label()),
                Block::Layer(_) => node(inventory, block),
            };
            Err(TargetError::Ambiguous { name: shown, candidates: found.iter().map(candidate).collect() })
        }
    }
}

/// The mount point of a block device if it is mounted once and writable, else its node.
fn mount_point_or_node(inventory: &Inventory, block: Block<'_>) -> String {
    let carries = |mount: &&Mount| match block {
        Block::Drive(drive) => inventory.drives_of(mount) == [drive] && !inventory.is_in_a_file(mount),
        _ => inventory.blocks_of(mount) == [block],
    };
    let mut mounts: Vec<&Mount> = Vec::new();
    for mount in inventory.mounts.iter().filter(|mount| mount.filesystem != "overlay").filter(carries) {
        match mounts.iter_mut().find(|seen| seen.device == mount.device) {
            // If a filesystem has several mounts, take the one closest to its root, not a bind mount.
            Some(seen) if seen.root.len() > mount.root.len() => *seen = mount,
            Some(_) => {}
            None => mounts.push(mount),
        }
    }
    match mounts[..] {
        [mount] if !mount.read_only() => mount.path.clone(),
        _ => node(inventory, block),
    }
}

/// The device node; for btrfs, which has none, that of its first member.
fn node(inventory: &Inventory, block: Block<'_>) -> String {
    let Block::Layer(layer) = block else { return block.path() };
    let first = layer.members.first().filter(|_| layer.device == (0, 0));
    let member = first.and_then(|name| inventory.blocks().find(|block| block.name() == name));
    member.unwrap_or(block).path()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures;

    #[test]
    fn a_drive_with_one_filesystem_resolves_to_its_mount_point() {
        let inventory = fixtures::pi_zero().inventory();
        for name in ["bay:1.1", "4C530001", "4c530001", "serial:4C530001", "label:media 1", "media 1"] {
            assert_eq!(find(&inventory, name).expect(name), "/mnt/a", "{name}, not the bind mount");
        }
        assert_eq!(find(&inventory, "4C530001+121077760").expect("an identity"), "/mnt/a");
    }

    #[test]
    fn other_drives_resolve_to_their_device() {
        let inventory = fixtures::pi_zero().inventory();
        assert_eq!(find(&inventory, "bay:1.2").expect("not mounted"), "/dev/sdc");
        assert_eq!(find(&inventory, "label:EFI").expect("not mounted"), "/dev/sdb1");
        assert_eq!(find(&inventory, "bay:SD slot").expect("mounted twice"), "/dev/mmcblk0");
        let inventory = fixtures::pi_4().inventory();
        assert_eq!(find(&inventory, "bootfs").expect("read-only"), "/dev/mmcblk0p1");
        assert_eq!(find(&inventory, "S6PUNX0R123456A").expect("btrfs"), "/srv/data");
        let inventory = fixtures::pc().inventory();
        assert_eq!(find(&inventory, "label:archive").expect("a raid's filesystem"), "/srv");
        assert_eq!(find(&inventory, "WD-WCC7K1234567").expect("half of a raid"), "/dev/sda");
    }

    #[test]
    fn an_ambiguous_name_is_refused() {
        let inventory = fixtures::twins().inventory();
        let error = find(&inventory, "0123456789ABCDEF").expect_err("ambiguous");
        assert_eq!(
            error.to_string(),
            "'0123456789ABCDEF' matches 2 drives: \
             UDisk 0123456789ABCDEF in bay 3 as bay:0000:00:14.0-usbv2-3; \
             UDisk 0123456789ABCDEF in bay 10 as bay:0000:00:14.0-usbv2-10"
        );
        assert!(matches!(find(&inventory, "DATA"), Err(TargetError::Ambiguous { .. })));
        assert!(matches!(find(&inventory, "bay:3"), Err(TargetError::Ambiguous { .. })));
        assert_eq!(find(&inventory, "bay:0000:00:14.0-usbv3-3").expect("in full"), "/dev/sdc");
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = find(&fixtures::twins().inventory(), "sda").expect_err("an accident of boot order");
        assert_eq!(error.to_string(), "'sda' is not a path, serial, label or bay of a drive on this machine");
        assert_eq!(
            error.hint(),
            "use a path, or one of: bay:0000:00:14.0-usbv2-3, bay:0000:00:14.0-usbv2-10, bay:0000:00:14.0-usbv3-3"
        );
        for name in ["", "bay:", "serial:", "label:", "../x", "\u{1b}[31m"] {
            let error = find(&fixtures::pi_zero().inventory(), name).expect_err("no name");
            assert!(!error.to_string().contains('\u{1b}'));
        }
    }
}
