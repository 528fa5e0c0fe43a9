//! Errors of the command line: their exit codes, and hints at what to do.

use crate::{
    compare::CompareError,
    danger::Refusal,
    experiments::PlanError,
    import::ImportError,
    inventory::BayError,
    plan::{Impossible, SuiteError},
    record::StoreError,
    run::LockError,
    target::TargetError,
};

/// The exit code for errors in what was typed.
pub const USAGE: u8 = 2;

/// An error in the options that clap can't detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Whether the reader of standard output has closed it, as `| head` does.
pub(super) fn is_closed_pipe(e: &anyhow::Error) -> bool {
    e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

pub(super) fn code(e: &anyhow::Error) -> u8 {
    let plan = |e: &PlanError| !matches!(e, PlanError::NoSpace { .. } | PlanError::NotWritable { .. });
    let usage = e.is::<Usage>()
        || e.is::<TargetError>()
        || e.is::<Refusal>()
        || e.is::<BayError>()
        || e.is::<Impossible>()
        || e.is::<SuiteError>()
        || e.is::<CompareError>()
        || e.is::<ImportError>()
        || e.downcast_ref::<PlanError>().is_some_and(plan)
        || matches!(e.downcast_ref(), Some(StoreError::NoSuchRun { .. } | StoreError::Complete(_)));
    if usage { USAGE } else { 1 }
}

/// A hint at what to do; `command` completes a command for the store of this one.
pub(super) fn hint(e: &anyhow::Error, command: impl Fn(&str) -> String) -> Option<String> {
    if let Some(e) = e.downcast_ref::<TargetError>() {
        return Some(e.hint());
    }
    if let Some(PlanError::TooSmall { path, .. }) = e.downcast_ref() {
        let dir = path.parent().unwrap_or(path).display();
        return Some(format!("name its directory, {dir}, to measure the drive with a file of its own"));
    }
    match e.downcast_ref() {
        Some(StoreError::NoSuchRun { .. }) => {
            return Some(format!("`{}` lists all runs", command("results")));
        }
        Some(StoreError::Complete(run)) => {
            return Some(format!("`{}` shows it", command(&format!("show {run}"))));
        }
        Some(StoreError::Unwritable { .. } | StoreError::NoHome) => {
            return Some("choose another directory with --store DIR".to_owned());
        }
        _ => {}
    }
    let hint = match e.downcast_ref() {
        Some(PlanError::Unsuitable { .. }) => "`drivebench list` shows the drives and where they are mounted",
        Some(PlanError::Alignment { .. }) => "4k is 4 KiB, 4kB is 4000 bytes",
        _ if e.is::<BayError>() => "`drivebench list` shows the bays, `drivebench bay` their names",
        _ if matches!(e.downcast_ref(), Some(SuiteError::Unknown(_))) => {
            "use one of these, or the path of a suite's file"
        }
        _ if matches!(e.downcast_ref(), Some(LockError::Busy(_))) => {
            "wait for it with --wait, or measure another drive"
        }
        _ if matches!(e.downcast_ref(), Some(CompareError::Unlike { .. })) => {
            "measure both with the same load, or compare them anyway with --force"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
