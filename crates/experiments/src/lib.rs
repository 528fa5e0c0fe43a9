//! The experiments, one folder each: how to plan it, and how to read its record into findings.

use drivebench_analyse as analyse;
use drivebench_core::{danger, kind, plan, record, run};
use drivebench_engine as engine;
use drivebench_findings as findings;
use drivebench_host::{conditions, inventory, sysroot, target, tools};
use drivebench_pools as pool;
#[cfg(test)]
use drivebench_report as report;
use drivebench_units as units;

pub mod check;
mod common;
mod options;
pub mod pool_commands;
mod request;
mod rounds;
mod shared_options;
mod stamped;
mod target_checks;
mod test_files;
#[cfg(test)]
mod testing;
pub mod unit_files;
mod whole_drives;

pub use boot::{RESTART, STOP, TIMES, boot_id, has_systemd, is_recorded};
pub use options::{Declared, Opt, Spec, Values};
pub use power::waiting;
pub use request::{Effort, LoadName, PlanError, Request};
pub use share::learn_networks;
pub use shared_options::{ERASE, SUITE, seconds};
pub use swap::work as use_memory;
pub use target_checks::still_fits;

use crate::{
    findings::Findings,
    inventory::Inventory,
    plan::Plan,
    record::Event,
    target::{Target, TargetError},
};

/// An experiment: a question about drives, its plan and its findings.
#[derive(Debug)]
pub struct Experiment {
    pub name: &'static str,
    pub question: &'static str,
    /// In the order of its help.
    pub options: &'static [&'static dyn Declared],
    /// Arguments of `drivebench run`, with an explanation each.
    pub examples: &'static [&'static str],
    pub targets: Targets,
    plan: fn(&Request) -> Result<Plan, PlanError>,
    findings: fn(&mut dyn Iterator<Item = Event>) -> Findings,
}

/// How a person names the targets of an experiment.
#[derive(Debug)]
pub struct Targets {
    /// What can be named, as the help says it.
    pub help: &'static str,
    /// The target if none is named.
    pub default: Option<&'static str>,
    /// The option that may be typed instead of a target.
    pub instead: Option<&'static str>,
    pub resolve: fn(&Inventory, &str) -> Result<Target, TargetError>,
    /// Whether one of two targets is too many.
    pub is_same: fn(&Target, &Target) -> bool,
}

impl Targets {
    const ANY: Self = Self {
        help: "Directories, files, /dev paths, serials, labels or bay:PORT",
        default: None,
        instead: None,
        resolve: Target::resolve,
        is_same: |a, b| a.path == b.path,
    };
    const WHOLE_DRIVES: Self = Self { help: "Whole drives: /dev paths, serials or bay:PORT", ..Self::ANY };
}

/// A plan is one line of the record, and readers refuse lines over 16 MiB; a step takes some 300 bytes.
const MAX_STEPS: usize = 40_000;

impl Experiment {
    /// The plan, or why a target can't be measured as asked and what to do about it. Touches no drive.
    pub fn plan(&self, ask: &Request) -> Result<Plan, PlanError> {
        if ask.targets.is_empty() && !self.targets.instead.is_some_and(|name| ask.values.is_typed(name)) {
            return Err(PlanError::NoTarget);
        }
        let plan = (self.plan)(ask)?;
        match plan.steps.len() {
            steps if steps > MAX_STEPS => Err(PlanError::Options(format!(
                "the plan has {steps} steps, more than {MAX_STEPS}: choose fewer runs, loads or targets"
            ))),
            _ => Ok(Plan { experiment: self.name.to_owned(), ..plan }),
        }
    }

    /// The findings of a record; the same record always gives the same findings.
    pub fn findings(&self, record: &mut dyn Iterator<Item = Event>) -> Findings {
        let (experiment, question) = (self.name.to_owned(), self.question.to_owned());
        Findings { experiment, question, ..(self.findings)(record) }
    }
}

/// Registers experiments: each line is a folder and the static in it.
macro_rules! experiments {
    ($($(#[$when:meta])* $folder:ident::$name:ident,)*) => {
        $(
            $(#[$when])*
            mod $folder;
            $(#[$when])*
            pub use $folder::$name;
        )*

        /// All experiments, in the order of the help.
        pub const REGISTER: &[&Experiment] = &[$($(#[$when])* &$name,)*];
    };
}

experiments! {
    baseline::BASELINE,
    together::TOGETHER,
    bays::BAYS,
    sizes::SIZES,
    pagecache::PAGECACHE,
    cliff::CLIFF,
    spinup::SPINUP,
    smallfiles::SMALLFILES,
    capacity::CAPACITY,
    accept::ACCEPT,
    layouts::LAYOUTS,
    pull::PULL,
    power::POWER,
    swap::SWAP,
    share::SHARE,
    boot::BOOT,
    #[cfg(test)] synctime::SYNCTIME,
}

/// An experiment by the name in its records. `check` is one that has a command of its own.
pub fn find(name: &str) -> Option<&'static Experiment> {
    REGISTER.iter().copied().chain([&check::CHECK]).find(|e| e.name == name)
}
