//! The free space of a filesystem as what is tested: files that hold nearly all of it, and are removed afterwards.

use std::{collections::BTreeMap, fs::File, io, os::unix::fs::FileExt};

use rustix::{
    fs::syncfs,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use serde::{Deserialize, Serialize};

use super::{
    super::{PlanError, target_checks::fits},
    options::FILL,
    probe::Sizes,
};
use crate::{
    danger,
    engine::{Aligned, Cancel},
    plan::Consent,
    run::Folder,
    stamped::{BLOCK, Medium},
    target::Target,
    tools::{Runner, System, filefrag},
    units::decimal_bytes,
};

/// Filesystems that reserve blocks for files without writing them, and do direct I/O.
const RESERVING: [&str; 4] = ["ext4", "xfs", "btrfs", "vfat"];

/// The drive whose free space is tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FreeSpace {
    /// Model, serial and bay.
    pub drive: String,
    /// What a person types as consent: the serial.
    pub word: String,
    /// The size that the drive claims, bytes.
    pub drive_bytes: u64,
}

impl FreeSpace {
    /// With the bytes that files may take, of which a test needs `least`.
    pub fn of(target: &Target, least: u64) -> Result<(Self, u64), PlanError> {
        let no = |why: String| PlanError::Unsuitable { path: target.path.clone(), why };
        let [drive] = &target.drives[..] else {
            return Err(no("it is not on one known drive: name a directory that is on one".to_owned()));
        };
        let mount = target.mount.clone().unwrap_or_default();
        let whole = "unmount it, and test the whole drive";
        // Encryption counts, too: it hides a stamp in the place of another.
        if !target.layers.is_empty() {
            let layers = target.layers.join(", ");
            return Err(no(format!(
                "{layers} is between it and the drive, and blocks may be moved: {whole}"
            )));
        }
        if !RESERVING.contains(&mount.filesystem.as_str()) {
            let filesystem = if mount.filesystem.is_empty() { "its filesystem" } else { &mount.filesystem };
            return Err(no(format!("{filesystem} can't reserve the blocks of files: {whole}")));
        }
        if let Some(option) = mount.options.iter().find(|option| option.starts_with("compress")) {
            return Err(no(format!("it compresses files ({option}): {whole}")));
        }
        let free = fits(target, least)?;
        let (word, drive_bytes) = (danger::consent(drive), drive.bytes());
        Ok((Self { drive: drive.label(), word, drive_bytes }, free))
    }

    /// What is tested, such as `tests 41 GB of 62 GB: the free space`.
    pub fn describe(&self, bytes: u64) -> String {
        format!("tests {} of {}: the free space", decimal_bytes(bytes), decimal_bytes(self.drive_bytes))
    }

    pub fn consent(&self, bytes: u64) -> Consent {
        let warning =
            "If the drive's size is false, this can overwrite old files on it: copy them elsewhere first.";
        let act = format!("fill {} of the free space of {}", decimal_bytes(bytes), self.drive);
        Consent { option: FILL.name(), word: self.word.clone(), act, warnings: vec![warning.to_owned()] }
    }
}

/// Files of equal size, one after the other. They have no journal entry of their own: that of their folder removes them.
pub(super) struct Files {
    files: Vec<File>,
    /// Blocks of each.
    each: u64,
}

impl Files {
    pub fn reserve(folder: &mut Folder, bytes: u64, cancel: &Cancel) -> io::Result<(Self, Sizes)> {
        let blocks = bytes / BLOCK as u64;
        let sizes = Sizes::USUAL.of_files(blocks);
        let each = sizes.file.unwrap_or(blocks);
        // Each stays open. Where the limit can't be raised, opening them fails.
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        let files = folder.reserve(blocks / each, each * BLOCK as u64, cancel)?;
        let this = Self { files: in_order(folder, files), each };
        match this.blocks() < 3 * sizes.overflow {
            true => Err(io::Error::other("most of the free space could not be reserved: free some more")),
            false => Ok((this, sizes)),
        }
    }

    /// The file of a block, and where it begins in it, bytes.
    fn at(&self, block: u64) -> (&File, u64) {
        (&self.files[(block / self.each) as usize], block % self.each * BLOCK as u64)
    }
}

/// The files in the order of their places on the drive, as far as filefrag knows them: the first ones overflow the cache, and addresses
/// that wrap around lead to the beginning of the drive.
fn in_order(folder: &Folder, files: Vec<File>) -> Vec<File> {
    let path = |number: usize| folder.path().join(number.to_string()).to_string_lossy().into_owned();
    let paths: Vec<String> = (0..files.len()).map(path).collect();
    let said = System::default().ask(&filefrag::parts(&paths)).map(|said| said.stdout).unwrap_or_default();
    let found = filefrag::read(&said).into_iter();
    let places: BTreeMap<String, u64> =
        found.filter_map(|(path, parts)| Some((path, parts.first()?.0))).collect();
    let mut placed: Vec<_> = paths.iter().map(|path| places.get(path)).zip(files).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, file)| file).collect()
}

impl Medium for Files {
    fn blocks(&self) -> u64 {
        self.files.len() as u64 * self.each
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let (file, offset) = self.at(at);
        let mut buffer = Aligned::new(into.len());
        let read = file.read_at(&mut buffer, offset)?;
        // Beyond the end of a file nothing was written yet.
        buffer[read..].fill(0);
        into.copy_from_slice(&buffer);
        Ok(())
    }

    fn write(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        let (file, offset) = self.at(at);
        let mut buffer = Aligned::new(data.len());
        buffer.copy_from_slice(data);
        file.write_all_at(&buffer, offset).map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull => io::Error::other("the filesystem has no room for what it reserved"),
            _ => e,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        syncfs(&self.files[0])?;
        self.files[0].sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Drive, Mount};

    fn target(filesystem: &str, options: &[&str], drives: usize) -> Target {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let mount = Mount { filesystem: filesystem.to_owned(), options, ..Mount::default() };
        let drive = Drive { serial: Some("S1".to_owned()), sectors: 120 << 20, ..Drive::default() };
        let (free, capacity) = (Some(41 << 30), Some(60 << 30));
        Target { mount: Some(mount), drives: vec![drive; drives], free, capacity, ..Target::default() }
    }

    #[test]
    fn only_free_space_that_can_be_reserved_on_one_drive_is_filled() {
        let (free_space, bytes) = FreeSpace::of(&target("ext4", &["rw"], 1), 3 << 29).expect("has room");
        assert_eq!((free_space.word.as_str(), bytes), ("S1", 38 << 30), "5 % stay free");
        let refused = |filesystem, options: &[&str], drives| {
            FreeSpace::of(&target(filesystem, options, drives), 3 << 29).expect_err("refused").to_string()
        };
        let on_loop = Target { layers: vec!["loop0".to_owned()], ..target("ext4", &[], 1) };
        let refusals = [
            refused("tmpfs", &[], 0),
            refused("nfs4", &[], 0),
            refused("btrfs", &[], 2),
            refused("btrfs", &["compress=zstd:3"], 1),
            refused("zfs", &[], 1),
            refused("exfat", &[], 1),
            FreeSpace::of(&on_loop, 3 << 29).expect_err("refused").to_string(),
        ];
        insta::assert_snapshot!(refusals.join("\n"));
    }
}
