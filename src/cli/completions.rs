//! `drivebench completions` and `drivebench man`: what shells and `man` know of the command line, from the command line itself.

use std::{iter, process::ExitCode};

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use super::{
    args::{Args, LAST, RUN, SIDE},
    errors::Usage,
    output::Output,
    stored,
};
use crate::{experiments::SUITE, plan::Suite};

pub(super) fn completions(shell: Shell, output: &Output) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "drivebench", &mut script);
    output.result(&with_names(shell, &String::from_utf8(script)?))?;
    Ok(ExitCode::SUCCESS)
}

/// The script, which asks `drivebench names` where runs and suites are named.
fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Zsh => {
            script.replacen('\n', &format!("\n{ZSH_NAMES}"), 1).replace(":_default'", ":_drivebench_names'")
        }
        Shell::Fish => script.to_owned() + FISH_NAMES,
        _ => script.to_owned() + BASH_NAMES,
    }
}

const BASH_NAMES: &str = r#"
_drivebench_names() {
    _drivebench "$@"
    local cur=${COMP_WORDS[COMP_CWORD]} names
    names=$("$1" names -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    if [[ -n $names && $cur != -* ]]; then
        COMPREPLY=($(compgen -W "$names" -- "$cur"))
    fi
}
complete -F _drivebench_names -o bashdefault -o default drivebench
"#;

const ZSH_NAMES: &str = r#"
_drivebench_names() {
    local -a typed names
    typed=(${(z)${LBUFFER% *}})
    names=(${(f)"$(drivebench names -- ${typed[2,-1]} 2>/dev/null)"})
    if (( $#names )); then compadd -a names; else _default; fi
}
"#;

const FISH_NAMES: &str = r#"
complete -c drivebench -a '(drivebench names -- (commandline -opc)[2..] 2>/dev/null)'
complete -c drivebench -l suite -x -a '(drivebench names -- --suite; __fish_complete_path (commandline -ct))'
complete -c drivebench -l resume -x -a '(drivebench names -- --resume 2>/dev/null)'
"#;

/// Prints the names of suites or runs that may follow these words, a line each.
pub(super) fn names(words: &[String], output: &Output) -> anyhow::Result<ExitCode> {
    let mut command = Args::command();
    for word in words {
        if let Some(next) = command.find_subcommand(word) {
            command = next.clone();
        }
    }
    let last = words.last().and_then(|word| word.strip_prefix("--"));
    let takes_value =
        |arg: &&clap::Arg| last.is_some() && arg.get_long() == last && arg.get_action().takes_values();
    let arg = command.get_arguments().find(takes_value).or_else(|| command.get_positionals().last());
    let value = arg.and_then(|arg| arg.get_value_names()?.first()).map(|name| name.as_str());
    let names: Vec<String> = match value {
        Some(RUN | SIDE) => {
            let runs = stored::store(&None)?.list()?.0.into_iter().rev();
            iter::once(LAST.to_owned()).chain(runs.map(|run| run.run)).collect()
        }
        _ if arg.is_some_and(|arg| arg.get_id() == SUITE.name()) => {
            Suite::names().map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    output.result(&names.into_iter().map(|name| name + "\n").collect::<String>())?;
    Ok(ExitCode::SUCCESS)
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
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "drivebench", &mut script);
            let script = String::from_utf8(script).expect("UTF-8");
            for experiment in REGISTER {
                assert!(script.contains(experiment.name), "{shell}: {}", experiment.name);
                for spec in experiment.options.iter().map(|option| option.spec()) {
                    assert!(script.contains(spec.name), "{shell}: {}", spec.name);
                }
            }
        }
    }
}
