//! The disk of a guest with systemd: a copy for each machine, from which it is started as a boot loader would. It may be a modelled drive.

use std::{fs, io, path::Path};

use crate::process;

/// The disk, in the directory of a machine.
pub(crate) const ROOT: &str = "root.ext4";

/// The initial RAM disk of the next boot, beside it.
pub(crate) const INITRD: &str = "initrd";

/// Makes the disk of a new machine at `disk`. An existing drive keeps its size.
pub(crate) fn make(guest: &Path, disk: &Path) -> io::Result<()> {
    let size = disk.metadata().map_or(0, |drive| drive.len());
    let how = ["--reflink=auto", "--sparse=always"].map(Path::new);
    process::run("cp", [how[0], how[1], &guest.join(ROOT), disk])?;
    let needed = disk.metadata()?.len();
    match size {
        0 => Ok(()),
        size if size < needed => {
            Err(io::Error::other(format!("{} has less than {needed} bytes", disk.display())))
        }
        size => fs::OpenOptions::new().write(true).open(disk)?.set_len(size),
    }
}

/// Takes the initial RAM disk of the next boot from the disk, where the guest may have made a new one. A disk whose power was
/// cut is repaired first.
pub(crate) fn load(guest: &Path, disk: &Path, state: &Path) -> io::Result<()> {
    let initrd = state.join(INITRD);
    let version = fs::read_to_string(guest.join("version"))?;
    // Without a repair, the next command fails.
    let _ = process::run("e2fsck", [Path::new("-p"), disk]);
    let dump = format!("dump /boot/initrd.img-{} {}", version.trim(), initrd.display());
    process::run("debugfs", [Path::new("-R"), Path::new(&dump), disk])?;
    match initrd.metadata()?.len() {
        0 => Err(io::Error::other("the disk has no initial RAM disk")),
        _ => Ok(()),
    }
}
