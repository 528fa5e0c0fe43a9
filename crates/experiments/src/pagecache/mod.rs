//! pagecache: how much of that speed was memory?

mod findings;
mod plan;

use super::{Experiment, Targets, common};

/// The same bytes written and read in every mode, from the page cache to the drive itself, with a filesystem in memory
/// as the ceiling.
pub static PAGECACHE: Experiment = Experiment {
    name: "pagecache",
    question: "how much of that speed was memory?",
    options: plan::OPTIONS,
    examples: &[
        "pagecache .                  the drive under this directory",
        "pagecache --runs 10 .        narrower intervals",
        "pagecache --max-bytes 16M .  fewer bytes, for a slow drive",
        "pagecache /dev/sda           a whole drive, reading only",
    ],
    targets: Targets::ANY,
    plan: plan::plan,
    findings: |record| common::findings(findings::unflagged(common::read(record)), findings::results),
};
