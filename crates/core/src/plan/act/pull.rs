//! Fill a pool with files whose content is known, and take one of its drives away while they are used.

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, Step, duration_fits};
use crate::{
    run::{Execution, RunError, Troubles, act},
    units::{KIB, MIB, count, decimal_bytes, duration},
};

/// Files of many sizes, each with a content that follows from the seed, its number and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FileTree {
    /// All files together, bytes; a little more if the last file ends later.
    pub bytes: u64,
    pub seed: u64,
}

/// Fills the pool of the step's target with a tree of files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FillTree {
    pub tree: FileTree,
}

/// Takes one drive of the pool of the step's target away while files are read and written, checks what is left, brings the
/// drive back and checks again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pull {
    /// The number of the member, from 0, and the identity of its drive.
    pub member: u32,
    pub drive: String,
    pub by: PullBy,
    pub tree: FileTree,
    /// How long files are used before the drive is taken away, and again while it is away, s.
    pub seconds: f64,
    /// The most that is written meanwhile, bytes.
    pub most: u64,
    /// What it has of the pool is wiped when it is back, so that it is filled as a new drive would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_new: bool,
    /// Taken away, too, while the first one is filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<SecondPull>,
}

/// Another member of the same pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecondPull {
    /// Its number, from 0, and the identity of its drive.
    pub member: u32,
    pub drive: String,
}

/// How a drive is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullBy {
    /// Its USB device is de-authorised: the closest to unplugging one drive.
    Usb,
    /// Its SCSI device is deleted.
    Scsi,
    /// A person pulls it.
    Hand,
}

impl PullBy {
    pub const ALL: [Self; 3] = [Self::Usb, Self::Scsi, Self::Hand];

    /// As it is written in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usb => "usb",
            Self::Scsi => "scsi",
            Self::Hand => "hand",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Usb => "USB device de-authorised",
            Self::Scsi => "SCSI device deleted",
            Self::Hand => "you pull it",
        }
    }

    /// What was done to a drive.
    pub fn was(self) -> &'static str {
        match self {
            Self::Usb => "taken away by software (USB device de-authorised) and brought back",
            Self::Scsi => "taken away by software (SCSI device deleted) and brought back",
            Self::Hand => "pulled by hand and plugged in again",
        }
    }
}

/// Sizes of files in turn, none a multiple of all block sizes.
const SIZES: [u64; 7] = [1000, 4 * KIB, 20 * KIB + 1, 64 * KIB, 256 * KIB + 7, MIB, 4 * MIB];
/// Directories that the files are spread over.
pub const TREE_DIRECTORIES: usize = 8;
/// No file has more than this share of all bytes.
const LARGEST: u64 = 16;

impl FileTree {
    /// The size of each file, bytes.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        let (all, most) = (self.bytes, (self.bytes / LARGEST).max(SIZES[0]));
        let mut sum = 0_u64;
        SIZES.into_iter().cycle().map(move |size| size.min(most)).take_while(move |size| {
            let begun = sum < all;
            sum = sum.saturating_add(*size);
            begun
        })
    }

    pub fn files(&self) -> u64 {
        self.sizes().count() as u64
    }
}

#[typetag::serde(name = "fill_tree")]
impl Act for FillTree {
    fn label(&self) -> String {
        "files".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost { written: self.tree.bytes, seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn describe(&self) -> Option<String> {
        let (files, bytes) = (count(self.tree.files(), "file"), decimal_bytes(self.tree.bytes));
        Some(format!("{files} of many sizes, {bytes}"))
    }

    fn is_work(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::pull::fill(run, step, self)
    }
}

#[typetag::serde(name = "pull")]
impl Act for Pull {
    fn label(&self) -> String {
        "pull".to_owned()
    }

    fn cost(&self) -> Cost {
        // Copying back what is missing takes as long as the drives need.
        Cost { written: self.most, seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("a drive is taken away and brought back")
    }

    fn describe(&self) -> Option<String> {
        let (seconds, drive, how) = (duration(self.seconds), self.member + 1, self.by.words());
        let back = if self.as_new { "then back as if it were a new one" } else { "then back" };
        let second = self.second.as_ref().map(|second| {
            format!("; while it is filled, drive {} is away for {seconds}, too", second.member + 1)
        });
        Some(format!(
            "after {seconds} of reads and synced writes, drive {drive} is away for {seconds} ({how}), {back}{}",
            second.unwrap_or_default()
        ))
    }

    fn check(&self) -> Result<(), String> {
        duration_fits(self.seconds)
    }

    fn is_work(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::pull::pull(run, step, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_tree_have_its_bytes() {
        for bytes in [1, 1000, 100 * KIB, 3 * MIB, 300 * MIB] {
            let tree = FileTree { bytes, seed: 1 };
            let sum: u64 = tree.sizes().sum();
            assert!(sum >= bytes && sum - bytes < 4 * MIB, "{bytes}: {sum}");
            assert!(tree.sizes().all(|size| size <= (bytes / LARGEST).max(1000)));
        }
        assert_eq!(FileTree { bytes: 0, seed: 1 }.files(), 0);
    }
}
