//! `drivebench cleanup`: removes what killed runs left.

use std::process::ExitCode;

use super::Output;
use crate::{
    record::Store,
    run::{Leftover, LeftoverKind, sweep, waiting},
};

pub(super) fn cleanup(store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let left = [sweep(store.dir()), waiting(store.dir())].concat();
    let lines: String = left.iter().map(|one| describe(one) + "\n").collect();
    output.result(if left.is_empty() { "Nothing to clean up.\n" } else { &lines })?;
    Ok(if left.iter().all(|one| one.kept.is_none()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
