//! What a loop device reads and writes.
#![allow(unsafe_code)]

use std::{fs::File, io};

use rustix::ioctl::{Getter, ioctl};

/// `LOOP_GET_STATUS64` of <linux/loop.h>.
const GET_STATUS64: rustix::ioctl::Opcode = 0x4c05;

/// `struct loop_info64`, of which all but the first three numbers are left as they are.
#[repr(C)]
struct Status {
    _filesystem: u64,
    _inode: u64,
    device: u64,
    _rest: [u64; 26],
}

/// The number of the block device behind an attached loop device; 0 if that is a file.
pub fn backing_device(device: &File) -> io::Result<u64> {
    // SAFETY: the kernel fills in `Status`, which has the size of `struct loop_info64` and no invalid values.
    let status: Status = unsafe { ioctl(device, Getter::<GET_STATUS64, Status>::new()) }?;
    Ok(status.device)
}

const _: () = assert!(size_of::<Status>() == 232);
