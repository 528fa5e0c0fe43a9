//! How long a plan takes at most. The run ends within that.

use serde::{Deserialize, Serialize};

use super::{Measure, Plan, Step};

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

impl Plan {
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
    pub(super) fn time<'a>(
        &self,
        steps: impl Iterator<Item = &'a Step> + Clone,
        targets: usize,
    ) -> Option<f64> {
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
