//! A plan: the steps of a run and their cost. Planning touches no drive.

mod act;
mod describe;
mod suite;

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

pub use act::{
    Act, AnyAct, AtLeast, BuildPool, Changes, Consent, FILL, FileSet, FileWork, Files, Measure, MoveDrives,
    Needs, RebuildPool, RemovePool, Rule, ScratchFile, Uncounted, zone_bytes,
};
pub use suite::{Suite, SuiteError, SuiteLoad, Until};

use crate::{
    inventory::Inventory,
    target::Target,
    units::{decimal_bytes, distinct},
};

/// The maximum number of targets: more than any machine has drives.
const MOST_DRIVES: usize = 4096;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub experiment: String,
    pub suite: Option<String>,
    /// The requested engine; `None` leaves the choice to the run.
    pub engine: Option<String>,
    /// The targets; steps refer to them by position.
    pub targets: Vec<Target>,
    pub steps: Vec<Step>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// The time limit of the run; published procedures have none.
    pub limit: Option<TimeLimit>,
}

/// Maximum time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeLimit {
    pub seconds: f64,
    /// Whether the limit is for all targets together, not for each.
    pub together: bool,
}

/// Maximum time to start and end a load, s, without the drive's first and last operation.
const START: f64 = 0.05;
/// The same time with fio.
const START_FIO: f64 = 0.5;

/// Why a plan can't be executed here, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Impossible(String);

/// The number of each step among those with the same label and targets, from 1, and how many there are.
pub type Repetitions = BTreeMap<StepId, (u32, u32)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u32);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub id: StepId,
    /// Positions of its targets in the plan.
    pub on: Vec<u32>,
    /// The step is skipped if this doesn't hold.
    pub needs: Option<Condition>,
    pub act: AnyAct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The load of an earlier step had a cliff on all targets of this step.
    Cliff { of: StepId },
    /// On one of its targets, the rounds of its load without a condition leave the interval wider than was aimed at.
    Wide,
}

impl Step {
    pub fn is_on(&self, target: usize) -> bool {
        self.targets().any(|t| t == target)
    }

    pub fn targets(&self) -> impl Iterator<Item = usize> + '_ {
        self.on.iter().map(|&t| t as usize)
    }
}

/// A list of steps under construction. Each step gets its id when it is added.
#[derive(Debug, Default)]
pub struct Steps {
    steps: Vec<Step>,
    files: Vec<WantedFile>,
}

/// A scratch file whose size was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WantedFile {
    pub target: usize,
    pub bytes: u64,
    pub asked: u64,
}

/// A scratch file that is smaller than asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Position of the target in the plan.
    pub target: u32,
    pub asked: u64,
    pub bytes: u64,
    pub by: CutBy,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutBy {
    /// `kept` of the free bytes stay free.
    FreeSpace { free: u64, kept: u64 },
    /// The largest file of the filesystem.
    LargestFile { filesystem: String },
}

impl Cut {
    /// By how much, and why.
    pub fn describe(&self) -> String {
        let [asked, bytes] = [self.asked, self.bytes].map(decimal_bytes);
        let why = match &self.by {
            CutBy::FreeSpace { free, kept } => {
                let [free, kept] = [*free, *kept].map(decimal_bytes);
                format!("{free} are free, of which {kept} stay free for others")
            }
            CutBy::LargestFile { filesystem } => format!("no file on {filesystem} is larger"),
        };
        format!("cut from {asked} to {bytes}: {why}")
    }
}

impl Steps {
    pub fn add(&mut self, on: &[usize], act: impl Into<AnyAct>) -> StepId {
        self.add_if(None, on, act)
    }

    /// Adds a scratch file, which may be smaller than asked.
    pub fn add_file(&mut self, target: usize, bytes: u64, asked: u64) {
        self.files.push(WantedFile { target, bytes, asked });
        self.add(&[target], ScratchFile { bytes });
    }

    pub fn files(&self) -> &[WantedFile] {
        &self.files
    }

    pub fn add_if(
        &mut self,
        needs: impl Into<Option<Condition>>,
        on: &[usize],
        act: impl Into<AnyAct>,
    ) -> StepId {
        let (id, on) = (StepId(self.steps.len() as u32), on.iter().map(|&t| t as u32).collect());
        self.steps.push(Step { id, on, needs: needs.into(), act: act.into() });
        id
    }
}

impl From<Steps> for Vec<Step> {
    fn from(steps: Steps) -> Self {
        steps.steps
    }
}

/// The maximum cost of a plan for one target.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    pub written: u64,
    pub read: u64,
    /// Seconds at most; `None` without a limit.
    pub seconds: Option<f64>,
}

impl Cost {
    /// The cost of an act that only takes time.
    pub fn of_seconds(seconds: f64) -> Self {
        Self { seconds: Some(seconds), ..Self::default() }
    }
}

impl Plan {
    /// Refuses a plan that can't be executed, as a damaged or edited record may contain.
    pub fn check(&self) -> Result<(), String> {
        let all = self.targets.len();
        if all > MOST_DRIVES {
            return Err(format!("has {all} targets, more than {MOST_DRIVES}"));
        }
        for (at, step) in self.steps.iter().enumerate() {
            let wrong = |what: String| Err(format!("step {at} {what}"));
            if step.id.0 as usize != at {
                return wrong(format!("is numbered {}", step.id.0));
            }
            if let Some(target) = step.targets().find(|target| *target >= all) {
                return wrong(format!("is on target {target}, but there are {all}"));
            }
            let nameless = || self.targets.iter().any(|target| target.drives.is_empty());
            if step.act.get::<MoveDrives>().is_some_and(|a| a.bays.len() != all || nameless()) {
                return wrong("moves other drives than those of the targets".to_owned());
            }
            let drives = step.targets().map(|at| self.build(at).map_or(0, |build| build.drives.len()));
            let fewest = drives.min().unwrap_or(0);
            if let Some(member) = step.act.members().into_iter().find(|member| *member as usize >= fewest) {
                return wrong(format!("names member {member} of {fewest}"));
            }
            step.act.check_all().or_else(wrong)?;
        }
        Ok(())
    }

    /// Refuses, before anything is changed, what can't be done here.
    pub fn require(&self, inventory: &Inventory, store: &Path) -> Result<(), Impossible> {
        self.steps.iter().try_for_each(|step| {
            let mut targets = step.targets().map(|at| &self.targets[at]);
            targets.try_for_each(|on| step.act.require(on, inventory, store)).map_err(Impossible)
        })
    }

    /// Why the file on a target is smaller than asked.
    pub fn cut(&self, target: usize) -> Option<&Cut> {
        self.cuts.iter().find(|cut| cut.target as usize == target)
    }

    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    pub fn measures(&self) -> impl Iterator<Item = (&Step, &Measure)> {
        self.acts::<Measure>()
    }

    pub fn measure(&self, id: StepId) -> Option<&Measure> {
        self.step(id)?.act.get()
    }

    pub fn files(&self) -> impl Iterator<Item = (&Step, &Files)> {
        self.acts::<Files>()
    }

    pub fn arrangements(&self) -> impl Iterator<Item = (&Step, &MoveDrives)> {
        self.acts::<MoveDrives>()
    }

    /// The steps that build pools, each with the position of its target.
    pub fn builds(&self) -> impl Iterator<Item = (usize, &BuildPool)> {
        let builds = self.acts::<BuildPool>();
        builds.filter_map(|(step, build)| Some((step.targets().next()?, build)))
    }

    /// Whether its targets may lack drives.
    pub fn accepts_missing_drives(&self) -> bool {
        self.steps.iter().any(|step| step.act.needs().accepts_missing_drives)
    }

    /// Whether it measures nothing, so that other activity of the machine doesn't matter.
    pub fn measures_nothing(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.act.needs().measures_nothing)
    }

    /// Whether an act finds or makes this target, which may not exist before.
    pub fn is_found_by_act(&self, target: usize) -> bool {
        self.steps.iter().any(|step| step.is_on(target) && step.act.needs().finds_target)
    }

    /// The identities of the drives whose content is lost or at risk.
    pub fn erased(&self) -> Vec<String> {
        let erased = self.steps.iter().flat_map(|step| match step.act.changes() {
            Changes::Erases(drives) | Changes::PutsBack(drives) => drives,
            _ => Vec::new(),
        });
        distinct(erased)
    }

    /// The step that builds the pool of a target; `None` for targets that exist before the run.
    pub fn build(&self, target: usize) -> Option<&BuildPool> {
        self.builds().find(|(at, _)| *at == target).map(|(_, build)| build)
    }

    /// The steps with an act of this kind.
    pub fn acts<T: Act>(&self) -> impl Iterator<Item = (&Step, &T)> {
        self.steps.iter().filter_map(|step| Some((step, step.act.get()?)))
    }

    pub fn repetitions(&self) -> Repetitions {
        let mut same: BTreeMap<(&[u32], String), Vec<StepId>> = BTreeMap::new();
        for step in &self.steps {
            same.entry((&step.on, step.act.label())).or_default().push(step.id);
        }
        let numbered = |ids: Vec<StepId>| {
            let all = ids.len() as u32;
            ids.into_iter().zip(1..).map(move |(id, nth)| (id, (nth, all)))
        };
        same.into_values().flat_map(numbered).collect()
    }

    /// The name of a bay for people, if one of the targets was in it when this was planned.
    pub fn bay_name(&self, full: &str) -> String {
        let here = self.targets.iter().flat_map(|t| &t.drives).find(|d| d.full_bay() == full);
        let named = here.and_then(|d| d.bay_name.clone().or_else(|| d.bay.clone()));
        named.unwrap_or_else(|| full.to_owned())
    }

    pub fn cost(&self, target: usize) -> Cost {
        let steps = || self.steps.iter().filter(|step| step.is_on(target));
        let sum =
            |bytes: fn(Cost) -> u64| steps().map(|step| bytes(step.act.cost())).fold(0, u64::saturating_add);
        Cost {
            written: sum(|cost| cost.written),
            read: sum(|cost| cost.read),
            seconds: self.time(steps(), 1),
        }
    }

    /// How long the machine is watched for other activity before the first step, s.
    pub fn watched(&self) -> f64 {
        if self.measures_nothing() {
            return 0.0;
        }
        self.limit.map_or(1.0, |limit| limit.seconds / 10.0).min(1.0)
    }

    /// Maximum seconds of all steps, one after the other; `None` without a limit.
    pub fn seconds(&self) -> Option<f64> {
        self.time(self.steps.iter(), self.targets.len())
    }

    /// Maximum seconds of these steps on this number of targets.
    fn time<'a>(&self, steps: impl Iterator<Item = &'a Step> + Clone, targets: usize) -> Option<f64> {
        let most = self.limit.map(|limit| limit.seconds * if limit.together { 1.0 } else { targets as f64 });
        let open = steps.clone().any(|step| step.act.is_open_ended());
        let sum: Option<f64> = steps.map(|step| self.most(step)).sum();
        match (most, sum.map(|sum| sum + self.watched())) {
            (Some(most), Some(sum)) if !open => Some(sum.min(most)),
            (most, sum) => most.or(sum),
        }
    }

    /// Maximum seconds of a step that other steps reserve for it; 0 if it may be skipped.
    pub(crate) fn needed(&self, step: &Step) -> f64 {
        if step.needs.is_some() { 0.0 } else { self.most(step).unwrap_or(0.0) }
    }

    /// Maximum seconds of a step, if it ends at its own limit.
    pub fn most(&self, step: &Step) -> Option<f64> {
        let start = match (step.act.is::<Measure>(), self.engine.as_deref()) {
            (true, Some("fio")) => START_FIO,
            (true, _) => START,
            (false, _) => 0.0,
        };
        Some(step.act.cost().seconds? + start)
    }
}
