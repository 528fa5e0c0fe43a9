//! Writes or reads files in a scratch directory.

use super::{Execution, RunError, Troubles};
use crate::plan::{FileWork, Files, Step};

pub(super) fn perform(run: &mut Execution<'_, '_>, step: &Step, files: &Files) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    let mut troubles = Troubles::new();
    for target in step.targets() {
        let on = &run.plan.targets[target];
        let (result, trouble) = run.ctx.world.files(target, on, files, run.ctx.cancel)?;
        match files.work {
            FileWork::Write { .. } => run.account(target, 0, result.bytes),
            FileWork::Read => run.account(target, result.bytes, 0),
        }
        run.emit_act(step.id, Some(target), result)?;
        troubles.extend(trouble.map(|text| (target, text)));
    }
    Ok(troubles)
}
