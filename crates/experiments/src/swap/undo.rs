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
    if let Some(number) = zram_number(path) {
        remove_zram(number)?;
    }
    Ok(true)
}

/// A file of the run, or a device with our label, as its name may be that of another device by now. A device of zram that is not
/// labelled yet is idle and has only zeros.
fn is_area(is_own_file: bool, path: &Path) -> io::Result<bool> {
    let is_used = is_used(path)?;
    match zram_number(path) {
        _ if is_own_file => Ok(true),
        Some(_) => match File::open(path) {
            Ok(device) => Ok(is_ours(&device)? || !is_used && is_empty(&device)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        },
        None => Ok(is_used && path.starts_with("/dev") && is_ours(&File::open(path)?)?),
    }
}

/// Whether this swap area has our label.
fn is_ours(mut area: impl Read + Seek) -> io::Result<bool> {
    /// Behind the version, the last page, the bad pages and the UUID in the kernel's `union swap_header`.
    const AT: u64 = 1024 + 3 * 4 + 16;
    let mut label = Vec::new();
    area.seek(SeekFrom::Start(AT))?;
    area.take(16).read_to_end(&mut label)?;
    Ok(label.split(|byte| *byte == 0).next() == Some(LABEL.as_bytes()))
}

/// The signatures of areas, filesystems and volumes are in the first MiB.
fn is_empty(mut area: impl Read + Seek) -> io::Result<bool> {
    let mut start = Vec::new();
    area.rewind()?;
    area.take(1 << 20).read_to_end(&mut start)?;
    Ok(start.iter().all(|byte| *byte == 0))
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

/// The number of a device of zram.
fn zram_number(path: &Path) -> Option<u32> {
    path.to_str()?.strip_prefix(swap::ZRAM)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's header: version, last page, number of bad pages, UUID, label.
    #[test]
    fn an_area_of_a_run_has_its_label_and_a_device_may_be_empty() {
        let mut area = vec![0; 4096];
        area[1024..1028].copy_from_slice(&1_u32.to_le_bytes());
        area[1036..1052].fill(0xab);
        area[1052..1062].copy_from_slice(b"drivebench");
        for (content, of_run, empty) in [
            (&area[..], true, false),
            (&area[..1060], false, false),
            (&[0; 4096], false, true),
            (&[], false, true),
        ] {
            assert_eq!(is_ours(io::Cursor::new(content)).expect("a label"), of_run);
            assert_eq!(is_empty(io::Cursor::new(content)).expect("a start"), empty);
        }
    }

    #[test]
    fn only_areas_of_the_run_are_touched() {
        let is_area = |own, path: &str| super::is_area(own, Path::new(path)).expect("nothing is read");
        assert!(is_area(true, "/mnt/a/.drivebench-rabc0.scratch"));
        for other in [
            "/mnt/a/.drivebench-rxyz0.scratch",
            "/swapfile",
            "/dev/sda2",
            "/dev/zram1/../sda",
            "/dev/zram",
            "/dev/zram4294967295",
        ] {
            assert!(!is_area(false, other), "{other}");
        }
    }
}
