//! The command line, with one file for each command. Only this module prints.

mod advise;
mod args;
mod bay;
mod boot_series;
mod capture;
mod check;
mod cleanup;
mod completions;
mod digest;
#[cfg(test)]
mod docs_tests;
mod errors;
mod export;
mod fleet;
mod headline;
mod health;
mod history;
mod import;
mod list;
mod mistakes;
mod options;
mod output;
mod pack;
mod pool;
mod progress;
mod report;
mod results;
mod run;
mod serve;
mod signals;
mod site;
mod stored;
mod tree;
mod watch_boot;

use std::{
    io::{self, ErrorKind},
    process::ExitCode,
};

use clap::Parser;

use args::{Args, Command};
use errors::{USAGE, code, hint, is_closed_pipe};
use output::Output;

/// Runs the command line and says how it went: 0 done, 1 failed, 2 bad input, 128 + signal interrupted.
pub fn main() -> ExitCode {
    signals::survive_file_limit();
    let typed: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into()).collect();
    mistakes::colours(&typed).write_global();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => {
            let output = Output::new(typed.iter().any(|arg| arg == "--ascii"));
            match mistakes::explain(&e, &typed) {
                Some((wrong, hint)) => output.error(&wrong, Some(hint)),
                None => match e.print().map_err(output::unwritable) {
                    // Help and version are what was asked for.
                    Err(wrong) if !e.use_stderr() && wrong.kind() != ErrorKind::BrokenPipe => {
                        output.error(&wrong, None);
                        return ExitCode::FAILURE;
                    }
                    _ => {}
                },
            }
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(USAGE));
        }
    };
    let output = Output::new(args.ascii);
    let done = match &args.command {
        Command::Run(run) => {
            boot_series::run(run, &args.store, &output).unwrap_or_else(|| run::run(run, &args.store, &output))
        }
        Command::List(list) => list::list(list, &args.store, &output),
        Command::Advise(advise) => advise::answer(advise, &args.store, &output),
        Command::Capture(capture) => capture::capture(capture, &args.store, &output),
        Command::Check(check) => check::check(check, &args.store, &output),
        Command::Cleanup => stored::store(&args.store).and_then(|store| cleanup::cleanup(&store, &output)),
        Command::Completions { shell } => completions::completions(*shell, &output),
        Command::Names { words } => completions::names(words, &output),
        Command::Man { page } => completions::man(page.as_deref(), &output),
        Command::SwapWorker => {
            crate::experiments::use_memory(&mut io::stdin().lock(), &mut output::to_parent())
                .map(|()| ExitCode::SUCCESS)
                .map_err(Into::into)
        }
        Command::BootSeries => boot_series::go_on(&output),
        Command::Bay(bay) => bay::bay(bay, &output),
        Command::Pool(pool) => pool::pool(pool, &args.store, &output),
        Command::Report(report) => report::report(report, &args.store, &output),
        Command::History(history) => history::history(history, &args.store, &output),
        Command::Import(import) => import::import(import, &args.store, &output),
        Command::Fleet(fleet) => fleet::fleet(fleet, &args.store, &output),
        Command::WatchBoot(watch) => watch_boot::watch(watch, &args.store, &output),
        Command::Results(results) => results::results(results, &args.store, &output),
        Command::Show(show) => {
            stored::store(&args.store).and_then(|store| results::show(show, &store, &output))
        }
    };
    match done {
        Ok(code) => code,
        Err(e) if is_closed_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            let command = |words: &str| {
                let usual = || format!("drivebench {words}");
                stored::store(&args.store).map_or_else(|_| usual(), |store| stored::command(&store, words))
            };
            output.error(&e, hint(&e, command));
            ExitCode::from(code(&e))
        }
    }
}
