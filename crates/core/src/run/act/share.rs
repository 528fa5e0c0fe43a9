//! A client uses a share.

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{Errand, Part, ShareTest, Step, Via},
    record::{ActResult, ShareLoad},
};

pub(crate) fn perform(
    run: &mut Execution<'_, '_>,
    step: &Step,
    act: &ShareTest,
) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let (on, cancel) = (run.plan.targets[target].clone(), run.cancel.clone());
        let watcher = &mut *run.ctx.watcher;
        let given = on.given.clone();
        let mut says = |text: &str| watcher.waits(&format!("{given}: {text}"));
        let (shared, done) = run.ctx.world.share((target, &on), act, &cancel, &mut says);
        let seconds = run.ctx.world.seconds() - since;
        // Another server is given its files by drivebench.
        let is_written = |load: &&ShareLoad| match load.via {
            Via::Existing => load.errand != Errand::ReadRandom,
            via => load.errand.puts() && via.has(Part::Drive),
        };
        let bytes = shared.loads.iter().filter(is_written);
        let repetitions = shared.loads.iter().map(|load| load.run).max().unwrap_or(0);
        // Once more after each start of the server.
        let warm = act.moved(Errand::Put).saturating_mul(u64::from(repetitions));
        let bytes = bytes.map(|load| load.bytes).sum::<u64>().saturating_add(warm);
        run.account(target, bytes, bytes);
        // What was measured until it ended is kept; to resume means to begin again.
        let cut_short = done.is_err();
        let observed = Some(shared.into());
        run.emit_act(
            step.id,
            Some(target),
            ActResult { seconds, bytes, cut_short, observed, ..ActResult::default() },
        )?;
        done?;
    }
    Ok(Troubles::new())
}
