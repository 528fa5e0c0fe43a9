//! The changes of `drivebench pool`: an act that builds, repairs, scrubs or removes a pool. Each command is a run of its own.

mod course;
mod findings;
mod replace;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub use course::{Course, course};
pub use findings::{findings, summary};

use crate::{
    inventory::{Drive, Inventory},
    plan::{Act, Changes, Cost, Needs, Plan, Step, Steps},
    pool::{Build, config::Lines, health::Health},
    record::{ActResult, Observation},
    run::{
        self, BuildError, Building, Commands, Execution, PoolLog, Replacement, RunContext, RunError,
        Troubles, Wait,
    },
    target::{Kind, Target},
    tools::System,
};

/// A command on a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolCommand {
    /// The pool as it will be built; of one that is there, as it was before.
    pub build: Build,
    pub change: PoolChange,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolChange {
    /// Erases the drives and joins them.
    Create {
        /// The directory where it is mounted.
        mount: Option<PathBuf>,
        /// Lines of the system's configuration that mount it at every boot.
        keep: Vec<Lines>,
    },
    /// Has the kernel fill a drive in place of a member.
    Replace {
        replacement: Replacement,
        /// The identity of the new drive, which is erased, unless the array has it already.
        erases: Vec<String>,
    },
    /// Compares all copies, or data and parity. It corrects nothing.
    Scrub,
    Destroy {
        /// The identities of the drives that are erased.
        erases: Vec<String>,
        /// Labels of drives that are not here, and keep their part of the pool.
        absent: Vec<String>,
    },
}

/// Whether a record with this name is of a command on a pool.
pub fn is_pool_command(name: &str) -> bool {
    name.starts_with("pool-")
}

/// The result of a command on a pool that was completed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The most bytes that differ between its drives, if these were compared.
    pub differ: Option<u64>,
}

crate::kind!("pool_command", Outcome as Observation);

impl Observation for Outcome {}

/// Context of a command.
struct Site<'a> {
    store: &'a Path,
    /// The serials of the drives that may be erased.
    erase: &'a [String],
    tools: &'a System,
    commands: Commands<'a>,
    wait: Wait<'a>,
}

impl PoolCommand {
    /// The plan of this command. `drives` are those that no other run may use meanwhile, as they were shown.
    pub fn plan(self, drives: &[&Drive]) -> Plan {
        let target = Target {
            given: self.build.name.clone(),
            kind: Kind::BlockDevice,
            path: self.build.path().into(),
            drives: drives.iter().copied().cloned().collect(),
            direct_alignment: 512,
            ..Target::default()
        };
        let experiment = format!("pool-{}", self.label());
        let mut steps = Steps::default();
        steps.add(&[0], self);
        Plan { experiment, targets: vec![target], steps: steps.into(), ..Plan::default() }
    }

    fn carry_out(&self, site: &mut Site<'_>, shown: &[Drive]) -> Result<Outcome, BuildError> {
        let (build, name) = (&self.build, &self.build.name);
        match &self.change {
            PoolChange::Create { mount, keep } => {
                let shown: Vec<&Drive> = shown.iter().collect();
                let (claims, mut log) = run::begin(build, &shown, site.erase, site.store)?;
                let drives: Vec<String> = claims.0.iter().map(|claim| claim.drive().node()).collect();
                let (commands, cancel) = (&mut site.commands, site.wait.cancel);
                let mut building =
                    Building { build, drives: &drives, claims: &claims, log: &mut log, commands, cancel };
                building.join()?;
                building.complete(mount.as_deref(), keep)?;
            }
            PoolChange::Replace { replacement, .. } => {
                let new =
                    shown.first().ok_or_else(|| BuildError::Drives("the plan names no drive".to_owned()))?;
                replace::replace(site, name, replacement, new)?;
            }
            PoolChange::Scrub => {
                let (mut log, built) = PoolLog::open(site.store, name).map_err(BuildError::NoLog)?;
                let sectors = run::scrub(&built, &mut log, &mut site.commands, &mut site.wait)?;
                return Ok(Outcome { differ: Some(sectors * 512) });
            }
            PoolChange::Destroy { absent, .. } => {
                run::destroy(name, !absent.is_empty(), site.erase, site.store, &mut site.commands)?;
            }
        }
        Ok(Outcome::default())
    }
}

crate::kind!("pool_command", PoolCommand as Act);

impl Act for PoolCommand {
    fn label(&self) -> String {
        let label = match self.change {
            PoolChange::Create { .. } => "create",
            PoolChange::Replace { .. } => "replace",
            PoolChange::Scrub => "scrub",
            PoolChange::Destroy { .. } => "destroy",
        };
        label.to_owned()
    }

    /// It takes as long as its drives need.
    fn cost(&self) -> Cost {
        Cost { seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        match &self.change {
            PoolChange::Create { .. } => {
                Changes::Erases(self.build.members.iter().map(|member| member.identity.clone()).collect())
            }
            PoolChange::Replace { erases, .. } | PoolChange::Destroy { erases, .. } => {
                Changes::Erases(erases.clone())
            }
            PoolChange::Scrub => Changes::Nothing,
        }
    }

    fn describe(&self) -> Option<String> {
        None
    }

    fn needs(&self) -> Needs {
        Needs { measures_nothing: true, finds_target: true, ..Needs::default() }
    }

    fn require(&self, _: &Target, _: &Inventory, _: &Path) -> Result<(), String> {
        let (build, tools) = (&self.build, System::default());
        let (mount, steps) = match &self.change {
            PoolChange::Create { mount, .. } => (mount.as_deref(), build.steps()),
            PoolChange::Replace { replacement, .. } => (None, build.preparation(replacement.at)),
            PoolChange::Scrub | PoolChange::Destroy { .. } => (None, Vec::new()),
        };
        run::ready_for(build, &steps, mount, &tools).map_err(|e| e.to_string())?;
        let PoolChange::Create { keep, .. } = &self.change else { return Ok(()) };
        // An array or mapping of others.
        if run::exists(&build.path()) {
            return Err(format!("{} already exists: choose another --name", build.path()));
        }
        keep.iter().try_for_each(|lines| {
            let cannot = |e| format!("{} can't be changed: {e}", lines.file);
            run::can_keep(&build.name, lines).map_err(cannot)
        })
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        let since = run.ctx.world.seconds();
        let target = step.targets().next();
        let shown = target.map_or(&[][..], |at| &run.planned.targets[at].drives);
        let RunContext { world, watcher, store, .. } = &mut *run.ctx;
        let watcher = RefCell::new(&mut **watcher);
        let mut lines = Vec::new();
        // A modelled machine has no pools.
        let done = world.system().map(|tools| {
            let mut tenth = None;
            let mut shows = |health: &Health| {
                let Some(work) = &health.work else { return };
                let now = (work.done.unwrap_or(0.0) * 10.0) as u32;
                if tenth.replace(now) != Some(now) {
                    watcher.borrow_mut().waits(&work.describe());
                }
            };
            let says = &mut |command: &str| {
                watcher.borrow_mut().runs(command);
                lines.push(command.to_owned());
            };
            let commands = Commands { runner: tools, says, exists: &run::exists };
            let wait = Wait { shows: &mut shows, cancel: &run.cancel };
            self.carry_out(&mut Site { store, erase: world.erasable(), tools, commands, wait }, shown)
        });
        let seconds = run.ctx.world.seconds() - since;
        let trouble = match &done {
            Some(Ok(Outcome { differ: Some(1..) })) => Some("its drives do not agree".to_owned()),
            Some(Err(e)) => {
                let name = &self.build.name;
                Some(format!("{e}. For the state and what to do: drivebench pool status {name}"))
            }
            _ => None,
        };
        let observed = done.and_then(Result::ok).map(Into::into);
        let result = ActResult { seconds, commands: lines, observed, ..ActResult::default() };
        run.emit_act(step.id, target, result)?;
        Ok(target.zip(trouble).into_iter().collect())
    }
}
