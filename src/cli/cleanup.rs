//! `drivebench cleanup`: removes what killed runs left.

use std::process::ExitCode;

use super::{Output, bay};
use crate::{
    record::Store,
    run::{Built, Leftover, LeftoverKind, pools, sweep, to_remove, waiting},
};

pub(super) fn cleanup(store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let left = [sweep(store.dir()), waiting(store.dir())].concat();
    let mut lines: Vec<String> = left.iter().map(describe).collect();
    lines.extend(pools_of_runs(store, output));
    if lines.is_empty() {
        lines.push("Nothing to clean up.".to_owned());
    }
    output.result(&(lines.join("\n") + "\n"))?;
    Ok(if left.iter().all(|one| one.kept.is_none()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Pools that runs built and did not remove. Removing them needs consent.
fn pools_of_runs(store: &Store, output: &Output) -> Vec<String> {
    let mut built = pools(store.dir()).0;
    built.retain(|pool| pool.is_of_run() && !pool.busy);
    if built.is_empty() {
        return Vec::new();
    }
    let inventory = bay::here(output);
    let line = |pool: &Built| {
        let name = &pool.build.name;
        format!(
            "The pool {name} of an interrupted run was not removed; to remove it: {}",
            to_remove(pool, &inventory)
        )
    };
    built.iter().map(line).collect()
}

pub(super) fn describe(left: &Leftover) -> String {
    let Leftover { path, ended, kept } = left;
    let path = path.display();
    match (kept, left.kind()) {
        (None, LeftoverKind::Zswap) => format!("Turned zswap off again, which {ended} had turned on."),
        (None, LeftoverKind::ControlGroup) => {
            format!("Ended what ran in the control group {path}, left by {ended}, and removed it.")
        }
        (None, LeftoverKind::Drive) => {
            // A host is told to look for its disks; whether this one answers is not known.
            let done = match left.path.ends_with("scan") {
                true => "Had the system look for the drive at",
                false => "Brought back the drive at",
            };
            format!(
                "{done} {path}, taken away by {ended}. If it is of a pool, `drivebench list` says whether the pool lacks it, and some \
                 seconds later the command that gives it back."
            )
        }
        (None, LeftoverKind::SwapDevice) => format!(
            "The kernel no longer swaps to {path}, as {ended} had it do; the signature of swap is still on it."
        ),
        (None, LeftoverKind::File) => format!("Removed {path}, left by {ended}."),
        (Some(kept), _) => {
            format!("{path}, left by {ended}, can't be removed ({}): {}", kept.why, kept.remedy)
        }
    }
}
