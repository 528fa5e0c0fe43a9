//! Takes a drive of a pool that is in use away, and brings it back.

use std::io;

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{PullInUse, Step},
    record::{ActResult, Pulled},
    run::BuildError,
};

/// What is found while the drive is away is saved before it is brought back, which is done even if that can't be saved.
pub(super) fn pull(run: &mut Execution<'_, '_>, step: &Step, act: &PullInUse) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let on = run.plan.targets[target].clone();
        let cancel = run.cancel.clone();
        let pulled = run.ctx.world.pull_in_use(target, &on, act, &cancel, run.ctx.watcher)?;
        // One that does not end with a complete pool is done again if the run is resumed.
        let result = |pulled: &Pulled, seconds: f64| ActResult {
            seconds,
            cut_short: pulled.back.as_ref().is_none_or(|back| back.healed.is_none()),
            pulled: Some(Box::new(pulled.clone())),
            ..ActResult::default()
        };
        let seconds = run.ctx.world.seconds() - since;
        let saved = run.emit_act(step.id, Some(target), result(&pulled, seconds));
        let saved = saved.and_then(|()| run.ctx.log.sync());
        let back = run.ctx.world.put_back_in_use(target, &cancel, run.ctx.watcher);
        let back = match (saved, back) {
            // A pool that lacks a drive matters more than a record that can't be written.
            (Err(e), Err(why)) => return Err(RunError::Record(io::Error::other(format!("{e}; {why}")))),
            (saved, back) => {
                saved?;
                back?
            }
        };
        let pulled = Pulled { back: Some(back), ..pulled };
        let seconds = run.ctx.world.seconds() - since;
        run.emit_act(step.id, Some(target), result(&pulled, seconds))?;
        let back = pulled.back.filter(|back| back.healed.is_none());
        if let Some(back) = back {
            let why = back.refused.into_iter().next_back();
            let why = why.unwrap_or_else(|| "the pool is not complete".to_owned());
            return Err(RunError::Pool(BuildError::Array(why)));
        }
    }
    Ok(Troubles::new())
}
