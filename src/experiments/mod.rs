//! The experiments, one file each: how to plan it, and how to read its record into findings.

mod baseline;
mod bays;
mod cliff;
mod compare;
mod imports;
mod load_summary;
mod loaded_run;
mod open_loop_latency;
mod options;
mod pagecache;
mod request;
mod shared_options;
mod sizes;
mod smallfiles;
mod spinup;
mod table_cells;
mod target_checks;
mod together;

pub use baseline::Baseline;
pub use bays::Bays;
pub use cliff::Cliff;
pub use compare::{CompareError, Side, compare};
pub use imports::NAME as IMPORT;
pub use open_loop_latency::waiting;
pub use options::{Declared, Opt, Spec, Values};
pub use pagecache::PageCache;
pub use request::{Ask, Effort, LoadName, PlanError};
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
    fn plan(&self, ask: &Ask) -> Result<Plan, PlanError>;

    /// What a record shows; the same record gives the same findings at any time.
    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings;
}

/// All experiments.
pub const REGISTER: [&dyn Experiment; 8] =
    [&Baseline, &Together, &Bays, &Sizes, &PageCache, &Cliff, &Spinup, &SmallFiles];

/// How a record is read into findings: by the experiment whose run it is, or as an import, which nobody can run.
#[derive(Debug, Clone, Copy)]
pub enum Reading {
    /// A run of an experiment.
    Run(&'static dyn Experiment),
    /// What another tool told.
    Import,
}

impl Reading {
    /// How records that name this experiment are read; `None` where a newer drivebench wrote them.
    pub fn of(name: &str) -> Option<Self> {
        if name == IMPORT { Some(Self::Import) } else { find(name).map(Self::Run) }
    }

    /// What a record shows; the same record gives the same findings at any time.
    pub fn findings(self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        match self {
            Self::Run(experiment) => experiment.findings(record),
            Self::Import => imports::findings(record),
        }
    }
}

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static dyn Experiment> {
    REGISTER.into_iter().find(|e| e.name() == name)
}
