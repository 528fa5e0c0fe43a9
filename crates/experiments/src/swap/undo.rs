//! How the changes of a swap test are undone after a kill.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use super::{
    area::{is_used, named, remove_zram},
    group::{self, set},
    watch::ZSWAP,
};
use crate::{
    engine::swap_file,
    run::{Left, Undo},
    tools::{
        System,
        swap::{self, LABEL},
    },
};

/// How long the kernel may take to read what is in an area; little is, once the program has ended.
const PATIENCE: Duration = Duration::from_secs(120);

/// The kernel swaps to this file or device. A device of zram is removed, too.
#[derive(Debug, Serialize, Deserialize)]
pub struct SwapInUse {
    pub path: PathBuf,
}

/// A control group, in which processes may run.
#[derive(Debug, Serialize, Deserialize)]
pub struct ControlGroup {
    pub dir: PathBuf,
}

/// zswap was off, and is on.
#[derive(Debug, Serialize, Deserialize)]
pub struct ZswapOn {}

crate::kind!("swap.area", SwapInUse as Undo);

impl Undo for SwapInUse {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn is_in_kernel(&self) -> bool {
        true
    }

    fn device(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn undo(&self, left: &Left) -> io::Result<bool> {
        stop(&self.path, left).map_err(still_used)
    }

    fn report(&self, ended: &str) -> String {
        let path = self.path.display();
        match self.path.starts_with("/dev") && zram_number(&self.path).is_none() {
            true => format!(
                "The kernel no longer swaps to {path}, which {ended} had set up; its swap signature remains."
            ),
            false => format!("Removed {path}, left by {ended}."),
        }
    }
}

crate::kind!("swap.group", ControlGroup as Undo);

impl Undo for ControlGroup {
    fn path(&self) -> PathBuf {
        self.dir.clone()
    }

    fn is_in_kernel(&self) -> bool {
        true
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn undo(&self, left: &Left) -> io::Result<bool> {
        if !group::is_of(&left.run, &self.dir) || !self.dir.exists() {
            return Ok(false);
        }
        group::remove(&self.dir).map_err(still_used)?;
        Ok(true)
    }

    fn report(&self, ended: &str) -> String {
        let dir = self.dir.display();
        format!("Ended what ran in the control group {dir}, left by {ended}, and removed it.")
    }
}

crate::kind!("swap.zswap", ZswapOn as Undo);

impl Undo for ZswapOn {
    fn path(&self) -> PathBuf {
        ZSWAP.into()
    }

    fn is_in_kernel(&self) -> bool {
        true
    }

    fn undo(&self, _: &Left) -> io::Result<bool> {
        set(ZSWAP, "N").map_err(still_used)?;
        Ok(true)
    }

    fn report(&self, ended: &str) -> String {
        format!("Turned zswap off again, which {ended} had turned on.")
    }
}

fn still_used(e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("it is still used: {e}"))
}

/// The kernel stops swapping to an area of the run.
fn stop(path: &Path, left: &Left) -> io::Result<bool> {
    if !is_area(left.is_own_file(path), path)? {
        return Ok(false);
    }
    if left.is_own_file(path) {
        let Some(at) = named(path.file_name().unwrap_or_default())? else { return Ok(false) };
        match end(&at) {
            // The kernel names it by a mount that is gone; it may be mounted again.
            Err(e) if e.kind() == io::ErrorKind::NotFound && at != *path => end(path)?,
            ended => ended?,
        }
        // Where it was made, it is removed and named by its own entry of the journal.
        return Ok(at != *path && fs::remove_file(&at).is_ok());
    }
    if is_used(path)? {
        let off = swap::off(&path.to_string_lossy());
        let said = off.run(left, &System::default()).map_err(io::Error::other)?;
        if said.code != Some(0) {
            return Err(io::Error::other(said.complaint()));
        }
    }
    let Some(number) = zram_number(path) else { return Ok(true) };
    let was_there = path.exists();
    remove_zram(number)?;
    Ok(was_there)
}

/// A file of the run, a device of zram, or a device that the kernel swaps to and that has our label.
fn is_area(is_own_file: bool, path: &Path) -> io::Result<bool> {
    let is_ours = || Ok(label(&mut File::open(path)?)? == LABEL);
    match (is_own_file, is_used(path)?, zram_number(path)) {
        (true, ..) => Ok(true),
        // Its number may be that of another one by now.
        (_, true, _) if path.starts_with("/dev") => is_ours(),
        (_, false, Some(_)) => Ok(true),
        _ => Ok(false),
    }
}

/// The kernel stops swapping to a file, but not to what somebody put in its place.
fn end(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => swap_file::off(&file),
        false => Err(io::Error::other(format!("{} is not a file", path.display()))),
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
fn zram_number(path: &Path) -> Option<u32> {
    path.to_str()?.strip_prefix(swap::ZRAM)?.parse().ok()
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
        let is_area = |own, path: &str| super::is_area(own, Path::new(path)).expect("nothing is read");
        assert!(is_area(true, "/mnt/a/.drivebench-rabc0.scratch") && is_area(false, "/dev/zram1"));
        for other in
            ["/mnt/a/.drivebench-rxyz0.scratch", "/swapfile", "/dev/sda2", "/dev/zram1/../sda", "/dev/zram"]
        {
            assert!(!is_area(false, other), "{other}");
        }
    }
}
