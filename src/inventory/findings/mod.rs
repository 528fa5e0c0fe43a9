//! What is wrong with a machine's drives or worth knowing of them, each with what to do. Functions of the inventory alone.

mod health;
mod links;
mod power;
mod storage;
#[cfg(test)]
mod tests;
mod uas;

use serde::Serialize;

use super::{Drive, Inventory};

/// Something that is wrong or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name among programs, see docs/list.md.
    pub code: &'static str,
    /// The kernel's names of the drives it is about; none where it is about the machine.
    pub drives: Vec<String>,
    /// What is so: whole sentences.
    pub what: String,
    /// What to do: whole sentences.
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
    /// All findings, those about the whole machine first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut all = power::of_machine(self);
        all.extend(links::shared(self));
        for drive in &self.drives {
            all.extend(health::state(drive));
            all.extend(links::slow(self, drive));
            all.extend(uas::choice(self, drive));
            all.extend(power::autosuspend(drive));
            all.extend(storage::serial(drive));
            all.extend(storage::alignment(drive));
        }
        all.extend(storage::twins(self));
        all.extend(storage::full(self));
        all
    }
}
