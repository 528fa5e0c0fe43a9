//! Makes scratch files. A resumed run fills them as its finished loads left them.

use super::{Execution, RunError, Troubles, load};
use crate::{
    plan::{ScratchFile, Step},
    record::ActResult,
};

pub(crate) fn perform(
    run: &mut Execution<'_, '_>,
    step: &Step,
    file: &ScratchFile,
) -> Result<Troubles, RunError> {
    let mut troubles = Troubles::new();
    for target in step.targets() {
        let (cancel, at) = (run.cancel.clone(), &run.plan.targets[target]);
        let path = run.ctx.world.make_scratch(target, at, file.bytes, &cancel)?;
        run.readable.insert(target, 0);
        run.starts.remove(&target);
        let mut result = ActResult { path, ..ActResult::default() };
        if let Some(refill) = run.done.refills.get(&(step.id, target as u32)) {
            let (outcome, trouble) = load::unrecorded(run, target, &refill.measure())?;
            result = ActResult { seconds: outcome.seconds, bytes: outcome.bytes_written, ..result };
            result.cut_short = run.cancel.is_set();
            troubles.extend(trouble.map(|text| (target, text)));
        }
        run.emit_act(step.id, Some(target), result)?;
    }
    Ok(troubles)
}
