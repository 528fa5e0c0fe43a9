//! Time a sync.

use serde::{Deserialize, Serialize};

use crate::{
    plan::{Act, Changes, Cost, Step},
    record::{ActResult, Observation},
    run::{Execution, RunError, Troubles},
    units::decimal_bytes,
};

/// Waits until the drive has what was written to the scratch file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TimeSync {
    /// Bytes that were written before, of which the drive may have a part.
    pub bytes: u64,
}

/// How long a sync took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SyncResult {
    pub seconds: f64,
}

crate::kind!("synctime.sync", TimeSync as Act);

impl Act for TimeSync {
    fn label(&self) -> String {
        "sync".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost { seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn describe(&self) -> Option<String> {
        Some(format!("of {} in the page cache", decimal_bytes(self.bytes)))
    }

    /// What was written is in the page cache no more when the process has ended.
    fn continues(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            let path = &run.plan.targets[target].path;
            let failed = |source| RunError::Cool { path: path.clone(), source };
            run.ctx.world.cool(target, &run.cancel).map_err(failed)?;
            let seconds = run.ctx.world.seconds() - since;
            let (cut_short, observed) = (run.cancel.is_set(), Some(SyncResult { seconds }.into()));
            run.emit_act(
                step.id,
                Some(target),
                ActResult { seconds, cut_short, observed, ..ActResult::default() },
            )?;
        }
        Ok(Troubles::new())
    }
}

crate::kind!("synctime.sync", SyncResult as Observation);

impl Observation for SyncResult {}
