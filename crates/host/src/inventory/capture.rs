//! Reads files of a machine for an archive that the inventory does not use.

use crate::sysroot::Sysroot;

/// Files of `/proc` that help people to read a capture.
const PROC: [&str; 8] =
    ["cmdline", "cpuinfo", "mdstat", "meminfo", "modules", "partitions", "version", "sys/kernel/hostname"];

/// Reads them, so that a recording sysroot has them.
pub fn read_extra_files(root: &Sysroot) {
    PROC.iter().for_each(|file| drop(root.text(&format!("/proc/{file}"))));
}
