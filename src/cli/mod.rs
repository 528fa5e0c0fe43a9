//! The command line: one file a command. Nobody else prints.

mod advise;
mod args;
mod atomic_file;
mod bay;
mod capture;
mod export;
mod health;
mod import;
mod list;
mod options;
mod output;
mod progress;
mod report;
mod results;
mod run;
mod signals;
mod tree;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    compare::CompareError,
    experiments::PlanError,
    import::ImportError,
    inventory::BayError,
    plan::ProtocolError,
    record::StoreError,
    run::{LockError, sweep},
    target::TargetError,
};

use args::{Args, Command};
pub use output::Output;

/// What went wrong is the person's to mend in what was typed.
const USAGE: u8 = 2;

/// An error in the options that clap can't see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// Runs the command line and says how it went: 0 done, 1 failed, 2 bad input, 128 + signal interrupted.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => {
            // Where even the message can't be written, the exit code still tells.
            let _ = e.print();
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(USAGE));
        }
    };
    let output = Output::new(&args);
    // What a killed run left is removed by the next start, whatever that start is for.
    if let Ok(store) = results::store(&args.store) {
        output.swept(sweep(store.dir()));
    }
    let done = match &args.command {
        Command::Run(run) => run::run(run, &args.store, &output),
        Command::List(list) => list::list(list, &args.store, &output),
        Command::Advise(advise) => advise::answer(advise, &args.store, &output),
        Command::Capture(capture) => capture::capture(capture, &output),
        Command::Bay(bay) => bay::bay(bay, &output),
        Command::Report(report) => report::report(report, &args.store, &output),
        Command::Import(import) => import::import(import, &args.store, &output),
        Command::Results(results) => results::results(results, &args.store, &output),
    };
    match done {
        Ok(code) => code,
        Err(e) if is_closed_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            output.error(&e, hint(&e));
            ExitCode::from(code(&e))
        }
    }
}

/// Whoever read our output has seen enough, as `| head` has.
fn is_closed_pipe(e: &anyhow::Error) -> bool {
    e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn code(e: &anyhow::Error) -> u8 {
    let plan = |e: &PlanError| !matches!(e, PlanError::NoSpace { .. } | PlanError::NotWritable { .. });
    let usage = e.is::<Usage>()
        || e.is::<TargetError>()
        || e.is::<BayError>()
        || e.is::<ProtocolError>()
        || e.is::<CompareError>()
        || e.is::<ImportError>()
        || e.downcast_ref::<PlanError>().is_some_and(plan)
        || matches!(e.downcast_ref(), Some(StoreError::NoSuchRun { .. }));
    if usage { USAGE } else { 1 }
}

fn hint(e: &anyhow::Error) -> Option<String> {
    if let Some(e) = e.downcast_ref::<TargetError>() {
        return Some(e.hint());
    }
    if e.is::<BayError>() {
        return Some("`drivebench list` shows the bays, `drivebench bay` their names".to_owned());
    }
    let hint = match (e.downcast_ref(), e.downcast_ref()) {
        (Some(StoreError::Unwritable { .. } | StoreError::NoHome), _) => {
            "name another place for results with --store DIR"
        }
        (Some(StoreError::NoSuchRun { .. }), _) => "`drivebench results` lists all runs",
        (_, Some(LockError::Busy { .. })) => "wait for it with --wait, or measure another drive",
        _ => return None,
    };
    Some(hint.to_owned())
}
