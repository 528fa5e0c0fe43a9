//! Removes open files and directories, wherever they were moved, and nothing that was put in their place.

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat, unlinkat},
    path::Arg,
};

pub(super) fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// The directory that holds this path; links in the path were resolved before.
pub(super) fn above(path: &Path) -> io::Result<File> {
    let above = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(File::from(openat(CWD, above, directory(), Mode::empty())?))
}

/// The path where it is now.
pub(super) fn path_of(held: &File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd())).ok()
}

/// Whether this name in this directory is the held file.
fn is(held: &File, dir: &File, name: impl Arg) -> io::Result<bool> {
    let (held, there) = (fstat(held)?, statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?);
    Ok((held.st_dev, held.st_ino) == (there.st_dev, there.st_ino))
}

/// Removes a file that was created at `path`; `NotFound` if it was removed before.
pub(super) fn remove_file(held: &File, dir: &File, path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    if is(held, dir, name).unwrap_or(false) {
        return Ok(unlinkat(dir, name, AtFlags::empty())?);
    }
    if fstat(held)?.st_nlink == 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    let now = path_of(held).ok_or_else(moved)?;
    match (above(&now)?, now.file_name().ok_or_else(moved)?) {
        (dir, name) if is(held, &dir, name)? => Ok(unlinkat(&dir, name, AtFlags::empty())?),
        _ => Err(moved()),
    }
}

/// Removes an empty directory that was created with this name; `NotFound` if it was removed before.
pub(super) fn remove_dir(held: &File, path: &Path) -> io::Result<()> {
    // Opened through the directory itself, because it may have been moved.
    let above = File::from(openat(held, "..", directory(), Mode::empty())?);
    if let Some(name) = path.file_name().filter(|name| is(held, &above, *name).unwrap_or(false)) {
        return Ok(unlinkat(&above, name, AtFlags::REMOVEDIR)?);
    }
    for entry in Dir::read_from(&above)? {
        let entry = entry?;
        let directory = [FileType::Directory, FileType::Unknown].contains(&entry.file_type());
        if directory && is(held, &above, entry.file_name()).unwrap_or(false) {
            return Ok(unlinkat(&above, entry.file_name(), AtFlags::REMOVEDIR)?);
        }
    }
    // On some filesystems, a removed directory still has a parent.
    Err(if fstat(held)?.st_nlink == 0 { io::ErrorKind::NotFound.into() } else { moved() })
}

fn moved() -> io::Error {
    io::Error::other("it was moved, and can't be found")
}
