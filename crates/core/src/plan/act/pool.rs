//! Build pools on drives that are erased, and remove them.

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, Needs, Step, Uncounted};
use crate::{
    record::ActResult,
    run::{Execution, RunError, Troubles},
    target::Target,
    units::Layout,
};

/// Erases drives and builds a pool of them, mounted at the path of the step's target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildPool {
    pub name: String,
    pub layout: Layout,
    /// Bytes.
    pub chunk: u64,
    /// Maximum bytes used of each drive.
    pub most: u64,
    /// The drives, by their identity.
    pub drives: Vec<String>,
}

/// Takes a member out of the pool of the step's target, and lets the kernel fill it as a new drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RebuildPool {
    /// Its number.
    pub member: u32,
    /// Maximum bytes written to it.
    pub most: u64,
}

/// Unmounts, stops and removes the pool of the step's target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemovePool {
    pub name: String,
}

/// Does something with the pool of each target of a step, and records it.
fn each(
    run: &mut Execution<'_, '_>,
    step: &Step,
    work: impl Fn(&mut Execution<'_, '_>, usize) -> Result<ActResult, RunError>,
) -> Result<Troubles, RunError> {
    run.ctx.watcher.begins(step);
    for target in step.targets() {
        let since = run.ctx.world.seconds();
        let result = work(run, target)?;
        let seconds = run.ctx.world.seconds() - since;
        run.emit_act(step.id, Some(target), ActResult { seconds, ..result })?;
    }
    Ok(Troubles::new())
}

crate::kind!("build_pool", BuildPool as Act);

impl Act for BuildPool {
    fn label(&self) -> String {
        "build".to_owned()
    }

    fn cost(&self) -> Cost {
        // Filling takes as long as the drives need.
        Cost { written: self.most, seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::Erases(self.drives.clone())
    }

    fn describe(&self) -> Option<String> {
        Some(match self.layout.is_redundant() {
            true => format!("{}, then wait until its drives agree", self.layout),
            false => self.layout.to_string(),
        })
    }

    fn needs(&self) -> Needs {
        Needs { finds_target: true, uncounted: Uncounted::All, ..Needs::default() }
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        each(run, step, |run, at| {
            let cancel = run.cancel.clone();
            let (target, result) = run.ctx.world.build_pool(at, &run.plan.targets[at], self, &cancel)?;
            let given = std::mem::take(&mut run.plan.targets[at].given);
            run.plan.targets[at] = Target { given, ..target };
            run.readable.remove(&at);
            Ok(result)
        })
    }
}

crate::kind!("rebuild_pool", RebuildPool as Act);

impl Act for RebuildPool {
    fn label(&self) -> String {
        "rebuild".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost { written: self.most, seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("a drive is taken out of the pool and filled again")
    }

    fn members(&self) -> Vec<u32> {
        vec![self.member]
    }

    fn describe(&self) -> Option<String> {
        Some(format!("drive {} is taken out and filled again, as a new one would be", self.member + 1))
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        each(run, step, |run, at| run.ctx.world.rebuild_pool(at, self, &run.cancel))
    }
}

crate::kind!("remove_pool", RemovePool as Act);

impl Act for RemovePool {
    fn label(&self) -> String {
        "remove".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost { seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("the pool is removed")
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        each(run, step, |run, at| {
            run.ctx.world.close(at)?;
            run.readable.remove(&at);
            run.ctx.world.remove_pool(at)
        })
    }
}
