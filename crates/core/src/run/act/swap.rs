//! Uses more memory than there is, with swap on one medium.

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{Step, SwapTest},
    record::ActResult,
};

pub(crate) fn perform(
    run: &mut Execution<'_, '_>,
    step: &Step,
    act: &SwapTest,
) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    let mut troubles = Troubles::new();
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let (on, cancel) = (run.plan.targets[target].clone(), run.cancel.clone());
        let watcher = &mut *run.ctx.watcher;
        let given = on.given.clone();
        let mut says = |text: &str| watcher.waits(&format!("{given}: {text}"));
        let swapped = run.ctx.world.swap((target, &on), act, &cancel, &mut says)?;
        let seconds = run.ctx.world.seconds() - since;
        let bytes = swapped.written.unwrap_or(0);
        run.account(target, 0, bytes);
        if let Some(why) = swapped.ended.as_ref().map(|why| format!("swap was ended: {why}")) {
            match swapped.enough {
                true => run.note(Some(target), format!("{why}."))?,
                false => troubles.push((target, why)),
            }
        }
        let result = ActResult { seconds, bytes, observed: Some(swapped.into()), ..ActResult::default() };
        run.emit_act(step.id, Some(target), result)?;
        // The next medium may take long.
        run.ctx.log.sync()?;
    }
    Ok(troubles)
}
