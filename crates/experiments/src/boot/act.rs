//! Record how the machine started.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Boot, Boots, machine};
use crate::{
    inventory::{Drive, Inventory},
    plan::{Act, Changes, Cost, Needs, Step},
    record::{ActResult, Store},
    run::{Execution, RunError, Troubles},
    target::Target,
    tools::System,
};

/// Records how long this start of the machine took, by systemd's own times, and what was read from the step's target meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordBoot {}

impl RecordBoot {
    /// The time limit of a question to systemd, s.
    pub const SECONDS: f64 = 10.0;
}

crate::kind!("record_boot", RecordBoot as Act);

impl Act for RecordBoot {
    fn label(&self) -> String {
        "boot".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(Self::SECONDS)
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn describe(&self) -> Option<String> {
        Some("systemd's times of this boot, and bytes read so far".to_owned())
    }

    fn needs(&self) -> Needs {
        Needs { measures_nothing: true, ..Needs::default() }
    }

    fn require(&self, _: &Target, _: &Inventory, _: &Path) -> Result<(), String> {
        machine::finished(&System::default()).map(drop).map_err(|e| e.to_string())
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            let on = &run.plan.targets[target];
            let boots = match run.ctx.world.system() {
                Some(tools) => {
                    let this = machine::read(run.ctx.world.sysroot(), tools, on);
                    let this = this.map_err(|e| RunError::Act(e.to_string()))?;
                    let this = Boot { run: run.ctx.run.to_owned(), ..this };
                    let store = Store::at(run.ctx.store.to_owned());
                    let experiment = &run.planned.experiment;
                    let earlier = machine::earlier(&store, experiment, &this);
                    Boots { this, earlier }
                }
                None => modelled(on),
            };
            let seconds = run.ctx.world.seconds() - since;
            let result = ActResult { seconds, observed: Some(boots.into()), ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
        }
        Ok(Troubles::new())
    }
}

/// What a modelled machine has booted.
fn modelled(on: &Target) -> Boots {
    let root = on.drives.iter().map(Drive::identity).collect();
    let this = Boot { root, label: on.label(), userspace: 4.2, finish: 17.6, ..Boot::default() };
    Boots { this, earlier: Vec::new() }
}
