//! Mistakes on the command line: what is wrong, and one hint at what to type instead.

use std::path::Path;

use anstream::ColorChoice;
use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use super::{args::Args, output::Color, stored};
use crate::{
    experiments::REGISTER,
    units::{listed, shell_word},
};

/// The command under which experiments are.
const RUN: &str = "run";

/// When colours were asked for. Mistakes have colours, too, so it is read before the command line is.
pub(super) fn colours(typed: &[String]) -> ColorChoice {
    match value_of(typed, "--color").and_then(|when| clap::ValueEnum::from_str(when, false).ok()) {
        Some(Color::Always) => ColorChoice::Always,
        Some(Color::Never) => ColorChoice::Never,
        Some(Color::Auto) | None => ColorChoice::Auto,
    }
}

/// The value of an option: `--color never`, or `--color=never`.
fn value_of<'a>(typed: &'a [String], option: &str) -> Option<&'a str> {
    let after = typed.iter().skip_while(|arg| *arg != option).nth(1);
    let joined = |arg: &'a String| arg.strip_prefix(option)?.strip_prefix('=');
    typed.iter().find_map(joined).or(after.map(String::as_str))
}

/// What is wrong, and a hint; `None` for help and versions, which are no mistakes.
pub(super) fn explain(e: &Error, typed: &[String]) -> Option<(String, String)> {
    let place = place(typed, e.get(ContextKind::InvalidSubcommand));
    let path = place.join(" ");
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(all)) => all.last().cloned(),
        _ => None,
    };
    Some(match e.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            // Without any argument, the help is the answer.
            if place.is_empty() {
                return None;
            }
            if path != RUN {
                return Some((format!("`drivebench {path}` needs a command"), lists(&path)));
            }
            let names: Vec<&str> = REGISTER.iter().map(|experiment| experiment.name).collect();
            let wrong = format!("no experiment is named: there are {}", listed(&names));
            (wrong, "`drivebench run baseline .` measures the drive of this directory".to_owned())
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand)?;
            let what = if path == RUN { "experiment" } else { "command" };
            let similar = context(ContextKind::SuggestedSubcommand);
            let meant = instead(&word, &path, similar, typed);
            let hint = meant.map(|meant| format!("did you mean `drivebench {meant}`?"));
            (format!("there is no {what} '{word}'"), hint.unwrap_or_else(|| lists(&path)))
        }
        ErrorKind::UnknownArgument => {
            let option = context(ContextKind::InvalidArg)?;
            let hint = context(ContextKind::SuggestedArg).map(|similar| format!("did you mean `{similar}`?"));
            let command = if place.is_empty() { String::new() } else { format!(" of `drivebench {path}`") };
            (format!("there is no option '{option}'{command}"), hint.unwrap_or_else(|| lists(&path)))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = context(ContextKind::InvalidArg)?;
            let name = missing.trim_matches(['<', '>', '.']).to_owned();
            let hint = match name.as_str() {
                "TARGET" => example(&place).unwrap_or_else(|| lists(&path)),
                "RUN" => match stored::store(&value_of(typed, "--store").map(Into::into)) {
                    Ok(store) => format!("`{}` lists all runs", stored::command(&store, "results")),
                    Err(_) => lists(&path),
                },
                _ => lists(&path),
            };
            let what = if missing.starts_with('<') { format!("a {name}") } else { missing };
            (format!("`drivebench {path}` needs {what}"), hint)
        }
        ErrorKind::InvalidUtf8 => {
            let word = typed.iter().find(|word| word.contains('\u{fffd}')).map_or("a name", String::as_str);
            (format!("{word} is not UTF-8"), "rename it, or use another path to the same drive".to_owned())
        }
        _ => {
            let text = e.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let words: Vec<&str> = first.split_whitespace().skip(1).collect();
            let similar = context(ContextKind::SuggestedValue).map(|one| format!("did you mean `{one}`?"));
            (words.join(" "), similar.unwrap_or_else(|| lists(&path)))
        }
    })
}

fn lists(path: &str) -> String {
    let command = if path.is_empty() { "drivebench".to_owned() } else { format!("drivebench {path}") };
    format!("`{command} --help` shows what there is")
}

/// The commands that were typed, from the outermost in, before the word that is none.
fn place(typed: &[String], unknown: Option<&ContextValue>) -> Vec<String> {
    let mut command = Args::command();
    let mut place = Vec::new();
    let is_command = |word: &&String| !matches!(unknown, Some(ContextValue::String(other)) if other == *word);
    for word in typed.iter().take_while(is_command) {
        if let Some(inner) = command.find_subcommand(word).cloned() {
            place.push(word.clone());
            command = inner;
        }
    }
    place
}

/// The command that was probably meant by an unknown word at this place.
fn instead(word: &str, path: &str, similar: Option<String>, typed: &[String]) -> Option<String> {
    let at = typed.iter().position(|arg| arg == word)?;
    let with = |new: &[&str]| {
        let words = typed[..at].iter().map(String::as_str).chain(new.iter().copied());
        let words = words.chain(typed[at + 1..].iter().map(String::as_str));
        words.map(shell_word).collect::<Vec<_>>().join(" ")
    };
    let command = Args::command();
    // A command that exists one level deeper: `run baseline` for `baseline`, `results export` for `export`.
    let group = command.get_subcommands().find(|group| group.find_subcommand(word).is_some());
    let is_path = word.contains('/') || Path::new(word).exists();
    match (path, group) {
        ("", Some(group)) => Some(with(&[group.get_name(), word])),
        ("", None) if is_run(word, typed) => Some(with(&["show", word])),
        ("", None) if is_path => Some(with(&[RUN, "baseline", word])),
        (RUN, _) if is_path => Some(with(&["baseline", word])),
        _ => similar.map(|similar| with(&[&similar])),
    }
}

/// Whether a saved run has this name.
fn is_run(word: &str, typed: &[String]) -> bool {
    stored::store(&value_of(typed, "--store").map(Into::into)).is_ok_and(|store| store.open(word).is_ok())
}

/// A first command of an experiment.
fn example(place: &[String]) -> Option<String> {
    let experiment = REGISTER.iter().find(|experiment| place.last().is_some_and(|p| p == experiment.name))?;
    let command = experiment.examples.first()?.split("  ").next()?;
    Some(format!("for example `drivebench run {command}`; `drivebench list` shows the drives"))
}
