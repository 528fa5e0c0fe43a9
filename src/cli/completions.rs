//! `drivebench completions` and `drivebench man`: what shells and `man` know of the command line, from the command line itself.

use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use super::{args::Args, errors::Usage, output::Output};

pub(super) fn completions(shell: Shell, output: &Output) -> anyhow::Result<ExitCode> {
    output.result(&String::from_utf8(script(shell))?)?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "drivebench", &mut script);
    script
}

/// The page of that name, or else the names of all pages.
pub(super) fn man(name: Option<&str>, output: &Output) -> anyhow::Result<ExitCode> {
    let pages = pages();
    let text = match name {
        None => pages.iter().map(|(name, _)| format!("{name}\n")).collect(),
        Some(name) => {
            let page = pages.into_iter().find(|(page, _)| page == name);
            let (_, command) = page.ok_or_else(|| Usage(format!("no man page {name:?}")))?;
            String::from_utf8(page_of(command).context("can't write the page")?)?
        }
    };
    output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Each command that the help shows, with the name of its page: `drivebench-run-baseline`.
fn pages() -> Vec<(String, clap::Command)> {
    fn add(command: &clap::Command, pages: &mut Vec<(String, clap::Command)>) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        pages.push((name.to_owned(), command.clone()));
        command.get_subcommands().filter(|one| !one.is_hide_set()).for_each(|one| add(one, pages));
    }
    let mut all = Args::command().disable_help_subcommand(true);
    all.build();
    let mut pages = Vec::new();
    add(&all, &mut pages);
    pages
}

fn page_of(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).source(concat!("drivebench ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::REGISTER;

    fn page(name: &str) -> String {
        let (_, command) = pages().into_iter().find(|(page, _)| page == name).expect(name);
        String::from_utf8(page_of(command).expect("a page")).expect("UTF-8")
    }

    #[test]
    fn every_experiment_has_a_page_with_all_its_options() {
        for experiment in REGISTER {
            let page = page(&format!("drivebench-run-{}", experiment.name));
            assert!(page.contains(".TP\n[\\fITARGET\\fR]"), "{page}");
            for spec in experiment.options.iter().map(|option| option.spec()) {
                let flag = format!("\\fB\\-\\-{}\\fR", spec.name.replace('-', "\\-"));
                assert!(page.contains(&format!(".TP\n{flag}")), "{flag}: {page}");
            }
        }
    }

    #[test]
    fn every_command_of_the_help_has_a_page() {
        let names: Vec<String> = pages().into_iter().map(|(name, _)| name).collect();
        for command in Args::command().get_subcommands() {
            let name = format!("drivebench-{}", command.get_name());
            assert_eq!(names.contains(&name), !command.is_hide_set(), "{name}");
        }
    }

    #[test]
    fn scripts_of_all_shells_have_every_experiment_and_option() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell)).expect("UTF-8");
            for experiment in REGISTER {
                assert!(script.contains(experiment.name), "{shell}: {}", experiment.name);
                for spec in experiment.options.iter().map(|option| option.spec()) {
                    assert!(script.contains(spec.name), "{shell}: {}", spec.name);
                }
            }
        }
    }
}
