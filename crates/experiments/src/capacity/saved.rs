//! Blocks that the test replaced, kept in the store until they are back on their drive.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::probe::{Saved, restore};
use crate::{
    danger::{Claim, consent},
    inventory::Inventory,
    record::{AtomicFile, PRIVATE, keep_for_root},
    run::{Left, Undo, open_trusted},
    stamped::{BLOCK, Device},
    sysroot::Sysroot,
};

/// Blocks of a drive are about to be replaced by stamps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StampedBlocks {
    /// The identity of the drive.
    pub drive: String,
    pub salt: u64,
    /// The file with the blocks.
    pub file: PathBuf,
}

crate::kind!("capacity.blocks", StampedBlocks as Undo);

impl Undo for StampedBlocks {
    fn path(&self) -> PathBuf {
        self.file.clone()
    }

    fn needs_root(&self) -> bool {
        true
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1800)
    }

    fn undo(&self, left: &Left) -> io::Result<bool> {
        let name = self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with(&format!("{}.saved", left.run)) {
            return Ok(false);
        }
        // Stamps are written only once the file is there.
        let saved = match read(&self.file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            saved => saved?,
        };
        let inventory = Inventory::read(&Sysroot::live());
        let drive = inventory.drive(&self.drive).ok_or_else(|| {
            io::Error::other(format!(
                "{} is not plugged in, and its saved blocks must be restored",
                self.drive
            ))
        })?;
        let label = drive.label();
        let claim = Claim::take(&self.drive, &[consent(drive)]).map_err(io::Error::other)?;
        let mut device = Device::open(&claim)?;
        let restored = restore(&mut device, self.salt, &saved)?;
        if restored.failed > 0 {
            return Err(io::Error::other(format!("{} blocks of {label} can't be restored", restored.failed)));
        }
        if restored.is_elsewhere(&saved) {
            let why = format!("{label} has no such blocks: it is another drive, or was written since");
            return Err(io::Error::other(why));
        }
        fs::remove_file(&self.file)?;
        Ok(true)
    }

    fn report(&self, ended: &str) -> String {
        format!("Restored the blocks of {} that were overwritten by {ended}.", self.drive)
    }
}

/// Writes the blocks to a file that only root can read.
pub(super) fn write(path: &Path, saved: &Saved) -> io::Result<()> {
    let new = AtomicFile::create(path, PRIVATE)?;
    keep_for_root(new.file())?;
    let mut file = io::BufWriter::new(new.file());
    for (at, block) in saved {
        file.write_all(&at.to_le_bytes())?;
        file.write_all(block)?;
    }
    file.flush()?;
    drop(file);
    new.keep_new().map(drop)
}

fn read(path: &Path) -> io::Result<Saved> {
    let file = open_trusted(path, OFlags::RDONLY)?;
    if file.metadata()?.uid() != 0 {
        return Err(io::Error::other("root does not own it: check it first"));
    }
    let mut all = Vec::new();
    io::BufReader::new(file).read_to_end(&mut all)?;
    let entry =
        |entry: &[u8]| Some((u64::from_le_bytes(entry.get(..8)?.try_into().ok()?), entry[8..].to_vec()));
    Ok(all.chunks_exact(8 + BLOCK).filter_map(entry).collect())
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_blocks_are_read_back() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("rabc.saved0");
        let saved: Saved = [(3, vec![1; BLOCK]), (9, vec![2; BLOCK])].into();
        write(&path, &saved).expect("writes");
        assert!(write(&path, &saved).is_err(), "it replaces nothing");
        let known = read(&path);
        match rustix::process::geteuid().is_root() {
            true => assert_eq!(known.expect("reads"), saved),
            false => assert!(known.is_err(), "only root's files are believed"),
        }
    }
}
