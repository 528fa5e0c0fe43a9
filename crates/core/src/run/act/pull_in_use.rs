//! Takes a drive of a pool that is in use away, and brings it back.

use std::io;

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{PullInUse, Step},
    record::{ActResult, Pulled},
    run::BuildError,
};

/// What is found while the drive is away is saved before it is brought back, which is done even if that can't be saved.
pub(crate) fn pull(run: &mut Execution<'_, '_>, step: &Step, act: &PullInUse) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let on = run.plan.targets[target].clone();
        let cancel = run.cancel.clone();
        let pulled = run.ctx.world.pull_in_use(target, &on, act, &cancel, run.ctx.watcher)?;
        // One that does not end with a complete pool is done again if the run is resumed, unless it found wrong data.
        let result = |pulled: &Pulled, seconds: f64| ActResult {
            seconds,
            cut_short: pulled.files.wrong == 0
                && pulled.back.as_ref().is_none_or(|back| back.healed.is_none() && back.files.wrong == 0),
            observed: Some(pulled.clone().into()),
            ..ActResult::default()
        };
        let seconds = run.ctx.world.seconds() - since;
        let saved = run.emit_act(step.id, Some(target), result(&pulled, seconds));
        let saved = saved.and_then(|()| run.ctx.log.sync());
        let back = match run.ctx.world.put_back_in_use(target, &cancel, run.ctx.watcher) {
            Ok(back) => back,
            Err(why) => return Err(both(saved, why)),
        };
        let lacks = back.healed.is_none().then(|| {
            let why = back.refused.last().cloned();
            let why = why.unwrap_or_else(|| "the pool is not complete".to_owned());
            RunError::Pool(BuildError::Array(why))
        });
        let pulled = Pulled { back: Some(back), ..pulled };
        let seconds = run.ctx.world.seconds() - since;
        let saved = saved.and_then(|()| run.emit_act(step.id, Some(target), result(&pulled, seconds)));
        match lacks {
            Some(why) => return Err(both(saved, why)),
            None => saved?,
        }
    }
    Ok(Troubles::new())
}

/// A pool that lacks a drive matters more than a record that can't be written.
fn both(saved: io::Result<()>, why: RunError) -> RunError {
    match saved {
        Ok(()) => why,
        Err(e) => RunError::Record(io::Error::other(format!("{e}; {why}"))),
    }
}
