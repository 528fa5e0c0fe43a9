//! share: what does a client get, and what limits it?

mod act;
mod findings;
mod limit;
mod many_clients;
mod options;
mod plan;
mod result;
mod run;
#[cfg(test)]
mod tests;

pub use result::learn_networks;

use act::{LEAST_BYTES, Part, Protection, Protocol, Route, ShareRepetition, ShareTest, TransferKind};
use many_clients::{Busy, ClientLoad, ClientResult, ManyClients, PROCESSOR};
use result::{ShareLoad, ShareResult};

use super::{Experiment, Targets, common};

/// A client in a network namespace uses a share of the target, over the whole route and with parts of it left out.
pub static SHARE: Experiment = Experiment {
    name: "share",
    question: "what does a client get, and what limits it?",
    options: options::OPTIONS,
    examples: &[
        "share --plan /srv/data            the steps, what is written",
        "share --rate 100Mb /srv/data      over a link of 100 Mb/s",
        "share --client ssh://pi@laptop/dev/shm /srv/data",
        "share --client ssh://pi@a/mnt/nas --client ssh://pi@b/mnt/nas",
    ],
    targets: Targets { instead: Some(options::CLIENT.name()), ..Targets::ANY },
    plan: plan::plan,
    findings: |record| common::findings(common::read(record), findings::results),
};
