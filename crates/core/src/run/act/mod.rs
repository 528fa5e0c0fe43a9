//! How each kind of act is done and undone; the longer ones have a file. Closing a target undoes what was set up on it.

pub(crate) mod load;
mod move_drives;
pub(crate) mod pool;
pub(crate) mod scratch_file;
pub(crate) mod standby;

pub use move_drives::{Move, Wanted, movable};

pub(super) use move_drives::settle;

use super::{
    RunError,
    execution::{Execution, Troubles},
};
use crate::{
    plan::{FileWork, Files, Pause, Step},
    record::ActResult,
};

/// Writes or reads files in a scratch directory.
pub(crate) fn files(run: &mut Execution<'_, '_>, step: &Step, files: &Files) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    let mut troubles = Troubles::new();
    for target in step.targets() {
        let on = &run.plan.targets[target];
        let (result, trouble) = run.ctx.world.files(target, on, files, &run.cancel)?;
        match files.work {
            FileWork::Write { .. } => run.account(target, 0, result.bytes),
            FileWork::Read => run.account(target, result.bytes, 0),
        }
        run.emit_act(step.id, Some(target), result)?;
        troubles.extend(trouble.map(|text| (target, text)));
    }
    Ok(troubles)
}

pub(crate) fn pause(run: &mut Execution<'_, '_>, step: &Step, pause: &Pause) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    let since = run.ctx.world.seconds();
    run.ctx.world.wait(pause.seconds, &run.cancel);
    let seconds = run.ctx.world.seconds() - since;
    for target in step.targets() {
        let cut_short = run.cancel.is_set();
        run.emit_act(step.id, Some(target), ActResult { seconds, cut_short, ..ActResult::default() })?;
    }
    Ok(Troubles::new())
}
