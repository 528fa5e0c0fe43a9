//! Makes scratch files.

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{ScratchFile, Step},
    record::ActResult,
};

pub(crate) fn perform(
    run: &mut Execution<'_, '_>,
    step: &Step,
    file: &ScratchFile,
) -> Result<Troubles, RunError> {
    for target in step.targets() {
        let (cancel, at) = (run.cancel.clone(), &run.plan.targets[target]);
        let path = run.ctx.world.make_scratch(target, at, file.bytes, &cancel)?;
        run.readable.insert(target, 0);
        run.starts.remove(&target);
        run.emit_act(step.id, Some(target), ActResult { path, ..ActResult::default() })?;
    }
    Ok(Troubles::new())
}
