//! How each kind of act is done and undone; the longer ones have a file. Closing a target undoes what was set up on it.

mod boot;
mod load;
mod move_drives;
mod pool;
mod power;
mod pull;
mod pull_in_use;
mod scratch_file;
mod share;
mod standby;
mod swap;

pub use move_drives::{Move, Wanted, movable};

pub(super) use {load::wake, move_drives::settle};

use super::{
    RunError,
    execution::{Execution, Troubles},
};
use crate::{
    plan::{Act, FileWork, Files, Pause, Step},
    record::ActResult,
};

pub(super) fn perform(run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
    match &step.act {
        Act::ScratchFile(act) => scratch_file::perform(run, step, act),
        Act::Load(act) => load::perform(run, step, act),
        Act::Files(act) => files(run, step, act),
        Act::Pause(act) => pause(run, step, act),
        Act::Standby(act) => standby::perform(run, step, act),
        // `steps` has already waited until the drives are in their bays.
        Act::MoveDrives(_) => Ok(Troubles::new()),
        Act::BuildPool(act) => pool::build(run, step, act),
        Act::RebuildPool(act) => pool::rebuild(run, step, act),
        Act::RemovePool(_) => pool::remove(run, step),
        Act::Predict(act) => pool::predict(run, step, act),
        Act::FillTree(act) => pull::fill(run, step, act),
        Act::Pull(act) => pull::pull(run, step, act),
        Act::PullInUse(act) => pull_in_use::pull(run, step, act),
        Act::PowerCut(act) => power::cut(run, step, act),
        Act::Swap(act) => swap::perform(run, step, act),
        Act::Share(act) => share::perform(run, step, act),
        Act::RecordBoot(act) => boot::record(run, step, act),
    }
}

/// Writes or reads files in a scratch directory.
fn files(run: &mut Execution<'_, '_>, step: &Step, files: &Files) -> Result<Troubles, RunError> {
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

fn pause(run: &mut Execution<'_, '_>, step: &Step, pause: &Pause) -> Result<Troubles, RunError> {
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
