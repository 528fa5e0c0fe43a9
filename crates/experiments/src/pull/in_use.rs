//! The plan of pull for a pool that is in use.

use super::{
    super::{PlanError, Request},
    PoolInUse, Pull, PulledPool, options,
};
use crate::{
    plan::{Plan, Steps},
    target::{Kind, Target},
    units::{Layout, Pool, listed, shell_word},
};

/// The pool that a target is on, if a drive of it can be pulled while it is in use.
pub(super) fn pool_in_use(target: &Target) -> Option<&Pool> {
    let is_redundant = |pool: &&Pool| Layout::of_name(&pool.kind).is_some_and(Layout::is_redundant);
    target.pool.as_ref().filter(|_| target.kind == Kind::Directory).filter(is_redundant)
}

pub(super) fn plan(ask: &Request, serial: &str) -> Result<Plan, PlanError> {
    let [target] = &ask.targets[..] else {
        return Err(PlanError::TooMany { experiment: "pull with --pull", most: 1 });
    };
    let refused = |why: String| PlanError::Unsuitable { path: target.path.clone(), why };
    let pool = pool_in_use(target).ok_or_else(|| {
        refused(
            "--pull takes a directory on an md array with copies or parity (raid1, raid5, raid6, raid10)"
                .to_owned(),
        )
    })?;
    let name = pool.describe();
    // What the pool and the machine would not survive is refused before the run begins.
    let Some(drive) = target.drives.iter().find(|drive| drive.serial.as_deref() == Some(serial)) else {
        return Err(refused(format!("no drive of {name} has the serial {serial}; {}", members(target))));
    };
    let mut steps = Steps::default();
    let used = PoolInUse {
        serial: serial.to_owned(),
        label: drive.label(),
        bytes: ask.values.get(&options::SIZE),
        seed: ask.seed,
        bitmap: pool.bitmap == Some(true),
        survives: pool.survives().unwrap_or(0).saturating_sub(1),
    };
    let pull = Pull {
        drive: drive.identity(),
        by: ask.values.get(&options::BY),
        seconds: ask.values.get(&options::TIME),
        pool: PulledPool::InUse(used),
    };
    steps.add(&[0], pull);
    Ok(Plan { limit: None, ..ask.planned(steps) })
}

/// The refusal of a pool in use of which no drive was named.
pub(super) fn nameless(target: &Target) -> PlanError {
    let why = format!(
        "it is on a pool in use. To read its files while one of its drives is away, name the drive: drivebench run pull --pull SERIAL {}; {}",
        shell_word(&target.path),
        members(target)
    );
    PlanError::Unsuitable { path: target.path.clone(), why }
}

fn members(target: &Target) -> String {
    let serials: Vec<&str> =
        target.drives.iter().filter_map(|drive| drive.unique_serial()).map(String::as_str).collect();
    format!("its drives: {}", listed(&serials))
}
