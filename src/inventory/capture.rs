//! Takes what was looked at of a machine into an archive.

use std::fs;

use super::{
    Archive, Inventory, Sysroot,
    archive::{LONGEST, Node},
};

/// Files that tell a person more than the inventory reads today.
const PROC: [&str; 12] = [
    "cmdline",
    "cpuinfo",
    "diskstats",
    "filesystems",
    "loadavg",
    "mdstat",
    "meminfo",
    "modules",
    "partitions",
    "stat",
    "uptime",
    "version",
];
const BLOCK: [&str; 7] =
    ["alignment_offset", "capability", "discard_alignment", "events", "range", "stat", "uevent"];
const DEVICE: [&str; 8] = ["rev", "firmware_rev", "state", "type", "csd", "scr", "hwrev", "fwrev"];
const USB: [&str; 12] = [
    "bConfigurationValue",
    "bDeviceClass",
    "bcdDevice",
    "busnum",
    "devnum",
    "devpath",
    "maxchild",
    "product",
    "power/autosuspend_delay_ms",
    "power/runtime_status",
    "quirks",
    "rx_lanes",
];

/// Looks at more of the machine than the inventory did, so that an archive of it serves later questions too.
pub fn look_around(root: &Sysroot, inventory: &Inventory) {
    for file in PROC {
        root.text(&format!("/proc/{file}"));
    }
    root.text("/proc/sys/kernel/hostname");
    for drive in &inventory.drives {
        let dir = format!("/sys/block/{}", drive.name);
        for file in root.list(&format!("{dir}/queue")) {
            root.text(&format!("{dir}/queue/{file}"));
        }
        let files = BLOCK.iter().map(|file| format!("{dir}/{file}"));
        files
            .chain(DEVICE.iter().map(|file| format!("{dir}/device/{file}")))
            .for_each(|file| drop(root.text(&file)));
    }
    let usb = inventory.drives.iter().filter_map(|drive| Some(drive.usb.as_ref()?.device.clone()));
    for device in usb.chain(inventory.buses.iter().filter_map(|bus| bus.device.clone())) {
        for file in USB {
            root.text(&format!("/sys/bus/usb/devices/{device}/{file}"));
        }
    }
}

impl Archive {
    /// All that was asked of `root` since it is watched, with the links on the way.
    pub fn of(root: &Sysroot) -> Self {
        let mut archive = Self::default();
        for path in root.asked() {
            archive.take(root, &path);
        }
        archive
    }

    fn take(&mut self, root: &Sysroot, path: &str) {
        let Some(inside) = self.take_links(root, path) else { return };
        let Some(outside) = root.on_disk(&inside) else { return };
        let Ok(about) = fs::metadata(&outside) else { return };
        if about.is_file() {
            let bytes = root.read(&inside, LONGEST).unwrap_or_default();
            self.insert(inside, Node::File(bytes));
        } else if about.is_dir() {
            // Names in a directory are facts of their own: holders, members, drives.
            for name in root.list(&inside) {
                let (below, entry) = (format!("{inside}/{name}"), outside.join(&name));
                match fs::symlink_metadata(&entry) {
                    Ok(about) if about.is_dir() => self.insert(below, Node::Directory),
                    Ok(about) if about.is_symlink() => self.take_link(&below, &entry),
                    _ => {}
                }
            }
            self.insert(inside, Node::Directory);
        }
    }

    /// Takes the links on the way to a path, and the path itself where it is one that leads nowhere.
    fn take_links(&mut self, root: &Sysroot, path: &str) -> Option<String> {
        let mut links = Vec::new();
        let end = root.follow(path, &mut |at, target| links.push((at.to_owned(), target.to_owned())));
        for (at, target) in links {
            if let (Some(at), Some(target)) = (at.to_str(), target.to_str()) {
                self.insert(at.to_owned(), Node::Link(target.to_owned()));
            }
        }
        end?.to_str().filter(|path| *path != "/").map(str::to_owned)
    }

    fn take_link(&mut self, path: &str, entry: &std::path::Path) {
        if let Some(target) = fs::read_link(entry).ok().and_then(|target| target.to_str().map(str::to_owned))
        {
            self.insert(path.to_owned(), Node::Link(target));
        }
    }
}
