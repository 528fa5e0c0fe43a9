//! Undoes what a killed run left of a swap test.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    area::{is_used, remove_zram},
    group,
    kernel::set,
    watch::ZSWAP,
};
use crate::{
    run::{
        journal::{Left, Undo},
        scratch_name,
    },
    tools::{System, swap},
};

/// Undoes it; returns what it was, if it was there. Whoever can write to the store can edit a journal, so only what has the name of
/// the run is touched.
pub fn undo(left: &Left, run: &str) -> io::Result<Option<PathBuf>> {
    match &left.undo {
        Undo::Swap { path } if is_area(run, path) => {
            if is_used(path) {
                let off = swap::off(&path.to_string_lossy());
                let said = off.run(left, &System::default()).map_err(io::Error::other)?;
                if said.code != Some(0) {
                    return Err(io::Error::other(said.complaint()));
                }
            }
            // A file is removed, and named, after that.
            let Some(number) = zram(path) else { return Ok(None) };
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

/// A file of the run, or a device of zram.
fn is_area(run: &str, path: &Path) -> bool {
    scratch_name::is_of(run, path, scratch_name::FILE) || zram(path).is_some()
}

/// The number of a device of zram.
fn zram(path: &Path) -> Option<u32> {
    path.to_str()?.strip_prefix("/dev/zram")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_areas_of_the_run_are_touched() {
        assert!(is_area("rabc", Path::new("/mnt/a/.drivebench-rabc0.scratch")));
        assert!(is_area("rabc", Path::new("/dev/zram1")));
        for other in
            ["/mnt/a/.drivebench-rxyz0.scratch", "/swapfile", "/dev/sda2", "/dev/zram1/../sda", "/dev/zram"]
        {
            assert!(!is_area("rabc", Path::new(other)), "{other}");
        }
    }
}
