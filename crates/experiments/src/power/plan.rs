//! The plan of power.

use super::{
    super::{PlanError, Request, target_checks::fits},
    PowerCut, options,
};
use crate::{
    plan::{Plan, Steps},
    target::Kind,
    test_files::FileTree,
};

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
    let tree = FileTree { bytes: ask.values.get(&options::SIZE), seed: ask.seed };
    let most = ask.effort.max_bytes.min(MOST);
    fits(target, tree.bytes.saturating_add(most)).map_err(PlanError::without_limit)?;
    let mut steps = Steps::default();
    steps.add(&[0], PowerCut { tree, seconds: ask.values.get(&options::WAIT), most });
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}
