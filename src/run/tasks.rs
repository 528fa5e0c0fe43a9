//! Errands: what is no load but part of an experiment.

use std::time::{Duration, Instant};

use super::{RunContext, RunError, open_targets::Files, scratch_dir::Work, standby};
use crate::{
    conditions::Snapshot,
    plan::{Errand, Task},
    record::{StandbyResult, TaskResult},
    target::Target,
    tools::System,
};

/// How often a wait looks whether it should end.
const GLANCE: Duration = Duration::from_millis(50);

/// Does an errand and times it; says what went wrong on the way, where what was done before that still counts.
pub(super) fn run(
    errand: &Errand,
    target: &Target,
    files: &mut Files,
    setting: &RunContext<'_>,
) -> Result<(TaskResult, Option<String>), RunError> {
    let since = Instant::now();
    let mut slept = None;
    match &errand.task {
        Task::Pause { seconds } => pause(*seconds, setting),
        Task::Standby { device, patience } => slept = Some(sleep(device, *patience, target, files, setting)?),
        Task::WriteFiles { set, seed, seconds, .. } => {
            let folder = files.folder(errand.target, target)?;
            return Ok(folder.work(Work::Write { set: *set, seed: *seed }, *seconds, setting.cancel));
        }
        Task::ReadFiles { set, seconds } => {
            let folder = files.folder(errand.target, target)?;
            return Ok(folder.work(Work::Read { set: *set }, *seconds, setting.cancel));
        }
    }
    let cut_short = setting.cancel.is_set();
    Ok((
        TaskResult { seconds: since.elapsed().as_secs_f64(), cut_short, slept, ..TaskResult::default() },
        None,
    ))
}

fn pause(seconds: f64, setting: &RunContext<'_>) {
    let since = Instant::now();
    while !setting.cancel.is_set() {
        let left = seconds - since.elapsed().as_secs_f64();
        if left <= 0.0 {
            return;
        }
        std::thread::sleep(GLANCE.min(Duration::from_secs_f64(left)));
    }
}

/// Brings the target's drive to sleep, and looks who else moved something on it meanwhile.
fn sleep(
    device: &str,
    patience: f64,
    target: &Target,
    files: &Files,
    setting: &RunContext<'_>,
) -> Result<StandbyResult, RunError> {
    let store = setting.store.to_str().and_then(|path| Target::resolve(setting.inventory, path).ok());
    let same = |name: &str| target.drives.iter().any(|drive| drive.name == name);
    if store.iter().flat_map(|store| &store.drives).any(|drive| same(&drive.name)) {
        return Err(RunError::StoreWakes(device.to_owned()));
    }
    let before = Snapshot::take(setting.sysroot, &target.drives);
    let slept = standby::send(device, patience, files.journal(), &System::default(), &mut |seconds| {
        pause(seconds, setting);
        !setting.cancel.is_set()
    })?;
    let after = Snapshot::take(setting.sysroot, &target.drives);
    let moved = target.drives.iter().filter_map(|drive| before.between(&after, &drive.name));
    Ok(StandbyResult { others: moved.map(|did| did.read + did.written).sum(), ..slept })
}
