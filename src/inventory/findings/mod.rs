//! Findings: problems and notable facts of a machine's drives, each with advice. Pure functions of the inventory.

mod health;
mod links;
mod power;
mod storage;
#[cfg(test)]
mod tests;
mod uas;

use serde::Serialize;

use super::{Drive, Inventory};

/// What a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// A drive reports itself that it fails.
    Failing,
    /// A drive could not read some of its sectors.
    Unreadable,
    /// A drive is worn.
    Worn,
    /// The link to a drive has errors.
    Cable,
    /// A USB 3 drive in a USB 2 port.
    Usb3OnUsb2,
    /// A link slower than drive and port support.
    SlowLink,
    /// Drives that share a bus.
    SharedBus,
    /// The power supply was too weak.
    Undervoltage,
    /// The processor was throttled.
    Throttled,
    /// USB drives may draw more than the ports supply.
    UsbPower,
    /// A drive that the kernel suspends.
    Autosuspend,
    /// A drive without a serial number.
    NoSerial,
    /// A serial number that is a placeholder.
    MadeUpSerial,
    /// Drives with the same serial number.
    SharedSerial,
    /// A partition that begins between two blocks of the drive.
    MisalignedPartition,
    /// A filesystem with small blocks.
    SmallBlocks,
    /// A filesystem that is almost full.
    Full,
    /// UAS is known to fail with this adapter.
    UasBreaks,
    /// The UAS quirk that hides the drive's health.
    UasHidesHealth,
    /// UAS is offered and not used.
    UasUnused,
}

/// A problem or a notable fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Code for programs, see docs/list.md.
    pub code: Code,
    /// Kernel names of its drives; empty if it concerns the whole machine.
    pub drives: Vec<String>,
    /// The finding, in full sentences.
    pub what: String,
    /// What to do, in full sentences.
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
    /// All findings; those about the whole machine come first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut all = power::of_machine(self);
        all.extend(links::shared(self));
        for drive in &self.drives {
            all.extend(health::state(drive));
            all.extend(links::slow(self, drive));
            all.extend(uas::driver(self, drive));
            all.extend(power::autosuspend(drive));
            all.extend(storage::serial(drive));
            all.extend(storage::alignment(drive));
        }
        all.extend(storage::twins(self));
        all.extend(storage::full(self));
        all
    }
}
