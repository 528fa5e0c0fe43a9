//! The changes of `drivebench pool`: an act that builds, repairs, scrubs or removes a pool. Each command is a run of its own.

mod replace;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub use replace::{Course, course};

use super::common::{self, Series};
use crate::{
    findings::{Column, Findings, Table},
    inventory::{Drive, Inventory},
    plan::{Act, Changes, Cost, Needs, Plan, Step, Steps},
    pool::{Build, config::Lines, health::Health},
    record::{ActResult, Event, Observation, Run},
    run::{
        self, BuildError, Building, Commands, Execution, PoolLog, Replacement, RunContext, RunError,
        Troubles, Wait,
    },
    sysroot::Sysroot,
    target::{Kind, Target},
    tools::System,
    units::{clean, count, decimal_bytes, listed, size},
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

    fn needs(&self) -> Needs {
        Needs { measures_nothing: true, finds_target: true, ..Needs::default() }
    }

    fn require(&self, _: &Target, inventory: &Inventory, store: &Path) -> Result<(), String> {
        let (build, tools) = (&self.build, System::default());
        let Build { name, layout, .. } = build;
        match &self.change {
            PoolChange::Create { .. } if run::pools(store).0.iter().any(|pool| pool.build.name == *name) => {
                return Err(format!("there is a pool {name}: drivebench pool status {name}"));
            }
            PoolChange::Scrub if !layout.is_redundant() => {
                return Err(format!("{name} is {layout}: it has no copies and no parity to compare"));
            }
            PoolChange::Scrub => {
                let now = build.health(&Sysroot::live(), inventory);
                if now.work.is_some() || now.missing > 0 {
                    let why = if now.missing > 0 { "lacks members" } else { "is being filled or compared" };
                    return Err(format!("{name} {why}: drivebench pool status {name}"));
                }
            }
            _ => {}
        }
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

/// The findings of a record; the same record always gives the same findings.
pub fn findings(record: &mut dyn Iterator<Item = Event>) -> Findings {
    let found = common::findings(common::read(record), results);
    // Nothing was measured.
    Findings { context: Vec::new(), spent: None, reproduce: Vec::new(), ..found }
}

fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    findings.experiment.clone_from(&plan.experiment);
    for (step, command) in plan.acts::<PoolCommand>() {
        let Some(result) = run.acts.get(&(step.id, 0)) else { continue };
        findings.verdicts.extend(result.get().map(|outcome| verdict(command, outcome)));
        let title = "The commands that were run".to_owned();
        let rows = result.commands.iter().map(|command| vec![command.clone()]).collect();
        findings.details.tables.push(Table { title, columns: Column::all([("command", false)]), rows });
    }
}

/// The result for the pool, and what to do.
fn verdict(command: &PoolCommand, outcome: &Outcome) -> String {
    let (build, name) = (&command.build, &command.build.name);
    match (&command.change, outcome.differ.unwrap_or(0)) {
        (PoolChange::Replace { replacement, .. }, _) => {
            let new = &replacement.member;
            let old = build.members.get(replacement.at).filter(|old| old.identity != new.identity);
            let rest = old.map(|old| {
                format!(
                    " {} keeps its part of it: wipefs --all its partition before it has another use.",
                    clean(&old.label)
                )
            });
            format!("{} is now a drive of {name}.{}", new.label, rest.unwrap_or_default())
        }
        (PoolChange::Scrub, 0) => format!("{name}: all copies and parity agree."),
        // md counts pieces of up to 64 KiB.
        (PoolChange::Scrub, differ) => format!(
            "{name}: at most {} differ between its drives. Which copy is right is not known: compare with a backup.",
            size(differ)
        ),
        (PoolChange::Destroy { erases, absent }, _) => {
            let absent = match absent.is_empty() {
                true => String::new(),
                false => format!(" Not plugged in, so not erased: {}.", listed(absent)),
            };
            let erased = count(erases.len() as u64, "drive");
            format!("{name} is removed; {erased} erased.{absent}")
        }
        (PoolChange::Create { .. }, _) => {
            let once = match build.layout.is_redundant() {
                true => format!(" after its first sync (drivebench pool status {name})"),
                false => String::new(),
            };
            format!("{} is built: {}{once}.", build.path(), summary(build))
        }
    }
}

/// Layout, name, capacity and redundancy of a pool.
pub fn summary(build: &Build) -> String {
    let members = build.members.len();
    let survives = match build.layout.survives(members) {
        0 => "if one drive fails, the pool is lost".to_owned(),
        n => format!("survives the failure of any {}", count(n as u64, "drive")),
    };
    let holds = decimal_bytes(build.capacity.saturating_mul(512));
    let (layout, name, drives) = (build.layout, &build.name, count(members as u64, "drive"));
    format!("{layout} {name} of {drives}, {holds} for {}; {survives}", build.filesystem.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{Drive, Inventory},
        pool::testing::request,
        run::Replacement,
        units::Layout,
    };

    fn drives() -> [Drive; 2] {
        ["A", "B"].map(|serial| Drive {
            name: format!("sd{}", serial.to_lowercase()),
            serial: Some(serial.to_owned()),
            sectors: 400_000,
            logical_block: 512,
            ..Drive::default()
        })
    }

    fn command(change: PoolChange) -> PoolCommand {
        let build = request(Layout::Raid1).plan(&Inventory::default(), &drives().each_ref());
        PoolCommand { build: build.expect("fits"), change }
    }

    #[test]
    fn a_plan_names_what_it_erases_and_is_recorded_under_its_name() {
        let drives = drives();
        let identities: Vec<String> = drives.iter().map(Drive::identity).collect();
        let planned = |change| {
            let plan = command(change).plan(&drives.each_ref());
            plan.check().expect("a plan");
            let json = serde_json::to_string(&plan).expect("JSON");
            assert_eq!(serde_json::from_str::<Plan>(&json).expect("a plan"), plan);
            assert!(super::is_pool_command(&plan.experiment) && plan.measures_nothing());
            (plan.experiment.clone(), plan.erased())
        };
        let all = |name: &str, erased: &[String]| (name.to_owned(), erased.to_vec());
        let create = planned(PoolChange::Create { mount: None, keep: Vec::new() });
        assert_eq!(create, all("pool-create", &identities));
        assert_eq!(planned(PoolChange::Scrub), all("pool-scrub", &[]));
        let erases = identities[..1].to_vec();
        let destroy = planned(PoolChange::Destroy { erases, absent: Vec::new() });
        assert_eq!(destroy, all("pool-destroy", &identities[..1]));
    }

    #[test]
    fn what_became_of_a_pool_is_said() {
        let destroy = |absent: &[&str]| PoolChange::Destroy {
            erases: vec!["A".to_owned()],
            absent: absent.iter().map(|label| (*label).to_owned()).collect(),
        };
        let create = command(PoolChange::Create { mount: None, keep: Vec::new() });
        let replaced = |at: usize| {
            let replacement = Replacement { at, member: create.build.members[1].clone() };
            let replace = command(PoolChange::Replace { replacement, erases: Vec::new() });
            verdict(&replace, &Outcome::default())
        };
        let compared = |differ| verdict(&command(PoolChange::Scrub), &Outcome { differ: Some(differ) });
        insta::assert_snapshot!(
            [
                verdict(&create, &Outcome::default()),
                replaced(0),
                replaced(1),
                compared(0),
                compared(65_536),
                verdict(&command(destroy(&[])), &Outcome::default()),
                verdict(&command(destroy(&["drive sdb B"])), &Outcome::default()),
            ]
            .join("\n")
        );
    }
}
