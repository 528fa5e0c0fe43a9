//! The disk of a guest with systemd: a copy for each machine, from which it is started as a boot loader would. It may be a modelled drive.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use crate::process;

/// The disk, in the directory of a machine.
pub(crate) const ROOT: &str = "root.ext4";

/// The initial RAM disk of the next boot, beside it.
pub(crate) const INITRD: &str = "initrd";

/// Makes the disk of a new machine at `to`.
pub(crate) fn make(guest: &Path, to: &Path) -> io::Result<()> {
    let how = ["--reflink=auto", "--sparse=always"].map(Path::new);
    process::run("cp", [how[0], how[1], &guest.join(ROOT), to]).map(drop)
}

/// The same on a drive, which keeps its size.
pub(crate) fn make_on(guest: &Path, drive: &Path) -> io::Result<()> {
    let size = drive.metadata()?.len();
    make(guest, drive)?;
    let mut file = fs::OpenOptions::new().append(true).open(drive)?;
    match file.metadata()?.len() > size {
        true => Err(io::Error::other(format!("{} is smaller than the guest's disk", drive.display()))),
        false => file.set_len(size).and_then(|()| file.flush()),
    }
}

/// Takes the initial RAM disk of the next boot from the disk, where the guest may have made a new one. A disk whose power was
/// cut is repaired first.
pub(crate) fn load(guest: &Path, disk: &Path, state: &Path) -> io::Result<()> {
    let initrd = state.join(INITRD);
    let version = fs::read_to_string(guest.join("version"))?;
    // What it does not repair fails below.
    let _ = process::run("e2fsck", [Path::new("-p"), disk]);
    let dump = format!("dump /boot/initrd.img-{} {}", version.trim(), initrd.display());
    process::run("debugfs", [Path::new("-R"), Path::new(&dump), disk])?;
    match initrd.metadata()?.len() {
        0 => Err(io::Error::other("the disk has no initial RAM disk")),
        _ => Ok(()),
    }
}
