//! Reads files of a machine for an archive that the inventory does not use.

use super::Inventory;
use crate::sysroot::Sysroot;

/// Files that help people to read a capture.
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

pub fn read_extra_files(root: &Sysroot, inventory: &Inventory) {
    for file in PROC {
        root.text(&format!("/proc/{file}"));
    }
    root.text("/proc/sys/kernel/hostname");
    for drive in &inventory.drives {
        let dir = format!("/sys/block/{}", drive.name);
        for file in root.list(&format!("{dir}/queue")) {
            root.text(&format!("{dir}/queue/{file}"));
        }
        let block = BLOCK.map(|file| format!("{dir}/{file}"));
        let device = DEVICE.map(|file| format!("{dir}/device/{file}"));
        block.iter().chain(&device).for_each(|file| drop(root.text(file)));
    }
    let usb = inventory.drives.iter().filter_map(|drive| Some(drive.usb.as_ref()?.device.clone()));
    for device in usb.chain(inventory.buses.iter().filter_map(|bus| bus.device.clone())) {
        for file in USB {
            root.text(&format!("/sys/bus/usb/devices/{device}/{file}"));
        }
    }
}
