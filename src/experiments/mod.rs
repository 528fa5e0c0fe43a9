//! The experiments, one folder each: how to plan it, and how to read its record into findings.

mod baseline;
mod bays;
mod cliff;
mod common;
mod load_name;
mod options;
mod pagecache;
mod request;
mod shared_options;
mod sizes;
mod smallfiles;
mod spinup;
mod target_checks;
mod together;

pub use baseline::Baseline;
pub use bays::Bays;
pub use cliff::Cliff;
pub use load_name::LoadName;
pub use options::{Declared, Opt, Spec, Values};
pub use pagecache::PageCache;
pub use request::{Effort, PlanError, Request};
pub use sizes::Sizes;
pub use smallfiles::SmallFiles;
pub use spinup::Spinup;
pub use together::Together;

use std::fmt;

use crate::{findings::Findings, plan::Plan, record::Event};

/// A question that can be put to drives.
pub trait Experiment: Sync + fmt::Debug {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The question it answers.
    fn question(&self) -> &'static str;

    /// The options it takes, in the order of its help.
    fn options(&self) -> &'static [&'static dyn Declared];

    /// What people type after `drivebench run`.
    fn examples(&self) -> &'static [&'static str];

    /// What it would do. Touches no drive.
    ///
    /// # Errors
    /// Where a target can't be measured as asked, and what to do about it.
    fn plan(&self, ask: &Request) -> Result<Plan, PlanError>;

    /// Its numbers are evidence for advice.
    fn is_evidence(&self) -> bool {
        false
    }

    /// What a record shows; the same record gives the same findings at any time.
    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings;
}

/// All experiments.
pub const REGISTER: [&dyn Experiment; 8] =
    [&Baseline, &Together, &Bays, &Sizes, &PageCache, &Cliff, &Spinup, &SmallFiles];

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static dyn Experiment> {
    REGISTER.into_iter().find(|e| e.name() == name)
}
