//! Write or read files in a scratch directory.

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, Step};
use crate::{
    run::{Execution, RunError, Troubles},
    units::{MIB, count, size},
};

/// Files that are written or read, timed as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Files {
    pub set: FileSet,
    pub work: FileWork,
    /// Maximum seconds, without the sync at the end.
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileWork {
    /// Write them and sync the filesystem; files that were there before are removed first.
    Write {
        /// Seeds their content.
        seed: u64,
        /// The set whose time is predicted from this and other results.
        predict: Option<FileSet>,
    },
    /// Read the files of the step before, after dropping them from the page cache.
    Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileSet {
    pub files: u64,
    /// Size of each file, bytes.
    pub size: u64,
}

impl FileSet {
    /// Files take whole clusters of this size on most filesystems, bytes.
    pub const CLUSTER: u64 = 4096;

    /// Total size, bytes.
    pub fn bytes(&self) -> u64 {
        self.files.saturating_mul(self.size)
    }

    /// Bytes that the set takes on most filesystems, in whole clusters.
    pub fn on_disk(&self) -> u64 {
        self.files.saturating_mul(self.cluster_bytes())
    }

    /// Bytes that one file takes.
    pub fn cluster_bytes(&self) -> u64 {
        self.size.max(1).checked_next_multiple_of(Self::CLUSTER).unwrap_or(u64::MAX)
    }

    /// The set in words, such as `512 files of 4 KiB`.
    pub fn describe(&self) -> String {
        format!("{} of {}", count(self.files, "file"), size(self.size))
    }
}

impl Files {
    /// The steps that write a set and then read it.
    pub fn both(set: FileSet, seed: u64, predict: Option<FileSet>, seconds: f64) -> [Self; 2] {
        [FileWork::Write { seed, predict }, FileWork::Read].map(|work| Self { set, work, seconds })
    }

    /// Bytes after which the filesystem is synced, so that the last sync ends soon after the time limit.
    pub const SYNC: u64 = 64 * MIB;

    /// Number of syncs while this many bytes are written.
    pub fn syncs(bytes: u64) -> u64 {
        bytes.div_ceil(Self::SYNC).max(1)
    }
}

crate::kind!("files", Files as Act);

impl Act for Files {
    fn label(&self) -> String {
        let verb = if self.work == FileWork::Read { "read" } else { "write" };
        format!("{verb} {}", self.set.describe())
    }

    fn cost(&self) -> Cost {
        let time = Cost::of_seconds(self.seconds);
        match self.work {
            FileWork::Write { .. } => Cost { written: self.set.on_disk(), ..time },
            FileWork::Read => Cost { read: self.set.bytes(), ..time },
        }
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn describe(&self) -> Option<String> {
        let how = match self.work {
            FileWork::Write { .. } => "including a sync at the end",
            FileWork::Read => "dropped from the page cache first",
        };
        Some(how.to_owned())
    }

    fn space(&self) -> u64 {
        self.set.on_disk()
    }

    fn is_open_ended(&self) -> bool {
        self.work != FileWork::Read
    }

    fn continues(&self) -> bool {
        self.work == FileWork::Read
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        let mut troubles = Troubles::new();
        for target in step.targets() {
            let on = &run.plan.targets[target];
            let (result, trouble) = run.ctx.world.files(target, on, self, &run.cancel)?;
            match self.work {
                FileWork::Write { .. } => run.account(target, 0, result.bytes),
                FileWork::Read => run.account(target, result.bytes, 0),
            }
            run.emit_act(step.id, Some(target), result)?;
            troubles.extend(trouble.map(|text| (target, text)));
        }
        Ok(troubles)
    }
}
