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

/// A problem or a notable fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Code for programs, see docs/list.md.
    pub code: &'static str,
    /// Kernel names of its drives; empty if it concerns the whole machine.
    pub drives: Vec<String>,
    /// The finding, in full sentences.
    pub what: String,
    /// What to do, in full sentences.
    pub advice: String,
}

impl Finding {
    fn of<'a>(
        code: &'static str,
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
