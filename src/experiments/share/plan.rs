//! The plan of share.

use super::{
    super::{PlanError, Request, target_checks::fits},
    options,
};
use crate::{
    plan::{Plan, ShareTest, Steps},
    target::Kind,
    units::KIB,
};

/// Bytes of a small file: such as a document, or a photo's thumbnail.
const SMALL: u64 = 16 * KIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        if target.kind != Kind::Directory {
            return Err(PlanError::NoDirectory { path: target.path.clone() });
        }
        let client_dir = ask.values.typed(&options::CLIENT_DIR);
        if let Some(dir) = client_dir.as_ref().filter(|dir: &&std::path::PathBuf| !dir.is_dir()) {
            return Err(PlanError::NoDirectory { path: dir.clone() });
        }
        let test = ShareTest {
            rate: ask.values.typed(&options::RATE),
            protection: ask.values.get(&options::PROTECTION),
            client_dir,
            bytes: ask.values.get(&options::SIZE),
            files: ask.values.get(&options::FILES),
            small: SMALL,
            clients: ask.values.get(&options::CLIENTS),
            runs: ask.values.get(&options::TIMES),
        };
        fits(target, test.held()).map_err(PlanError::without_limit)?;
        steps.add(&[at], test);
    }
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}
