//! Records how the machine started.

use super::{Execution, RunError, Troubles};
use crate::{
    plan::{RecordBoot, Step},
    record::ActResult,
};

pub(crate) fn record(
    run: &mut Execution<'_, '_>,
    step: &Step,
    act: &RecordBoot,
) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let mut boots = run.ctx.world.boot(&run.plan.targets[target], act, &run.planned.experiment)?;
        let machine = &run.ctx.inventory.machine;
        (boots.this.linux, boots.this.system) = (machine.linux(), machine.system.clone());
        boots.this.computer = machine.computer();
        let seconds = run.ctx.world.seconds() - since;
        let result = ActResult { seconds, observed: Some(boots.into()), ..ActResult::default() };
        run.emit_act(step.id, Some(target), result)?;
    }
    Ok(Troubles::new())
}
