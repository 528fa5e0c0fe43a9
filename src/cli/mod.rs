//! The command line: one file a command. Nobody else prints.

mod advise;
mod args;
mod bay;
mod capture;
mod cleanup;
mod completions;
mod errors;
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
mod stored;
mod tree;

use std::process::ExitCode;

use clap::{
    CommandFactory, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};

use args::{Args, Command};
use errors::{USAGE, code, hint, is_closed_pipe};
use output::Output;

/// Where an unknown command exists one level deeper: `results export` for `export`, `run baseline` for `baseline`.
fn nested(e: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = e.get(ContextKind::InvalidSubcommand) else { return None };
    let command = Args::command();
    let has = |group: &&clap::Command| group.get_subcommands().any(|command| command.get_name() == typed);
    let group = command.get_subcommands().find(has)?.get_name();
    Some(format!("did you mean `drivebench {group} {typed}`?"))
}

/// The indentation of a line, and the rest.
fn indented(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start().len())
}

/// Runs the command line and says how it went: 0 done, 1 failed, 2 bad input, 128 + signal interrupted.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(mut e) => {
            // No target begins with dashes, so the tip to write `-- --option` misleads.
            if e.kind() == ErrorKind::UnknownArgument && e.get(ContextKind::SuggestedArg).is_none() {
                e.remove(ContextKind::Suggested);
            }
            if let Some(tip) = nested(&e) {
                e.remove(ContextKind::SuggestedSubcommand);
                e.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
            if e.use_stderr() {
                let output = Output::new(std::env::args_os().any(|arg| arg == "--ascii"));
                let text = e.render().to_string();
                text.lines().map(indented).for_each(|(indent, line)| output.marked(indent, line));
            } else {
                // Where even the message can't be written, the exit code still tells.
                let _ = e.print();
            }
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(USAGE));
        }
    };
    let output = Output::new(args.ascii);
    let done = match &args.command {
        Command::Run(run) => run::run(run, &args.store, &output),
        Command::List(list) => list::list(list, &args.store, &output),
        Command::Advise(advise) => advise::answer(advise, &args.store, &output),
        Command::Capture(capture) => capture::capture(capture, &output),
        Command::Cleanup => stored::store(&args.store).and_then(|store| cleanup::cleanup(&store, &output)),
        Command::Completions { shell } => completions::completions(*shell, &output),
        Command::Man { page } => completions::man(page.as_deref(), &output),
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
