//! Take one drive of a pool that is in use away, while files on it are read.

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, Needs, PullBy, Step, Uncounted, duration_fits};
use crate::{
    run::{Execution, RunError, Troubles, act},
    units::{count, decimal_bytes, duration, rate},
};

/// Takes one drive of the pool away that the step's target is on, while files below the target are read, checks them, brings the
/// drive back and checks them again. Nothing is written to files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullInUse {
    /// The identity of the drive, what people type to name it, and how it is shown: model, serial and bay.
    pub drive: String,
    pub serial: String,
    pub label: String,
    pub by: PullBy,
    /// The most that is read of files, bytes.
    pub bytes: u64,
    pub seed: u64,
    /// How long files are read before the drive is taken away, and again while it is away, s.
    pub seconds: f64,
    /// Of the drive, bytes.
    pub size: u64,
    /// The pool has a bitmap of what changes while a drive is away; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitmap: Option<bool>,
    /// How many other drives may fail while this one is away.
    pub survives: u64,
    /// The command that shows the state of the pool.
    pub status: String,
}

impl PullInUse {
    /// What a person should know before the drive is taken away.
    pub fn warnings(&self) -> Vec<String> {
        /// An example, so that people can put their own drive's speed in its place; bytes per second.
        const EXAMPLE: f64 = 100e6;
        let least = match self.survives {
            0 => "survives no failure".to_owned(),
            n => format!("survives the failure of {} only", count(n, "other drive")),
        };
        let (size, time) = (decimal_bytes(self.size), duration(self.size as f64 / EXAMPLE));
        let whole = format!("all of it is filled again, {size}: {time} where it writes {}", rate(EXAMPLE));
        let back = match self.bitmap {
            Some(true) => format!(
                "It has a bitmap: only what changes while the drive is away is copied to it. If mdadm refuses that, it is added as a new drive and {whole}."
            ),
            Some(false) => {
                format!("It has no bitmap: the drive is added as a new one, and {whole}.")
            }
            None => format!("If it has no bitmap, the drive is added as a new one, and {whole}."),
        };
        let read = decimal_bytes(self.bytes);
        vec![
            format!("takes away {}, of a pool that is in use", self.label),
            format!(
                "Files are only read, at most {read} of them, again and again: none is written, and no drive is erased. Other programs go \
                 on, and wait longer; what the machine has in its page cache is dropped twice."
            ),
            format!("Until the drive is filled again, the pool {least}: have a backup."),
            back,
        ]
    }
}

#[typetag::serde(name = "pull_in_use")]
impl Act for PullInUse {
    fn label(&self) -> String {
        "pull".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost { read: self.bytes, seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("a drive of a pool in use is taken away and brought back; no file is written")
    }

    fn describe(&self) -> Option<String> {
        let (seconds, how) = (duration(self.seconds), self.by.words());
        let read = decimal_bytes(self.bytes);
        Some(format!(
            "after {seconds} of reads, {} is away ({how}) for {seconds} and until the same files, {read} of them at most, were read again, then back",
            self.label
        ))
    }

    fn check(&self) -> Result<(), String> {
        duration_fits(self.seconds)
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { uncounted: Uncounted::All, ..Needs::default() }
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::pull_in_use::pull(run, step, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pool_without_a_bitmap_costs_is_said() {
        let act = |bitmap: Option<bool>, survives: u64| PullInUse {
            drive: "4C53".to_owned(),
            serial: "4C53".to_owned(),
            label: "Ultra 4C53 in bay 1.2".to_owned(),
            by: PullBy::Usb,
            bytes: 1 << 28,
            seed: 1,
            seconds: 10.0,
            size: 4_000_000_000_000,
            bitmap,
            survives,
            status: "drivebench list".to_owned(),
        };
        let said = |bitmap, survives| act(bitmap, survives).warnings().join("\n");
        assert!(
            said(Some(false), 0)
                .contains("added as a new one, and all of it is filled again, 4.00 TB: 11:06:40")
        );
        assert!(said(Some(false), 0).contains("survives no failure: have a backup"));
        assert!(
            said(None, 1).contains("If it has no bitmap")
                && said(None, 1).contains("failure of 1 other drive only")
        );
        assert!(said(Some(true), 1).contains("only what changes while the drive is away is copied"));
    }
}
