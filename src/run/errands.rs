//! Errands: what is no load but part of an experiment.

use std::time::{Duration, Instant};

use super::{RunError, Setting};
use crate::{
    plan::{Errand, Task},
    record::Took,
};

/// How often a wait looks whether it should end.
const GLANCE: Duration = Duration::from_millis(50);

/// Does an errand and times it.
pub(super) fn run(errand: &Errand, setting: &Setting<'_>) -> Result<Took, RunError> {
    let since = Instant::now();
    match errand.task {
        Task::Pause { seconds } => pause(since, seconds, setting),
    }
    let cut_short = setting.cancel.is_set();
    Ok(Took { seconds: since.elapsed().as_secs_f64(), bytes: 0, cut_short })
}

fn pause(since: Instant, seconds: f64, setting: &Setting<'_>) {
    while !setting.cancel.is_set() {
        let left = seconds - since.elapsed().as_secs_f64();
        if left <= 0.0 {
            return;
        }
        std::thread::sleep(GLANCE.min(Duration::from_secs_f64(left)));
    }
}
