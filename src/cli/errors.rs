//! Errors of the command line: their exit codes, and hints at what to do.

use crate::{
    compare::CompareError, experiments::PlanError, import::ImportError, inventory::BayError,
    plan::SuiteError, record::StoreError, run::LockError, target::TargetError,
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
        || e.is::<BayError>()
        || e.is::<SuiteError>()
        || e.is::<CompareError>()
        || e.is::<ImportError>()
        || e.downcast_ref::<PlanError>().is_some_and(plan)
        || matches!(e.downcast_ref(), Some(StoreError::NoSuchRun { .. } | StoreError::Complete(_)));
    if usage { USAGE } else { 1 }
}

pub(super) fn hint(e: &anyhow::Error) -> Option<String> {
    if let Some(e) = e.downcast_ref::<TargetError>() {
        return Some(e.hint());
    }
    let hint = match (e.downcast_ref(), e.downcast_ref()) {
        (Some(StoreError::Unwritable { .. } | StoreError::NoHome), _) => {
            "choose another directory with --store DIR"
        }
        (Some(StoreError::NoSuchRun { .. }), _) => "`drivebench results` lists all runs",
        (_, Some(LockError::Busy { .. })) => "wait for it with --wait, or measure another drive",
        _ if e.is::<BayError>() => "`drivebench list` shows the bays, `drivebench bay` their names",
        _ => return None,
    };
    Some(hint.to_owned())
}
