//! Undoes what a killed run left of a swap test.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::{
    area::{is_used, named, remove_zram},
    group,
    kernel::set,
    watch::ZSWAP,
};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::{
    engine::swap_file,
    run::{
        journal::{Left, Undo},
        scratch_name,
    },
    tools::{
        System,
        swap::{self, LABEL},
    },
};

/// Undoes it; returns what it was, if it was there. Whoever can write to the store can edit a journal, so only what has the name of
/// the run is touched.
pub fn undo(left: &Left, run: &str) -> io::Result<Option<PathBuf>> {
    match &left.undo {
        Undo::Swap { path } if is_area(run, path)? => {
            if scratch_name::is_of(run, path, scratch_name::FILE) {
                let Some(at) = named(path.file_name().unwrap_or_default())? else { return Ok(None) };
                match end(&at) {
                    // The kernel names it by a mount that is gone; it may be mounted again.
                    Err(e) if e.kind() == io::ErrorKind::NotFound && at != *path => end(path)?,
                    ended => ended?,
                }
                // Where it was made it is removed, and named, after that.
                let is_elsewhere = at != *path && fs::remove_file(&at).is_ok();
                return Ok(is_elsewhere.then_some(at));
            }
            if is_used(path)? {
                let off = swap::off(&path.to_string_lossy());
                let said = off.run(left, &System::default()).map_err(io::Error::other)?;
                if said.code != Some(0) {
                    return Err(io::Error::other(said.complaint()));
                }
            }
            let Some(number) = zram(path) else { return Ok(Some(path.clone())) };
            let was_there = path.exists();
            remove_zram(number).map(|()| was_there.then(|| path.clone()))
        }
        Undo::Group { dir } if group::is_of(run, dir) && dir.exists() => {
            group::remove(dir).map(|()| Some(dir.clone()))
        }
        Undo::ZswapOff => set(ZSWAP, "N").map(|()| Some(ZSWAP.into())),
        _ => Ok(None),
    }
}

/// A file of the run, a device of zram, or a device that the kernel swaps to and that has our label.
fn is_area(run: &str, path: &Path) -> io::Result<bool> {
    let is_ours = || Ok(label(&mut File::open(path)?)? == LABEL);
    match (scratch_name::is_of(run, path, scratch_name::FILE), is_used(path)?, zram(path)) {
        (true, ..) => Ok(true),
        // Its number may be that of another one by now.
        (_, true, _) if path.starts_with("/dev") => is_ours(),
        (_, false, Some(_)) => Ok(true),
        _ => Ok(false),
    }
}

/// The kernel swaps to a file no more; not what somebody put in its place.
fn end(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => swap_file::off(&file),
        false => Err(io::Error::other(format!("{} is no file", path.display()))),
    }
}

/// The label of a swap area.
fn label(area: &mut (impl Read + Seek)) -> io::Result<String> {
    /// Behind the version, the last page, the bad pages and the UUID in the kernel's `union swap_header`.
    const AT: u64 = 1024 + 3 * 4 + 16;
    let mut label = [0; 16];
    area.seek(SeekFrom::Start(AT))?;
    area.read_exact(&mut label)?;
    let end = label.iter().position(|byte| *byte == 0).unwrap_or(label.len());
    Ok(String::from_utf8_lossy(&label[..end]).into_owned())
}

/// The number of a device of zram.
fn zram(path: &Path) -> Option<u32> {
    path.to_str()?.strip_prefix("/dev/zram")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's header: version, last page, number of bad pages, UUID, label.
    #[test]
    fn the_label_of_an_area_is_found() {
        let mut area = vec![0; 4096];
        area[1024..1028].copy_from_slice(&1_u32.to_le_bytes());
        area[1036..1052].fill(0xab);
        area[1052..1062].copy_from_slice(b"drivebench");
        assert_eq!(label(&mut io::Cursor::new(&area)).expect("a label"), LABEL);
        assert!(label(&mut io::Cursor::new(&area[..1060])).is_err(), "too short");
    }

    #[test]
    fn only_areas_of_the_run_are_touched() {
        let is_area = |path: &str| super::is_area("rabc", Path::new(path)).expect("nothing is read");
        assert!(is_area("/mnt/a/.drivebench-rabc0.scratch") && is_area("/dev/zram1"));
        for other in
            ["/mnt/a/.drivebench-rxyz0.scratch", "/swapfile", "/dev/sda2", "/dev/zram1/../sda", "/dev/zram"]
        {
            assert!(!is_area(other), "{other}");
        }
    }
}
