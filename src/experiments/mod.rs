//! The experiments, one folder each: how to plan it, and how to read its record into findings.

mod common;
mod load_name;
mod options;
mod request;
mod shared_options;
mod target_checks;

pub use load_name::LoadName;
pub use options::{Declared, Opt, Spec, Values};
pub use request::{Ask, Effort, PlanError};

use std::fmt;

use crate::{findings::Findings, plan::Plan, record::Event};

/// An experiment: a question about drives, its plan and its findings.
pub trait Experiment: Sync + fmt::Debug {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The question it answers.
    fn question(&self) -> &'static str;

    /// The options it takes, in the order of its help.
    fn options(&self) -> &'static [&'static dyn Declared];

    /// What people type after `drivebench run`.
    fn examples(&self) -> &'static [&'static str];

    /// The plan. Touches no drive.
    ///
    /// # Errors
    /// Where a target can't be measured as asked, and what to do about it.
    fn plan(&self, ask: &Ask) -> Result<Plan, PlanError>;

    /// Its numbers are evidence for advice.
    fn is_evidence(&self) -> bool {
        false
    }

    /// The findings of a record; the same record always gives the same findings.
    fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings;
}

/// Registers experiments: each line is a folder and the type in it.
macro_rules! experiments {
    ($($(#[$when:meta])* $folder:ident::$name:ident,)*) => {
        $(
            $(#[$when])*
            mod $folder;
            $(#[$when])*
            pub use $folder::$name;
        )*

        /// All experiments, in the order of the help.
        pub const REGISTER: &[&dyn Experiment] = &[$($(#[$when])* &$name,)*];
    };
}

experiments! {
    baseline::Baseline,
    together::Together,
    bays::Bays,
    sizes::Sizes,
    pagecache::PageCache,
    cliff::Cliff,
    spinup::Spinup,
    smallfiles::SmallFiles,
    #[cfg(test)] revisit::Revisit,
}

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static dyn Experiment> {
    REGISTER.iter().copied().find(|e| e.name() == name)
}
