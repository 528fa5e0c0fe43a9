//! The options and the plan of power.

use super::{
    super::{Declared, Opt, PlanError, Request, shared_options as shared, target_checks::fits},
    PowerCut,
};
use crate::{
    plan::{Plan, Steps},
    target::Kind,
    test_files::FileTree,
};

const SIZE: Opt<u64> =
    Opt::new("size", "SIZE", shared::bytes, "Size of the files written before the cut").default("64MiB");

const WAIT: Opt<f64> =
    Opt::new("runtime", "TIME", shared::seconds, "Longest wait for the power cut").default("10m");

/// Small synced writes: a stick writes much more than that inside.
const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("1GiB");

pub(super) const OPTIONS: &[&dyn Declared] = &[&SIZE, &WAIT, &MAX_BYTES, &shared::SEED];

/// The most that is written, bytes: a write of 20 kB takes 150 bytes in the ledger, and 64 MiB of that are read back.
const MOST: u64 = 6 << 30;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let [target] = &ask.targets[..] else { return Err(PlanError::TooMany { experiment: "power", most: 1 }) };
    if target.kind != Kind::Directory {
        return Err(PlanError::NoDirectory { path: target.path.clone() });
    }
    // Memory loses its content with the power, and shows nothing about a drive.
    if target.is_memory() || target.drives.is_empty() {
        let why = "it is not on a known drive: name a directory on a mounted drive or pool".to_owned();
        return Err(PlanError::Unsuitable { path: target.path.clone(), why });
    }
    let tree = FileTree { bytes: ask.values.get(&SIZE), seed: ask.seed };
    let most = ask.effort.max_bytes.min(MOST);
    fits(target, tree.bytes.saturating_add(most))?;
    let mut steps = Steps::default();
    steps.add(&[0], PowerCut { tree, seconds: ask.values.get(&WAIT), most });
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}
