//! swap: where should swap go?

mod act;
mod area;
mod findings;
mod footprint;
mod group;
mod plan;
mod session;
mod undo;
mod watch;
mod worker;

use super::{Experiment, Targets, common};

pub use worker::work;

/// A program uses more memory than it may have, with swap on each medium in turn.
pub static SWAP: Experiment = Experiment {
    name: "swap",
    question: "where should swap go?",
    options: plan::OPTIONS,
    examples: &[
        "swap --plan /mnt/a zram     the steps, and what is written",
        "swap /mnt/a /mnt/b zram     two drives, compressed memory",
        "swap /mnt/a zswap+/mnt/a    a drive alone, and behind zswap",
        "swap /dev/sdb1 --erase SERIAL   a partition, which is erased",
    ],
    targets: Targets {
        resolve: plan::resolve,
        is_same: |a, b| a.path == b.path && a.given == b.given,
        ..Targets::ANY
    },
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
