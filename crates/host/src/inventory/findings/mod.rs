//! Findings: problems and notable facts of a machine's drives, each with advice. Pure functions of the inventory.

mod health;
mod links;
mod pools;
mod power;
mod storage;
#[cfg(test)]
mod tests;
mod unproven;

use serde::Serialize;

use super::{Drive, Inventory};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// A pool that lost more drives than it survives.
    Broken,
    /// A pool that is assembled in part, or not at all.
    Inactive,
    /// A pool that lacks drives and can be used.
    Degraded,
    /// A failed spare of a pool that is complete.
    FailedMember,
    Failing,
    /// A drive failed its own test.
    SelfTest,
    /// A drive is too hot or too cold.
    DriveTemperature,
    /// A drive could not read some of its sectors.
    Unreadable,
    Worn,
    /// The link to a drive has errors.
    Cable,
    /// A USB 3 drive in a USB 2 port.
    Usb3OnUsb2,
    SlowLink,
    SharedBus,
    /// The power supply was too weak.
    Undervoltage,
    /// The processor was throttled.
    Throttled,
    /// USB drives may draw more than the ports supply.
    UsbPower,
    /// A drive that the kernel suspends.
    Autosuspend,
    NoSerial,
    MadeUpSerial,
    SharedSerial,
    /// A drive under no maker's name, which may hold less than it claims.
    UnprovenSize,
    /// A partition that begins between two blocks of the drive.
    MisalignedPartition,
    /// UAS is offered and not used.
    UasUnused,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Code for programs, see docs/reference/list.md.
    pub code: Code,
    /// Kernel names of its drives; empty if it concerns the whole machine.
    pub drives: Vec<String>,
    /// Full sentences, as is the advice.
    pub what: String,
    pub advice: String,
}

impl Finding {
    fn of<'a>(
        code: Code,
        drives: impl IntoIterator<Item = &'a Drive>,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let drives = drives.into_iter().map(|drive| drive.name.clone()).collect();
        Self { code, drives, what: what.into(), advice: advice.into() }
    }
}

impl Inventory {
    /// All findings; pools that lack drives come first, then those about the whole machine.
    pub fn findings(&self) -> Vec<Finding> {
        let mut all = pools::states(self);
        all.extend(power::throttling(self).into_iter().chain(power::budget(self)));
        all.extend(links::shared(self));
        for drive in &self.drives {
            all.extend(health::state(drive));
            all.extend(links::slow(self, drive));
            all.extend(links::uas(self, drive));
            all.extend(power::autosuspend(drive));
            all.extend(storage::serial(drive));
            all.extend(unproven::size(drive));
            all.extend(storage::alignment(drive));
        }
        all.extend(storage::twins(self));
        all
    }
}
