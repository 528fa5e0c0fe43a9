//! boot: which medium should it boot from?

mod act;
mod findings;
mod machine;
mod media;
mod options;
mod plan;
mod result;
pub mod series;
#[cfg(test)]
mod tests;
mod verdicts;

pub use machine::{BootError, has_systemd, is_recorded};
pub use options::{RESTART, STOP, TIMES};

use result::{Boot, Boots, SlowUnit};

use super::{Experiment, common};
use crate::findings::BootPart;

/// Targets that a boot passes, in their usual order.
const TARGETS: [(&str, BootPart); 5] = [
    ("local-fs.target", BootPart::LocalFs),
    ("basic.target", BootPart::Basic),
    ("network-online.target", BootPart::NetworkOnline),
    ("multi-user.target", BootPart::MultiUser),
    ("graphical.target", BootPart::Graphical),
];

/// The times of this boot from systemd, beside earlier boots of the same machine from this and other drives.
pub static BOOT: Experiment = Experiment {
    name: "boot",
    question: "which medium should it boot from?",
    options: options::OPTIONS,
    examples: &[
        "boot --now                   records this boot of this machine",
        "boot --now --store /mnt/x    beside those of other media",
        "boot --times 5 --plan        what five restarts would do",
    ],
    default_target: Some("/"),
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
