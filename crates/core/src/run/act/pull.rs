//! Fills pools with files, and takes drives away from them.

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{FillTree, Pull, Step},
    record::{ActResult, Pulled},
};

pub(crate) fn fill(run: &mut Execution<'_, '_>, step: &Step, act: &FillTree) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let on = run.plan.targets[target].clone();
        let cancel = run.cancel.clone();
        let bytes = run.ctx.world.fill_tree(target, &on, &act.tree, &cancel)?;
        run.account(target, 0, bytes);
        let (seconds, cut_short) = (run.ctx.world.seconds() - since, cancel.is_set());
        let files = act.tree.files();
        run.emit_act(
            step.id,
            Some(target),
            ActResult { seconds, bytes, files, cut_short, ..ActResult::default() },
        )?;
    }
    Ok(Troubles::new())
}

/// What is found while the drive is away is saved before it is brought back.
pub(crate) fn pull(run: &mut Execution<'_, '_>, step: &Step, act: &Pull) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let on = run.plan.targets[target].clone();
        let cancel = run.cancel.clone();
        let watcher = &mut *run.ctx.watcher;
        let pulled = run.ctx.world.pull(target, &on, act, &cancel, &mut |text| watcher.asks(text))?;
        let result = |pulled: &Pulled, seconds: f64| ActResult {
            seconds,
            observed: Some(pulled.clone().into()),
            ..ActResult::default()
        };
        let seconds = run.ctx.world.seconds() - since;
        run.emit_act(step.id, Some(target), result(&pulled, seconds))?;
        run.ctx.log.sync()?;
        let watcher = &mut *run.ctx.watcher;
        let back = run.ctx.world.put_back(target, &on, &cancel, &mut |text| watcher.asks(text))?;
        let pulled = Pulled { back: Some(back), ..pulled };
        let seconds = run.ctx.world.seconds() - since;
        run.emit_act(step.id, Some(target), result(&pulled, seconds))?;
    }
    Ok(Troubles::new())
}
