//! boot: which medium should it boot from?

mod act;
mod findings;
mod machine;
mod plan;
mod result;
#[cfg(test)]
mod tests;

pub use machine::{boot_id, has_systemd, is_recorded};
pub use plan::{RESTART, STOP, TIMES};

use result::{Boot, Boots};

use super::{Experiment, Targets, common};

/// The times of this boot from systemd, beside earlier boots of the same machine from this and other drives.
pub static BOOT: Experiment = Experiment {
    name: "boot",
    question: "which medium should it boot from?",
    options: plan::OPTIONS,
    examples: &[
        "boot --now                   records this boot of this machine",
        "boot --now --store /mnt/x    beside those of other media",
        "boot --times 5 --plan        what five restarts would do",
    ],
    targets: Targets { default: Some("/"), ..Targets::ANY },
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
