//! The act that reads the SMART values of all drives.

use serde::{Deserialize, Serialize};

use super::act::needs;
use crate::{
    plan::{Act, Changes, Needs, Step},
    record::{ActResult, Event, Observation, When},
    run::{Execution, RunError, Troubles},
    tools::smartctl,
    units::Health,
};

/// Reads the SMART values of drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadSmart {
    pub when: When,
    /// The identities of the drives, one for each target of the step.
    pub drives: Vec<String>,
}

/// The SMART values of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Smart {
    pub health: Health,
}

crate::kind!("accept.smart", Smart as Observation);

impl Observation for Smart {}

/// The health of a drive as it is now; `None` if the drive is not there.
pub(super) fn health(run: &Execution<'_, '_>, identity: &str) -> Option<Health> {
    let inventory = run.ctx.world.inventory();
    let drive = inventory.drive(identity)?;
    Some(drive.health.clone().unwrap_or_else(|| smartctl::read(drive, run.ctx.world.runner(), true).1))
}

crate::kind!("accept.smart", ReadSmart as Act);

impl Act for ReadSmart {
    fn label(&self) -> String {
        match self.when {
            When::Before => "SMART before".to_owned(),
            When::After => "SMART after".to_owned(),
        }
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn describe(&self) -> Option<String> {
        Some("error counters, if the drive has any".to_owned())
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        let mut is_any = false;
        for (target, identity) in step.targets().zip(&self.drives) {
            let Some(health) = health(run, identity) else { continue };
            is_any = true;
            let result = ActResult { observed: Some(Smart { health }.into()), ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
        }
        if !is_any {
            run.ctx.emit(Event::Skipped { step: step.id })?;
        }
        Ok(Troubles::new())
    }
}
