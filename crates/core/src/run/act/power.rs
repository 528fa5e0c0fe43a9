//! Writes until the power is cut, or checks what a power cut left.

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{PowerCut, Step},
    record::{ActResult, Cut},
};

pub(crate) fn cut(run: &mut Execution<'_, '_>, step: &Step, act: &PowerCut) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    // With the plan in it, so that the run can be continued after the power cut.
    run.ctx.log.sync()?;
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let (on, cancel) = (run.plan.targets[target].clone(), run.cancel.clone());
        let watcher = &mut *run.ctx.watcher;
        let cut = run.ctx.world.power(&on, act, &cancel, &mut |text| watcher.asks(text))?;
        let missing = on.pool.as_ref().map_or(0, |pool| pool.missing);
        let cut = Cut { missing, ..cut };
        let seconds = run.ctx.world.seconds() - since;
        let is_whole = cut.is_whole();
        let bytes = act.tree.bytes.saturating_add(cut.ledger.acknowledged_bytes);
        let result = ActResult { seconds, bytes, observed: Some(cut.into()), ..ActResult::default() };
        run.emit_act(step.id, Some(target), result)?;
        // Before what it was found in is removed. What has a loss stays, to be looked at again.
        run.ctx.log.sync()?;
        // What can't be removed, because the filesystem is read-only by now, is no failure of the check.
        if let Some(e) = is_whole.then(|| run.ctx.world.power_checked(&on, act).err()).flatten() {
            run.note(Some(target), format!("The test files were not removed: {e}."))?;
        }
    }
    Ok(Troubles::new())
}
