//! pull: what survives when a drive is pulled?

mod act;
mod findings;
#[cfg(test)]
mod in_use_tests;
mod options;
mod plan;
mod result;
mod run;
#[cfg(test)]
mod tests;

use act::{BuiltPool, PoolInUse, Pull, PullBy, PulledPool};
pub(crate) use run::{DetachedDrive, Unplug};

use options::PULL_DRIVE;
use result::{FilesRead, PullResult, RejoinResult, TakenBack};

use super::{Experiment, Targets, common};

/// Each layout is built, filled, and loses each of its drives in turn while files are used.
pub static PULL: Experiment = Experiment {
    name: "pull",
    question: "what survives when a drive is pulled?",
    options: options::OPTIONS,
    examples: &[
        "pull --plan bay:1.1 bay:1.2   the steps, and what is erased",
        "pull --erase SERIAL --erase SERIAL bay:1.1 bay:1.2",
        "pull --layouts raid5 --members 2 bay:1.1 bay:1.2 bay:1.3",
        "pull --pull SERIAL /srv/data   a pool in use: erases nothing",
    ],
    targets: Targets {
        help: "Whole drives: /dev paths, serials or bay:PORT; or a pool in use",
        ..Targets::ANY
    },
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
