//! Errands: what is no load but part of an experiment.

use std::time::{Duration, Instant};

use super::{RunError, Setting, files::Files, folder::Work};
use crate::{
    inventory::Target,
    plan::{Errand, Task},
    record::Took,
};

/// How often a wait looks whether it should end.
const GLANCE: Duration = Duration::from_millis(50);

/// Does an errand and times it; says what went wrong on the way, where what was done before that still counts.
pub(super) fn run(
    errand: &Errand,
    target: &Target,
    files: &mut Files,
    setting: &Setting<'_>,
) -> Result<(Took, Option<String>), RunError> {
    let since = Instant::now();
    match errand.task {
        Task::Pause { seconds } => pause(since, seconds, setting),
        Task::WriteFiles { set, seed, seconds, .. } => {
            let folder = files.folder(errand.target, target)?;
            return Ok(folder.work(Work::Write { set, seed }, seconds, setting.cancel));
        }
        Task::ReadFiles { set, seconds } => {
            let folder = files.folder(errand.target, target)?;
            return Ok(folder.work(Work::Read { set }, seconds, setting.cancel));
        }
    }
    let cut_short = setting.cancel.is_set();
    Ok((Took { seconds: since.elapsed().as_secs_f64(), cut_short, ..Took::default() }, None))
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
