//! Reads files of a machine for an archive that the inventory does not use.

use super::Inventory;
use crate::sysroot::Sysroot;

/// Files that help people to read a capture, in `/proc`, of block devices and of USB devices.
const PROC: [&str; 7] = ["cmdline", "cpuinfo", "mdstat", "meminfo", "modules", "partitions", "version"];
const BLOCK: [&str; 4] = ["events", "stat", "uevent", "device/state"];
const USB: [&str; 6] =
    ["bcdDevice", "product", "power/autosuspend_delay_ms", "power/runtime_status", "quirks", "rx_lanes"];

/// Reads them, so that a recording sysroot has them.
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
        BLOCK.iter().for_each(|file| drop(root.text(&format!("{dir}/{file}"))));
    }
    let usb = inventory.drives.iter().filter_map(|drive| Some(drive.usb.as_ref()?.device.clone()));
    for device in usb.chain(inventory.buses.iter().filter_map(|bus| bus.device.clone())) {
        for file in USB {
            root.text(&format!("/sys/bus/usb/devices/{device}/{file}"));
        }
    }
}
