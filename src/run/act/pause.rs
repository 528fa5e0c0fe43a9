//! Pauses: no load for some time.

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{Pause, Step},
    record::ActResult,
};

pub(super) fn perform(run: &mut Execution<'_, '_>, step: &Step, pause: &Pause) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    let since = run.ctx.world.seconds();
    run.ctx.world.wait(pause.seconds, run.ctx.cancel);
    let seconds = run.ctx.world.seconds() - since;
    for target in step.targets() {
        let cut_short = run.ctx.cancel.is_set();
        run.emit_act(step.id, Some(target), ActResult { seconds, cut_short, ..ActResult::default() })?;
    }
    Ok(Troubles::new())
}
