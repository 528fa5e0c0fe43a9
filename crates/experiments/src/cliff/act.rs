//! Wait without a load.

use serde::{Deserialize, Serialize};

use crate::{
    plan::{Act, Changes, Cost, Step},
    record::ActResult,
    run::{Execution, RunError, Troubles},
    units::duration,
};

/// No load on a drive for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pause {
    pub seconds: f64,
}

crate::kind!("pause", Pause as Act);

impl Act for Pause {
    fn label(&self) -> String {
        "pause".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(self.seconds)
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn describe(&self) -> Option<String> {
        Some(format!("idle for {}", duration(self.seconds)))
    }

    fn continues(&self) -> bool {
        true
    }

    fn prepares(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        let since = run.ctx.world.seconds();
        run.ctx.world.wait(self.seconds, &run.cancel);
        let seconds = run.ctx.world.seconds() - since;
        for target in step.targets() {
            let cut_short = run.cancel.is_set();
            run.emit_act(step.id, Some(target), ActResult { seconds, cut_short, ..ActResult::default() })?;
        }
        Ok(Troubles::new())
    }
}
